// Eager kernels of var, std and var_mean.
#include <cmath>

#include "kernels/dense.h"
#include "kernels/normalize/moments.h"

namespace tailor::kernels::normalize {
namespace {

double correction_of(const ir::AttrRef& attr) {
  return attr.is_none() ? 1.0 : attr.kind == ir::AttrRef::Kind::Int ? static_cast<double>(attr.as_int()) : attr.as_double();
}

/// Stores f(moments) of each result.
template <class F>
void store_each(TensorArg out, const Moments* m, F&& f) {
  DenseOutput dense(out);
  visit_dtype(out.spec->dtype, [&]<class T>() {
    if constexpr (is_floating_point(scalar_type_of<T>))
      for (int64_t i = 0; i < out.spec->numel(); ++i)
        dense.as<T>()[i] = T(static_cast<std::conditional_t<sizeof(T) == 8, double, float>>(f(m[i])));
  });
  dense.finish();
}

void variance_kernel(const Call& call) {
  const TensorArg in = call.tensor(0);
  const ir::DimMask mask = ir::reduced_dims(call.attrs[0], in.spec->rank());
  const auto m = moments_over(in, mask);
  const double count = static_cast<double>(ir::reduced_count(in.spec->sizes, mask));
  const double divisor = std::max(0.0, count - correction_of(call.attrs[1]));
  const bool root = call.op.name == "std";
  store_each(call.outputs[0], m.get(), [&](const Moments& each) { return root ? std::sqrt(each.m2 / divisor) : each.m2 / divisor; });
  if (call.outputs.size() > 1) store_each(call.outputs[1], m.get(), [](const Moments& each) { return each.mean; });
}

[[maybe_unused]] const bool registered = [] {
  for (std::string_view op : {"var", "std", "var_mean"}) register_kernel(op, variance_kernel);
  return true;
}();

}  // namespace
}  // namespace tailor::kernels::normalize
