// Eager kernels of softmax, log_softmax, layer_norm, rms_norm, group_norm, batch_norm, and of batch_norm's and
// instance_norm's training forms.
#include "ir/ops/normalize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "ir/ops/scan.h"
#include "kernels/dense.h"
#include "kernels/normalize/moments.h"
#include "runtime/thread_pool.h"

namespace tailor::kernels::normalize {
namespace {

constexpr int64_t kGrain = int64_t{1} << 14;  // elements that are worth a task

int64_t grain_for(int64_t elements) { return std::max<int64_t>(kGrain / std::max<int64_t>(elements, 1), 1); }

const std::byte* at(const void* p, int64_t elements, int64_t size) { return static_cast<const std::byte*>(p) + elements * size; }
std::byte* at(void* p, int64_t elements, int64_t size) { return static_cast<std::byte*>(p) + elements * size; }

// ---- softmax, log_softmax -----------------------------------------------------------------------------------------

template <bool log>
void softmax_kernel(const Call& call) {
  const TensorArg out = call.outputs[0];
  const ScalarType type = out.spec->dtype;
  const DenseInput x(call.tensor(0), type);
  DenseOutput y(out);
  const int64_t size = element_size(type);
  const ir::Runs runs = ir::runs_along(out.spec->sizes, call.attrs[0].as_int());
  const Loops& f = loops(type);
  if (out.spec->numel() == 0) return;
  if (runs.inner == 1) {
    constexpr int64_t kScratch = int64_t{1} << 17, kStream = int64_t{1} << 23;
    const bool stream = out.spec->numel() * size >= kStream;
    parallel_for(0, runs.outer, grain_for(runs.length), [&](int64_t begin, int64_t end) {
      const bool in_cache = runs.length * size <= kScratch;
      const auto scratch =
          is_half_type(type) || in_cache ? std::make_unique_for_overwrite<double[]>(static_cast<size_t>(runs.length)) : nullptr;
      const int64_t first = begin * runs.length;
      f.softmax_rows(at(x.as(), first, size), at(y.as(), first, size), end - begin, runs.length, scratch.get(), log, stream);
    });
  } else {
    // Strips as wide as leaves their exponentials in the cache.
    const int64_t width = std::clamp<int64_t>((int64_t{1} << 15) / runs.length / 64 * 64, 64, kStrip),
                  strips = (runs.inner + width - 1) / width;
    parallel_for(0, runs.outer * strips, grain_for(runs.length * std::min(runs.inner, width)), [&](int64_t begin, int64_t end) {
      const auto scratch = std::make_unique_for_overwrite<double[]>(static_cast<size_t>(runs.length * kStrip));
      for (int64_t t = begin; t < end; ++t) {
        const int64_t column = t % strips * width, first = t / strips * runs.length * runs.inner + column;
        f.softmax_columns(at(x.as(), first, size), at(y.as(), first, size), runs.length, runs.inner, std::min(width, runs.inner - column),
                          scratch.get(), log);
      }
    });
  }
  y.finish();
}

// ---- layer_norm, rms_norm -----------------------------------------------------------------------------------------

/// A weight or bias in the compute type; none where the operand is absent.
struct Parameter {
  std::optional<DenseInput> values;
  Parameter(const Call& call, size_t i, ScalarType compute) {
    if (call.has_tensor(i)) values.emplace(call.tensor(i), compute);
  }
  const void* data() const { return values ? values->as() : nullptr; }
};

void norm_rows(const Call& call, const Parameter& weight, const Parameter& bias, double eps, bool rms) {
  const TensorArg out = call.outputs[0];
  const ScalarType type = out.spec->dtype;
  const int64_t n = product(call.attrs[0].as_ints()), size = element_size(type);
  if (out.spec->numel() == 0) return;
  const DenseInput x(call.tensor(0), type);
  DenseOutput y(out);
  const Loops& f = loops(type);
  parallel_for(0, out.spec->numel() / n, grain_for(n), [&](int64_t begin, int64_t end) {
    f.norm_rows(at(x.as(), begin * n, size), at(y.as(), begin * n, size), end - begin, n, weight.data(), bias.data(), eps, rms);
  });
  y.finish();
}

void layer_norm_kernel(const Call& call) {
  const ScalarType compute = compute_type(call.outputs[0].spec->dtype);
  norm_rows(call, Parameter(call, 1, compute), Parameter(call, 2, compute), call.attrs[1].as_double(), false);
}

void rms_norm_kernel(const Call& call) {
  const ScalarType compute = compute_type(call.outputs[0].spec->dtype);
  const double epsilon = compute == kFloat64 ? std::numeric_limits<double>::epsilon() : double{std::numeric_limits<float>::epsilon()};
  norm_rows(call, Parameter(call, 1, compute), Parameter(call, 2, compute), call.attrs[1].is_none() ? epsilon : call.attrs[1].as_double(),
            true);
}

// ---- group_norm, batch_norm ---------------------------------------------------------------------------------------

/// Element i of a parameter in the compute type; `absent` where there is none.
double element(const Parameter& p, ScalarType compute, int64_t i, double absent) {
  if (!p.data()) return absent;
  return compute == kFloat64 ? static_cast<const double*>(p.data())[i] : static_cast<double>(static_cast<const float*>(p.data())[i]);
}

void group_norm_kernel(const Call& call) {
  const TensorArg out = call.outputs[0];
  const ScalarType type = out.spec->dtype, compute = compute_type(type);
  if (out.spec->numel() == 0) return;
  const int64_t groups = call.attrs[0].as_int(), batch = out.spec->sizes[0], channels = out.spec->sizes[1], size = element_size(type);
  const int64_t area = out.spec->numel() / (batch * channels), per_group = channels / groups;
  const double eps = call.attrs[1].as_double();
  const DenseInput x(call.tensor(0), type);
  DenseOutput y(out);
  const Parameter weight(call, 1, compute), bias(call, 2, compute);
  const Loops& f = loops(type);
  parallel_for(0, batch * groups, grain_for(per_group * area), [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      const int64_t first = g * per_group * area;
      const auto [mean, m2] = moments_of(f, at(x.as(), first, size), per_group * area, size);
      const double scale = 1 / std::sqrt(m2 / static_cast<double>(per_group * area) + eps);
      for (int64_t c = 0; c < per_group; ++c) {
        const int64_t channel = g % groups * per_group + c, start = first + c * area;
        f.affine(at(x.as(), start, size), at(y.as(), start, size), area, mean, scale * element(weight, compute, channel, 1),
                 element(bias, compute, channel, 0));
      }
    }
  });
  y.finish();
}

/// mean, scale and shift of each channel, in the compute type.
template <class C>
struct ChannelMap {
  std::unique_ptr<C[]> mean, scale, shift;
  explicit ChannelMap(int64_t n)
      : mean(std::make_unique<C[]>(static_cast<size_t>(n))),
        scale(std::make_unique<C[]>(static_cast<size_t>(n))),
        shift(std::make_unique<C[]>(static_cast<size_t>(n))) {}
};

template <class C>
void apply_to_channels(const Loops& f, const ChannelMap<C>& map, const void* x, void* y, int64_t batch, int64_t channels, int64_t area,
                       int64_t size) {
  if (area == 1) {
    parallel_for(0, batch, grain_for(channels), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b)
        f.affine_each(at(x, b * channels, size), at(y, b * channels, size), channels, map.mean.get(), map.scale.get(), map.shift.get());
    });
    return;
  }
  parallel_for(0, batch * channels, grain_for(area), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const auto c = static_cast<size_t>(r % channels);
      f.affine(at(x, r * area, size), at(y, r * area, size), area, static_cast<double>(map.mean[c]), static_cast<double>(map.scale[c]),
               static_cast<double>(map.shift[c]));
    }
  });
}

void batch_norm_kernel(const Call& call) {
  const TensorArg out = call.outputs[0];
  const ScalarType type = out.spec->dtype, compute = compute_type(type);
  if (out.spec->numel() == 0) return;
  const int64_t batch = out.spec->sizes[0], channels = out.spec->sizes[1], area = out.spec->numel() / (batch * channels);
  const double eps = call.attrs[0].as_double();
  const DenseInput x(call.tensor(0), type);
  DenseOutput y(out);
  const Parameter weight(call, 1, compute), bias(call, 2, compute), mean(call, 3, compute), variance(call, 4, compute);
  const auto run = [&]<class C>() {
    ChannelMap<C> map(channels);
    for (int64_t c = 0; c < channels; ++c) {
      const auto i = static_cast<size_t>(c);
      map.mean[i] = static_cast<C>(element(mean, compute, c, 0));
      map.scale[i] = static_cast<C>(element(weight, compute, c, 1) / std::sqrt(element(variance, compute, c, 1) + eps));
      map.shift[i] = static_cast<C>(element(bias, compute, c, 0));
    }
    apply_to_channels(loops(type), map, x.as(), y.as(), batch, channels, area, element_size(type));
  };
  compute == kFloat64 ? run.operator()<double>() : run.operator()<float>();
  y.finish();
}

/// A statistic of the compute type.
void store_statistic(TensorArg out, int64_t i, double value) {
  if (out.spec->dtype == kFloat64)
    out.as<double>()[i * out.spec->strides[0]] = value;
  else
    out.as<float>()[i * out.spec->strides[0]] = static_cast<float>(value);
}

void batch_norm_train_kernel(const Call& call) {
  const TensorArg out = call.outputs[0];
  const ScalarType type = out.spec->dtype, compute = compute_type(type);
  const int64_t channels = out.spec->sizes[1], batch = out.spec->sizes[0];
  const double eps = call.attrs[0].as_double(), count = static_cast<double>(out.spec->numel() / std::max<int64_t>(channels, 1));
  const DenseInput x(call.tensor(0), type);
  const ir::TensorSpec dense(type, out.spec->sizes, out.spec->device);
  const auto m = moments_over({const_cast<void*>(x.as()), &dense}, ((ir::DimMask{1} << dense.rank()) - 1) & ~ir::DimMask{2});
  for (int64_t c = 0; c < channels; ++c) {
    const Moments& each = m[static_cast<size_t>(c)];
    store_statistic(call.outputs[1], c, each.mean);
    store_statistic(call.outputs[2], c, each.m2 / (count - 1));
  }
  if (out.spec->numel() == 0) return;
  DenseOutput y(out);
  const Parameter weight(call, 1, compute), bias(call, 2, compute);
  const auto run = [&]<class C>() {
    ChannelMap<C> map(channels);
    for (int64_t c = 0; c < channels; ++c) {
      const auto i = static_cast<size_t>(c);
      map.mean[i] = static_cast<C>(m[i].mean);
      map.scale[i] = static_cast<C>(element(weight, compute, c, 1) / std::sqrt(m[i].m2 / count + eps));
      map.shift[i] = static_cast<C>(element(bias, compute, c, 0));
    }
    apply_to_channels(loops(type), map, x.as(), y.as(), batch, channels, dense.numel() / (batch * channels), element_size(type));
  };
  compute == kFloat64 ? run.operator()<double>() : run.operator()<float>();
  y.finish();
}

void instance_norm_kernel(const Call& call) {
  const TensorArg out = call.outputs[0];
  const ScalarType type = out.spec->dtype, compute = compute_type(type);
  const int64_t batch = out.spec->sizes[0], channels = out.spec->sizes[1], size = element_size(type);
  const int64_t area = out.spec->numel() / std::max<int64_t>(batch * channels, 1);
  const double eps = call.attrs[0].as_double();
  const DenseInput x(call.tensor(0), type);
  DenseOutput y(out);
  const Parameter weight(call, 1, compute), bias(call, 2, compute);
  const Loops& f = loops(type);
  const auto m = std::make_unique<Moments[]>(static_cast<size_t>(batch * channels));
  parallel_for(0, batch * channels, grain_for(area), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const Moments each = moments_of(f, at(x.as(), r * area, size), area, size);
      const double scale = 1 / std::sqrt(each.m2 / static_cast<double>(area) + eps);
      f.affine(at(x.as(), r * area, size), at(y.as(), r * area, size), area, each.mean, scale * element(weight, compute, r % channels, 1),
               element(bias, compute, r % channels, 0));
      m[static_cast<size_t>(r)] = each;
    }
  });
  for (int64_t c = 0; c < channels; ++c) {
    double mean = 0, m2 = 0;
    for (int64_t b = 0; b < batch; ++b)
      mean += m[static_cast<size_t>(b * channels + c)].mean, m2 += m[static_cast<size_t>(b * channels + c)].m2;
    store_statistic(call.outputs[1], c, mean / static_cast<double>(batch));
    store_statistic(call.outputs[2], c, m2 / static_cast<double>(batch) / static_cast<double>(area - 1));
  }
  y.finish();
}

[[maybe_unused]] const bool registered = [] {
  register_kernel("softmax", softmax_kernel<false>);
  register_kernel("log_softmax", softmax_kernel<true>);
  register_kernel("layer_norm", layer_norm_kernel);
  register_kernel("rms_norm", rms_norm_kernel);
  register_kernel("group_norm", group_norm_kernel);
  register_kernel("batch_norm", batch_norm_kernel);
  register_kernel("batch_norm_train", batch_norm_train_kernel);
  register_kernel("instance_norm", instance_norm_kernel);
  return true;
}();

}  // namespace
}  // namespace tailor::kernels::normalize
