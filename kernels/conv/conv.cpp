#include "kernels/conv/conv.h"

#include <algorithm>
#include <cstring>

#include "kernels/epilogue.h"
#include "kernels/gemm/kernel_set.h"
#include "kernels/scratch.h"
#include "runtime/thread_pool.h"

namespace tailor::kernels::conv {
namespace {

using gemm::KernelSet;
using gemm::kMaxRows;

constexpr int64_t kImageBytes = int64_t{256} << 10;
constexpr int64_t kElementsPerRange = 16 * 1024;

/// Weights [out, k] in compute type T: for each group blocks of rows, each [k][rows of the block].
template <class T>
class PackedRows final : public Prepacked {
 public:
  explicit PackedRows(const ConvCall& call)
      : set_(gemm::kernel_set<T>(isa())),
        rows_(call.shape.out_channels / call.shape.groups),
        k_(call.shape.in_channels / call.shape.groups * call.shape.taps()),
        blocks_((rows_ + set_.rows - 1) / set_.rows),
        values_(call.shape.out_channels * k_) {
    Scratch<T> weights(call.shape.out_channels * k_);
    gather_weights(weights.data(), call);
    bytes_ = call.shape.out_channels * k_ * static_cast<int64_t>(sizeof(T));
    for (int64_t g = 0; g < call.shape.groups; ++g)
      for (int64_t b = 0; b < blocks_; ++b) {
        const int64_t row = g * rows_ + start(b), rows = start(b + 1) - start(b);
        set_.pack[0](values_.data() + row * k_, weights.data() + row * k_, rows, k_, k_, 1, rows);
      }
  }
  int64_t bytes() const override { return bytes_; }
  const KernelSet<T>& set() const { return set_; }
  int64_t k() const { return k_; }
  int64_t blocks() const { return blocks_; }
  int64_t start(int64_t block) const { return rows_ * block / blocks_; }
  /// The block that begins with this row, counted over all groups.
  const T* at(int64_t row) const { return values_.data() + row * k_; }

 private:
  const KernelSet<T>& set_;
  int64_t rows_, k_, blocks_, bytes_ = 0;
  Scratch<T> values_;
};

// D: the dtype of input and output, T: the compute type.
template <class T, class D>
class Convolution {
 public:
  Convolution(const ConvCall& call, const Epilogue& epilogue, const PackedRows<T>& weights)
      : call_(call),
        epilogue_(epilogue),
        s_(call.shape),
        weights_(weights),
        set_(weights.set()),
        layout_(phase_layout(s_)),
        rows_(s_.out_channels / s_.groups),
        k_(weights.k()),
        blocks_(weights.blocks()) {}

  void run() const {
    const int64_t threads = get_num_threads();
    const bool by_image = s_.n >= 2 * threads;
    parallel_for(0, s_.n, by_image ? 1 : s_.n, [&](int64_t begin, int64_t end) {
      if (in_place()) {
        for (int64_t n = begin; n < end; ++n) products(n, reinterpret_cast<const T*>(call_.input) + n * call_.input_image);
        return;
      }
      Scratch<T> phases(layout_.elements() + 64);  // whole vectors are read past the last pixel
      std::fill_n(phases.data() + layout_.elements(), 64, T(0));
      for (int64_t n = begin; n < end; ++n) image(n, phases.data());
    });
  }

 private:
  // The input serves as it is: one phase, no padding, and no vector reaches past the last pixel.
  bool in_place() const {
    if (!std::is_same_v<T, D> || layout_.phases.size() != 1 || call_.input_channel != layout_.plane) return false;
    int64_t expected = 1;
    for (int d = 2; d >= 0; --d) {
      if (s_.stride[d] != 1 || s_.before[d] != 0 || s_.in[d] != layout_.size[d] || (s_.in[d] != 1 && call_.input_stride[d] != expected))
        return false;
      expected *= s_.in[d];
    }
    return s_.taps() == 1 && s_.out[1] * s_.out[2] % set_.lanes == 0;
  }

  void image(int64_t n, T* phases) const {
    const Image from{call_.input + n * call_.input_image * static_cast<int64_t>(sizeof(D)),
                     call_.input_channel,
                     {call_.input_stride[0], call_.input_stride[1], call_.input_stride[2]}};
    parallel_for(0, s_.in_channels, std::max<int64_t>(1, 16384 / std::max<int64_t>(layout_.plane, 1)),
                 [&](int64_t begin, int64_t end) { fill_phases<T, D>(phases, layout_, s_, from, begin, end); });
    products(n, phases);
  }

  void products(int64_t n, const T* phases) const {
    const int64_t width = layout_.size[2], pixels = (s_.out[1] - 1) * width + s_.out[2], panel = 2 * set_.lanes,
                  panels = (pixels + panel - 1) / panel;
    const int64_t work = panel * k_ * rows_;
    parallel_for(0, s_.groups * s_.out[0] * panels, std::max<int64_t>(1, 65536 / std::max<int64_t>(work, 1)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t t = begin; t < end; ++t) {
                     const int64_t p = t % panels, z = t / panels % s_.out[0], g = t / panels / s_.out[0];
                     columns(n, g, z, p * panel, std::min(panel, pixels - p * panel), phases);
                   }
                 });
    if (epilogue_.fn == nullptr || by_part()) return;
    const int64_t columns = s_.out_pixels();
    parallel_for(0, s_.out_channels, std::max<int64_t>(1, kElementsPerRange / columns), [&](int64_t begin, int64_t end) {
      D* data = reinterpret_cast<D*>(call_.out) + n * call_.out_image + begin * call_.out_channel;
      epilogue_.fn(epilogue_.context, {data, n, begin, end - begin, 0, columns, call_.out_channel, call_.out_stride[2]});
    });
  }

  // The epilogue runs over whole images that stay in the second-level cache, else over the few pixels of a tile.
  bool by_part() const { return s_.out_channels * s_.out_pixels() * static_cast<int64_t>(sizeof(D)) > kImageBytes; }

  // Output pixels [first, first + count) of depth z, numbered with the padded width, for all channels of a group.
  void columns(int64_t n, int64_t g, int64_t z, int64_t first, int64_t count, const T* phases) const {
    const int64_t panel = 2 * set_.lanes;
    const T* from = phases + g * (s_.in_channels / s_.groups) * layout_.plane + z * layout_.size[1] * layout_.size[2] + first;
    // Channels a multiple of 1 KiB apart share cache sets: their pixels are brought together when several blocks of rows read them.
    const bool crowded = s_.taps() == 1 && blocks_ >= 2 && layout_.plane * static_cast<int64_t>(sizeof(T)) % 1024 == 0;
    Scratch<T> gathered(crowded ? k_ * panel : 0);
    if (crowded) set_.pack[0](gathered.data(), from, count, 1, k_, layout_.plane, panel);
    alignas(64) T tile[kMaxRows * 32];
    for (int64_t b = 0; b < blocks_; ++b) {
      const int64_t row = g * rows_ + weights_.start(b), rows = weights_.start(b + 1) - weights_.start(b);
      const int vectors = count <= set_.lanes ? 0 : 1;
      if (gathered.data() != nullptr)
        set_.packed[rows - 1][vectors](k_, weights_.at(row), 0, gathered.data(), panel, tile, panel, count);
      else
        set_.indirect[rows - 1][vectors](k_, weights_.at(row), from, layout_.offsets.data(), tile, panel, count);
      store(n, row, rows, z, first, count, tile, panel);
    }
  }

  void store(int64_t n, int64_t row, int64_t rows, int64_t z, int64_t first, int64_t count, const T* tile, int64_t panel) const {
    const int64_t width = layout_.size[2];
    for (int64_t at = 0; at < count;) {
      const int64_t y = (first + at) / width, x = (first + at) % width;
      const int64_t length = std::min(count - at, s_.out[2] - x);
      if (length > 0)
        for (int64_t r = 0; r < rows; ++r) {
          const T bias =
              call_.bias == nullptr ? T(0) : static_cast<T>(reinterpret_cast<const D*>(call_.bias)[(row + r) * call_.bias_stride]);
          D* to = reinterpret_cast<D*>(call_.out) + n * call_.out_image + (row + r) * call_.out_channel + z * call_.out_stride[0] +
                  y * call_.out_stride[1] + x * call_.out_stride[2];
          store_run(to, call_.out_stride[2], tile + r * panel + at, length, bias);
        }
      if (length > 0 && epilogue_.fn != nullptr && by_part()) {
        D* data = reinterpret_cast<D*>(call_.out) + n * call_.out_image + row * call_.out_channel + z * call_.out_stride[0] +
                  y * call_.out_stride[1] + x * call_.out_stride[2];
        const int64_t column = (z * s_.out[1] + y) * s_.out[2] + x;
        epilogue_.fn(epilogue_.context, {data, n, row, rows, column, length, call_.out_channel, call_.out_stride[2]});
      }
      at += width - x;
    }
  }

  static void store_run(D* to, int64_t stride, const T* from, int64_t length, T bias) {
    int64_t i = 0;
    if constexpr (std::is_same_v<D, T>) {
      typedef T V __attribute__((vector_size(16)));
      constexpr int64_t kLanes = 16 / sizeof(T);
      if (stride == 1)
        for (; i + kLanes <= length; i += kLanes) {
          V v;
          std::memcpy(&v, from + i, sizeof v);
          v += bias;
          std::memcpy(to + i, &v, sizeof v);
        }
    }
    for (; i < length; ++i) to[i * stride] = D(from[i] + bias);
  }

  const ConvCall& call_;
  const Epilogue& epilogue_;
  const ir::ConvShape& s_;
  const PackedRows<T>& weights_;
  const KernelSet<T>& set_;
  PhaseLayout layout_;
  int64_t rows_, k_, blocks_;
};

bool serves(const Call& call) { return is_floating_point(call.tensor(0).spec->dtype) && call.tensor(1).spec->numel() != 0; }

template <class T, class D>
void run(const ConvCall& call, const Epilogue& epilogue, const Prepacked* prepacked) {
  if (prepacked != nullptr) return Convolution<T, D>(call, epilogue, static_cast<const PackedRows<T>&>(*prepacked)).run();
  Convolution<T, D>(call, epilogue, PackedRows<T>(call)).run();
}

// Neither depends on the sizes of images.
const Prepacking kPrepacking{1,
                             [](const Call& call) {
                               if (!serves(call)) return std::string();
                               const ir::TensorSpec& w = *call.tensor(1).spec;
                               const ConvCall c = conv_call(call);
                               std::string key = "rows " + std::to_string(static_cast<int>(isa()));
                               key += call.tensor(0).spec->dtype == kFloat64 ? " double" : " float";
                               key += " of " + std::to_string(static_cast<int>(w.dtype)) + " " + std::to_string(c.shape.groups);
                               for (const Dims* dims : {&w.sizes, &w.strides})
                                 for (int64_t d : *dims) key += " " + std::to_string(d);
                               return key;
                             },
                             [](const Call& call) -> std::shared_ptr<const Prepacked> {
                               const ConvCall c = conv_call(call);
                               if (c.dtype == kFloat64) return std::make_shared<const PackedRows<double>>(c);
                               return std::make_shared<const PackedRows<float>>(c);
                             }};

// Spatial: how many dims, which are the columns of the result.
template <int Spatial>
void conv_kernel(const Call& call, const Epilogue& epilogue) {
  if (call.outputs[0].spec->numel() == 0) return;
  if (!serves(call)) {
    run_reference(call);
    return finish_result(call, {1, Spatial}, epilogue);
  }
  const ConvCall c = conv_call(call);
  switch (c.dtype) {
    case kFloat32: return run<float, float>(c, epilogue, call.prepacked);
    case kFloat16: return run<float, Half>(c, epilogue, call.prepacked);
    case kBFloat16: return run<float, BFloat16>(c, epilogue, call.prepacked);
    default: return run<double, double>(c, epilogue, call.prepacked);
  }
}

[[maybe_unused]] const bool registered = [] {
  register_contraction<conv_kernel<1>>("conv1d", {1, 1}, kPrepacking);
  register_contraction<conv_kernel<2>>("conv2d", {1, 2}, kPrepacking);
  register_contraction<conv_kernel<3>>("conv3d", {1, 3}, kPrepacking);
  register_kernel("conv_transpose2d", [](const Call& call) {
    if (call.outputs[0].spec->numel() == 0) return;
    if (!serves(call)) return run_reference(call);
    run_transposed(conv_call(call));
  });
  return true;
}();

}  // namespace
}  // namespace tailor::kernels::conv
