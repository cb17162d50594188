// What libtorch has under nn::functional: normalising, pooling, resampling, dropout.

#include "conform/bindings.h"
#include "tailor/nn/functional.h"

namespace tailor::conform {
namespace {

namespace F = nn::functional;

Results batch_norm_binding(Args& a) {
  auto options =
      F::BatchNormFuncOptions().weight(a.tensor_or_none(3)).bias(a.tensor_or_none(4)).training(a.flag(5, false)).eps(a.number(7, 1e-5));
  if (a.has(6)) options.momentum(a.number(6, 0.1));
  return F::batch_norm(a.tensor(0), a.tensor_or_none(1), a.tensor_or_none(2), options);
}

Results instance_norm_binding(Args& a) {
  return F::instance_norm(a.tensor(0), F::InstanceNormFuncOptions()
                                           .running_mean(a.tensor_or_none(1))
                                           .running_var(a.tensor_or_none(2))
                                           .weight(a.tensor_or_none(3))
                                           .bias(a.tensor_or_none(4))
                                           .use_input_stats(a.flag(5, true))
                                           .momentum(a.number(6, 0.1))
                                           .eps(a.number(7, 1e-5)));
}

/// A stride that is absent or empty is the kernel's size.
template <Tensor (*Values)(const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, IntArrayRef, bool, Where),
          std::tuple<Tensor, Tensor> (*Both)(const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, IntArrayRef, bool, Where)>
Results max_pool(Args& a) {
  const auto run = [&](auto pool) -> Results {
    return pool(a.tensor(0), a.ints(1), a.ints(2), a.ints_or(3, 0), a.ints_or(4, 1), a.flag(5, false), Where::current());
  };
  return a.flag(6, false) ? run(Both) : run(Values);
}

/// Sizes where null keeps the input's.
F::AdaptiveAvgPool2dFuncOptions output_sizes(Args& a) {
  const Value& size = a.at(1);
  if (size.is_number()) return F::AdaptiveAvgPool2dFuncOptions(a.integer(1));
  std::vector<std::optional<int64_t>> sizes;
  for (const Value& item : size.list) sizes.push_back(item.is_none() ? std::nullopt : std::optional(item.scalar().to<int64_t>()));
  if (sizes.size() != 2) throw Error("adaptive pooling: output_size must have two numbers");
  return F::AdaptiveAvgPool2dFuncOptions({sizes[0], sizes[1]});
}

Results interpolate_binding(Args& a) {
  F::InterpolateFuncOptions options;
  if (a.has(1)) {
    std::vector<int64_t> sizes = a.ints(1);
    if (!a.is_list(1)) sizes.assign(static_cast<size_t>(std::max<int64_t>(a.tensor(0).dim() - 2, 1)), sizes[0]);
    options.size(sizes);
  }
  if (a.has(2)) {
    std::vector<double> factors;
    if (a.is_list(2)) {
      for (const Value& item : a.at(2).list) factors.push_back(item.scalar().to<double>());
    } else {
      factors.assign(static_cast<size_t>(std::max<int64_t>(a.tensor(0).dim() - 2, 1)), a.number(2, 1));
    }
    options.scale_factor(factors);
  }
  if (a.has(3)) options.mode(Keyword(std::string_view(a.at(3).text)));
  options.align_corners(a.optional_flag(4));
  options.recompute_scale_factor(a.optional_flag(5));
  return F::interpolate(a.tensor(0), options);
}

const Binding table[] = {
    {"batch_norm", "input running_mean running_var weight bias training momentum eps", batch_norm_binding},
    {"instance_norm", "input running_mean running_var weight bias use_input_stats momentum eps", instance_norm_binding},
    {"layer_norm", "input normalized_shape weight bias eps",
     [](Args& a) -> Results { return layer_norm(a.tensor(0), a.ints(1), a.optional_tensor(2), a.optional_tensor(3), a.number(4, 1e-5)); }},
    {"rms_norm", "input normalized_shape weight eps",
     [](Args& a) -> Results { return rms_norm(a.tensor(0), a.ints(1), a.optional_tensor(2), a.optional_number(3)); }},
    {"group_norm", "input num_groups weight bias eps",
     [](Args& a) -> Results {
       return group_norm(a.tensor(0), a.integer(1), a.optional_tensor(2), a.optional_tensor(3), a.number(4, 1e-5));
     }},
    {"normalize", "input p dim eps",
     [](Args& a) -> Results { return normalize(a.tensor(0), a.number(1, 2), a.integer(2, 1), a.number(3, 1e-12)); }},
    {"dropout", "input p training", [](Args& a) -> Results { return dropout(a.tensor(0), a.number(1, 0.5), a.flag(2, true)); }},
    {"max_pool1d", "input kernel_size stride padding dilation ceil_mode return_indices", max_pool<max_pool1d, max_pool1d_with_indices>},
    {"max_pool2d", "input kernel_size stride padding dilation ceil_mode return_indices", max_pool<max_pool2d, max_pool2d_with_indices>},
    {"avg_pool1d", "input kernel_size stride padding ceil_mode count_include_pad",
     [](Args& a) -> Results { return avg_pool1d(a.tensor(0), a.ints(1), a.ints(2), a.ints_or(3, 0), a.flag(4, false), a.flag(5, true)); }},
    {"avg_pool2d", "input kernel_size stride padding ceil_mode count_include_pad divisor_override",
     [](Args& a) -> Results {
       return avg_pool2d(a.tensor(0), a.ints(1), a.ints(2), a.ints_or(3, 0), a.flag(4, false), a.flag(5, true), a.optional_integer(6));
     }},
    {"adaptive_avg_pool2d", "input output_size", [](Args& a) -> Results { return F::adaptive_avg_pool2d(a.tensor(0), output_sizes(a)); }},
    {"adaptive_max_pool2d", "input output_size return_indices",
     [](Args& a) -> Results {
       if (a.flag(2, false)) return F::adaptive_max_pool2d_with_indices(a.tensor(0), output_sizes(a));
       return F::adaptive_max_pool2d(a.tensor(0), output_sizes(a));
     }},
    {"interpolate", "input size scale_factor mode align_corners recompute_scale_factor", interpolate_binding},
};

}  // namespace

std::span<const Binding> functional_bindings() { return table; }

}  // namespace tailor::conform
