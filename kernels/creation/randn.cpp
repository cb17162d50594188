// randn: the op's decomposition, block by block in the first level of the cache. The steps are the pointwise kernels themselves, so
// the bits are those of the decomposition.

#include <memory>
#include <numbers>

#include "kernels/creation/dense_output.h"
#include "kernels/creation/uniform.h"

namespace tailor::kernels {
namespace {

void apply(const ir::OpDef& op, const TensorArg& self, const Operand* other = nullptr) {
  Operand operands[2] = {self, other ? *other : Operand()};
  run({op, {operands, other ? size_t{2} : size_t{1}}, {}, {&self, 1}});
}

template <class T>
void fill_normal(PhiloxState state, T* out, int64_t n) {
  static const ir::OpDef &neg = *ir::find_op("neg"), &log1p = *ir::find_op("log1p"), &sqrt = *ir::find_op("sqrt"),
                         &cos = *ir::find_op("cos"), &mul = *ir::find_op("mul");
  constexpr int64_t group = kGroup<T>, block_groups = 2048 / group;
  const PhiloxWords words_of = philox_words();
  const auto run_groups = [&](int64_t begin, int64_t end) {
    const auto words = std::make_unique_for_overwrite<uint32_t[]>(64 * block_groups);
    const auto radius = std::make_unique_for_overwrite<T[]>(2048), angle = std::make_unique_for_overwrite<T[]>(2048);
    for (int64_t g = begin; g < end; g += block_groups) {
      const int64_t groups = std::min(block_groups, end - g), first = g * group, count = std::min(groups * group, n - first);
      uint32_t stream = 0;
      for (T* values : {radius.get(), angle.get()}) {
        words_of(state, stream++, g, groups, words.get());
        for (int64_t k = 0; k < groups; ++k) uniform_group<T>(words.get() + 64 * k, values + k * group);
      }
      const ir::TensorSpec spec(scalar_type_of<T>, {count});
      const TensorArg r{radius.get(), &spec}, a{angle.get(), &spec};
      const Operand minus_two(Scalar(-2.0)), turn(Scalar(2 * std::numbers::pi)), cosines(a);
      apply(neg, r);
      apply(log1p, r);
      apply(mul, r, &minus_two);
      apply(sqrt, r);
      apply(mul, a, &turn);
      apply(cos, a);
      apply(mul, r, &cosines);
      std::memcpy(out + first, radius.get(), static_cast<size_t>(count) * sizeof(T));
    }
  };
  const int64_t groups = (n + group - 1) / group;
  if (n <= kParallelGrain)
    run_groups(0, groups);
  else
    parallel_for(0, groups, kParallelGrain / group, run_groups);
}

void randn(const Call& call) {
  const PhiloxState state{call.operands[0].scalar.to_int(), call.operands[1].scalar.to_int()};
  const ir::TensorSpec& spec = *call.outputs[0].spec;
  if (spec.dtype == kFloat64 || spec.dtype == kFloat32) {
    const DenseOutput out(call.outputs[0]);
    if (spec.dtype == kFloat64)
      fill_normal(state, reinterpret_cast<double*>(out.piece().data), spec.numel());
    else
      fill_normal(state, reinterpret_cast<float*>(out.piece().data), spec.numel());
    return out.finish();
  }
  // The half types compute in float32 and round once.
  const ir::TensorSpec wide(kFloat32, spec.sizes, spec.device);
  std::vector<float> values(static_cast<size_t>(wide.numel()));
  fill_normal(state, values.data(), wide.numel());
  copy(call.outputs[0], {values.data(), &wide});
}

[[maybe_unused]] const bool registered = (register_kernel("randn", randn), true);

}  // namespace
}  // namespace tailor::kernels
