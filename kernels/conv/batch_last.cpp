// conv2d_batch_last: the images of a batch are lanes, so that no vector crosses the end of a row. The input serves as it is: pixels at the
// border leave out the taps that fall on the padding. Sums run over channels and taps in the order of kernels/conv/conv.cpp.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/ops/conv.h"
#include "kernels/epilogue.h"
#include "kernels/gemm/kernel_set.h"
#include "kernels/scratch.h"
#include "runtime/thread_pool.h"

namespace tailor::kernels::conv {
namespace {

using gemm::KernelSet;
using gemm::kMaxPixelRows;
using gemm::kPixelVectors;
using gemm::Tap;

constexpr int64_t kFewestImages = 16;                // that fill a vector at every instruction set
constexpr int64_t kParallelWork = int64_t{1} << 17;  // multiply-adds that pay for waking a thread

/// Weights [out, k] as blocks of rows, each [k][rows of the block].
class PackedWeights final : public Prepacked {
 public:
  PackedWeights(const KernelSet<float>& set, const ir::TensorSpec& spec, const float* data)
      : set_(set), out_(spec.sizes[0]), k_(spec.numel() / std::max<int64_t>(out_, 1)), values_(spec.numel()) {
    const Dims& s = spec.strides;
    for (int64_t b = 0; b < blocks(); ++b) {
      float* to = values_.data() + start(b) * k_;
      const int64_t rows = start(b + 1) - start(b);
      for (int64_t r = 0; r < rows; ++r) {
        int64_t p = 0;
        for (int64_t c = 0; c < spec.sizes[1]; ++c)
          for (int64_t y = 0; y < spec.sizes[2]; ++y)
            for (int64_t x = 0; x < spec.sizes[3]; ++x, ++p) {
              const float w = data[(start(b) + r) * s[0] + c * s[1] + y * s[2] + x * s[3]];
              finite_ = finite_ && std::isfinite(w);
              to[p * rows + r] = w;
            }
      }
    }
  }
  int64_t bytes() const override { return out_ * k_ * static_cast<int64_t>(sizeof(float)); }
  const KernelSet<float>& set() const { return set_; }
  int64_t blocks() const { return (out_ + set_.pixel_rows - 1) / set_.pixel_rows; }
  int64_t start(int64_t block) const { return out_ * block / blocks(); }
  const float* block(int64_t b) const { return values_.data() + start(b) * k_; }
  float at(int64_t block, int64_t row, int64_t p) const { return this->block(block)[p * (start(block + 1) - start(block)) + row]; }
  bool finite() const { return finite_; }

 private:
  const KernelSet<float>& set_;
  int64_t out_, k_;
  Scratch<float> values_;
  bool finite_ = true;
};

/// Outputs along one dim that see the same taps of the kernel.
struct Stretch {
  int64_t begin, end;   // outputs
  int64_t first, last;  // taps
};
std::vector<Stretch> stretches(const ir::ConvShape& s, int d) {
  std::vector<Stretch> all;
  for (int64_t o = 0; o < s.out[d]; ++o) {
    const int64_t at = o * s.stride[d] - s.before[d];
    int64_t first = 0, last = s.kernel[d];
    while (first < last && at + first * s.dilation[d] < 0) ++first;
    while (last > first && at + (last - 1) * s.dilation[d] >= s.in[d]) --last;
    if (all.empty() || all.back().first != first || all.back().last != last) all.push_back({o, o, first, last});
    all.back().end = o + 1;
  }
  return all;
}

class BatchLast {
 public:
  BatchLast(const Call& call, const Epilogue& epilogue, const PackedWeights& weights)
      : epilogue_(epilogue), weights_(weights), set_(weights.set()) {
    const ir::TensorSpec input = ir::batch_first(*call.tensor(0).spec);
    s_ = ir::conv_shape(call.op, input, *call.tensor(1).spec, call.has_tensor(2) ? call.tensor(2).spec : nullptr, call.attrs);
    input_ = call.tensor(0).as<float>();
    out_ = call.outputs[0].as<float>();
    bias_ = call.has_tensor(2) ? call.tensor(2).as<float>() : nullptr;
    bias_stride_ = bias_ == nullptr ? 0 : call.tensor(2).spec->strides[0];
    rows_ = stretches(s_, 1);
    columns_ = stretches(s_, 2);
    const int64_t plane = s_.in[1] * s_.in[2] * s_.n;
    for (const Stretch& y : rows_)
      for (const Stretch& x : columns_) {
        std::vector<Tap>& taps = taps_.emplace_back();
        for (int64_t c = 0; c < s_.in_channels; ++c)
          for (int64_t ky = y.first; ky < y.last; ++ky)
            for (int64_t kx = x.first; kx < x.last; ++kx) {
              const int64_t p = (c * s_.kernel[1] + ky) * s_.kernel[2] + kx;
              const int64_t from = c * plane + ((ky - y.first) * s_.dilation[1] * s_.in[2] + (kx - x.first) * s_.dilation[2]) * s_.n;
              taps.push_back({static_cast<int32_t>(p), static_cast<int32_t>(from)});
            }
      }
  }

  void run() const {
    const int64_t work = s_.out[2] * s_.n * s_.out_channels * s_.in_channels * s_.taps();
    parallel_for(0, s_.out[1], std::max<int64_t>(1, kParallelWork / std::max<int64_t>(work, 1)), [&](int64_t begin, int64_t end) {
      for (int64_t b = 0; b < weights_.blocks(); ++b)
        for (size_t i = 0; i < rows_.size(); ++i)
          for (int64_t y = std::max(begin, rows_[i].begin); y < std::min(end, rows_[i].end); ++y) row(b, i, y);
    });
  }

 private:
  // One row of pixels, for a block of channels.
  void row(int64_t b, size_t stretch, int64_t y) const {
    const int64_t first = weights_.start(b), channels = weights_.start(b + 1) - first, c_row = s_.out[1] * s_.out[2] * s_.n;
    float* const out = out_ + first * c_row + y * s_.out[2] * s_.n;
    const int64_t in_y = y * s_.stride[1] - s_.before[1] + rows_[stretch].first * s_.dilation[1];
    for (size_t j = 0; j < columns_.size(); ++j) {
      const Stretch& x = columns_[j];
      const std::vector<Tap>& taps = taps_[stretch * columns_.size() + j];
      float with_bias[kMaxPixelRows];
      const float* const bias = bias_of(b, taps, with_bias);
      const float* const in = input_ + (in_y * s_.in[2] + x.begin * s_.stride[2] - s_.before[2] + x.first * s_.dilation[2]) * s_.n;
      float* const to = out + x.begin * s_.n;
      const int64_t lanes = set_.lanes, pixels = x.end - x.begin;
      const auto vectors = [&](const float* from, float* result, int64_t count, int64_t b_step) {
        while (count > 0) {
          const int64_t v = count >= kPixelVectors && count != kPixelVectors + 1 ? kPixelVectors : std::min<int64_t>(count, 2);
          set_.pixels[channels - 1][v - 1](static_cast<int64_t>(taps.size()), weights_.block(b), from, taps.data(), b_step, bias, result,
                                           c_row, lanes);
          from += v * b_step;
          result += v * lanes;
          count -= v;
        }
      };
      // What is left at the end is done by a vector that overlaps the one before.
      const auto dense = [&](const float* from, float* result, int64_t elements) {
        vectors(from, result, elements / lanes, lanes);
        if (elements % lanes != 0) vectors(from + elements - lanes, result + elements - lanes, 1, lanes);
      };
      if (s_.stride[2] == 1)
        dense(in, to, pixels * s_.n);
      else if (s_.n == lanes)
        vectors(in, to, pixels, s_.stride[2] * s_.n);
      else
        for (int64_t p = 0; p < pixels; ++p) dense(in + p * s_.stride[2] * s_.n, to + p * s_.n, s_.n);
    }
    if (epilogue_.fn != nullptr)
      epilogue_.fn(epilogue_.context, {out, 0, first, channels, y * s_.out[2] * s_.n, s_.out[2] * s_.n, c_row, 1});
  }

  // What the padding adds to a sum: nothing, or NaN where a weight is not finite.
  const float* bias_of(int64_t b, const std::vector<Tap>& taps, float* room) const {
    const int64_t first = weights_.start(b), channels = weights_.start(b + 1) - first, k = s_.in_channels * s_.taps();
    const bool padded = !weights_.finite() && static_cast<int64_t>(taps.size()) != k;
    if (bias_ == nullptr && !padded) return nullptr;
    for (int64_t r = 0; r < channels; ++r) room[r] = bias_ == nullptr ? 0 : bias_[(first + r) * bias_stride_];
    if (!padded) return room;
    std::vector<bool> seen(static_cast<size_t>(k));
    for (const Tap& tap : taps) seen[static_cast<size_t>(tap.a)] = true;
    for (int64_t p = 0; p < k; ++p)
      for (int64_t r = 0; r < channels; ++r)
        if (!seen[static_cast<size_t>(p)] && !std::isfinite(weights_.at(b, r, p))) room[r] = std::numeric_limits<float>::quiet_NaN();
    return room;
  }

  const Epilogue& epilogue_;
  const PackedWeights& weights_;
  const KernelSet<float>& set_;
  ir::ConvShape s_;
  const float *input_, *bias_;
  int64_t bias_stride_;
  float* out_;
  std::vector<Stretch> rows_, columns_;
  std::vector<std::vector<Tap>> taps_;  // by stretch of rows and of columns
};

std::shared_ptr<const PackedWeights> pack(const Call& call) {
  const TensorArg& w = call.tensor(1);
  return std::make_shared<const PackedWeights>(gemm::kernel_set<float>(isa()), *w.spec, w.as<float>());
}

bool serves(const Call& call) {
  const ir::TensorSpec &x = *call.tensor(0).spec, &w = *call.tensor(1).spec, &y = *call.outputs[0].spec;
  return x.dtype == kFloat32 && x.is_contiguous() && y.is_contiguous() && x.sizes[3] >= kFewestImages && x.sizes[0] == w.sizes[1] &&
         y.numel() > 0 && w.numel() > 0 && x.numel() <= std::numeric_limits<int32_t>::max();
}

void batch_last_kernel(const Call& call, const Epilogue& epilogue) {
  if (call.outputs[0].spec->numel() == 0) return;
  if (!serves(call)) {
    run_reference(call);
    return finish_result(call, {1, 3}, epilogue);
  }
  if (call.prepacked != nullptr) return BatchLast(call, epilogue, static_cast<const PackedWeights&>(*call.prepacked)).run();
  const std::shared_ptr<const PackedWeights> weights = pack(call);
  BatchLast(call, epilogue, *weights).run();
}

const Prepacking kPrepacking{1,
                             [](const Call& call) {
                               if (!serves(call)) return std::string();
                               std::string key = "pixels " + std::to_string(static_cast<int>(isa()));
                               for (const Dims* dims : {&call.tensor(1).spec->sizes, &call.tensor(1).spec->strides})
                                 for (int64_t d : *dims) key += " " + std::to_string(d);
                               return key;
                             },
                             [](const Call& call) -> std::shared_ptr<const Prepacked> { return pack(call); }};

[[maybe_unused]] const bool registered = [] {
  register_contraction<batch_last_kernel>("conv2d_batch_last", {1, 3}, kPrepacking);
  return true;
}();

}  // namespace
}  // namespace tailor::kernels::conv
