// Eager kernels of the folds: sum prod amax amin any all, and of mean, max, min, count_nonzero, which are folds too.
#include "kernels/reduce/fold.h"

namespace tailor::kernels::reduce {
namespace {

void run_fold(const Call& call, Fold how, ir::DimMask mask, ScalarType type, double divisor = 1) {
  const TensorArg in = call.tensor(0), out = call.outputs[0];
  const Layout layout = fold_layout(how, *in.spec, mask, *out.spec);
  const bool real = is_real(how, type);
  fold(how, in, type, layout,
       [&](int64_t at, int64_t stride, const Acc* acc, int64_t n) { store(out, at, stride, acc, n, real, divisor); });
}

ir::DimMask mask_of(const Call& call) { return ir::reduced_dims_of(call.op, call.attrs[0], call.tensor(0).spec->rank()); }

/// The type in which the elements of sum and prod are folded: what they are, where that gives the same as converting them first.
ScalarType folded_type(ScalarType in, ScalarType out) { return is_integral(in, true) && out == kInt64 ? in : out; }

template <Fold how>
void fold_kernel(const Call& call) {
  const ScalarType in = call.tensor(0).spec->dtype;
  const bool arithmetic = how == Fold::Sum || how == Fold::Prod;
  run_fold(call, how, mask_of(call), arithmetic ? folded_type(in, call.outputs[0].spec->dtype) : in);
}

void mean_kernel(const Call& call) {
  const ir::DimMask mask = mask_of(call);
  const double count = static_cast<double>(ir::reduced_count(call.tensor(0).spec->sizes, mask));
  run_fold(call, Fold::Sum, mask, call.outputs[0].spec->dtype, count);
}

template <Fold how>
void whole_kernel(const Call& call) {
  run_fold(call, how, ~ir::DimMask{0}, call.tensor(0).spec->dtype);
}

[[maybe_unused]] const bool registered = [] {
  register_kernel("sum", fold_kernel<Fold::Sum>);
  register_kernel("prod", fold_kernel<Fold::Prod>);
  register_kernel("amax", fold_kernel<Fold::Max>);
  register_kernel("amin", fold_kernel<Fold::Min>);
  register_kernel("any", fold_kernel<Fold::Any>);
  register_kernel("all", fold_kernel<Fold::All>);
  register_kernel("mean", mean_kernel);
  register_kernel("max", whole_kernel<Fold::Max>);
  register_kernel("min", whole_kernel<Fold::Min>);
  return true;
}();

}  // namespace
}  // namespace tailor::kernels::reduce
