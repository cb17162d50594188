// Resampling; attributes as listed in ir/ops/interpolate.h.

#include "ir/ops/interpolate.h"
#include "frontend/call.h"
#include "tailor/nn/functional.h"

namespace tailor::nn::functional {
namespace {

struct Target {
  Dims size;
  std::array<std::optional<double>, 3> scale;  // given by the user, and used for positions
};

Target target_of(const Tensor& input, const InterpolateFuncOptions& options, Where where) {
  const int64_t spatial = input.dim() - 2;
  check_at(where, spatial >= 1 && spatial <= 3,
           "interpolate: Input and output must have the same number of spatial dimensions; got an input of ", input.dim(),
           " dimensions, expected 3 to 5");
  check_at(where, options.size().has_value() != options.scale_factor().has_value(),
           options.size() ? "interpolate: only one of size or scale_factor should be defined"
                          : "interpolate: either size or scale_factor should be defined");
  Target target;
  const auto count = [&](size_t n, const char* what) {
    check_at(where, n == 1 || static_cast<int64_t>(n) == spatial, "interpolate: ", what, " shape must match input shape. Input is ",
             spatial, "D, ", what, " is ", n);
  };
  if (options.size()) {
    check_at(where, !options.recompute_scale_factor().value_or(false),
             "interpolate: recompute_scale_factor is not meaningful with an explicit size.");
    count(options.size()->size(), "size");
    for (int64_t d = 0; d < spatial; ++d)
      target.size.push_back((*options.size())[options.size()->size() == 1 ? 0 : static_cast<size_t>(d)]);
    return target;
  }
  const std::vector<double>& factors = *options.scale_factor();
  count(factors.size(), "scale_factor");
  for (int64_t d = 0; d < spatial; ++d) {
    const double factor = factors[factors.size() == 1 ? 0 : static_cast<size_t>(d)];
    target.size.push_back(ir::interpolate_size(input.size(d + 2), factor));
    if (!options.recompute_scale_factor().value_or(false)) target.scale[static_cast<size_t>(d)] = factor;
  }
  return target;
}

}  // namespace

Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& options, Where where) {
  const Target target = target_of(input, options, where);
  const std::string_view mode = options.mode().text();
  const auto& scale = target.scale;
  if (mode == "nearest" || mode == "nearest-exact") {
    check_at(where, !options.align_corners(),
             "interpolate: align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear");
    if (mode == "nearest") return call<"interpolate_nearest">(where, operands(where, input), target.size, scale[0], scale[1], scale[2]);
    return call<"interpolate_nearest_exact">(where, operands(where, input), target.size, scale[0], scale[1], scale[2]);
  }
  const bool align = options.align_corners().value_or(false);
  const int64_t rank = mode == "linear" ? 3 : mode == "bilinear" || mode == "bicubic" ? 4 : mode == "trilinear" ? 5 : 0;
  check_at<NotImplementedError>(where, rank != 0, "interpolate: unknown mode '", mode, "'");
  check_at<NotImplementedError>(where, input.dim() == rank, "interpolate: Got ", input.dim(), "D input, but ", mode, " mode needs ", rank,
                                "D input");
  if (mode == "bicubic") return call<"interpolate_cubic">(where, operands(where, input), target.size, align, scale[0], scale[1], scale[2]);
  return call<"interpolate_linear">(where, operands(where, input), target.size, align, scale[0], scale[1], scale[2]);
}

}  // namespace tailor::nn::functional
