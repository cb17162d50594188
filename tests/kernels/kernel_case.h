#pragma once
// Runs an eager kernel on strided memory and holds its results against the reference.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ir/host_tensor.h"
#include "ir/reference.h"
#include "kernels/kernels.h"

namespace tailor::testing {

/// A tensor in memory of its own, with bytes around it that nobody may write.
class Strided {
 public:
  static constexpr size_t kGuard = 64;
  static constexpr auto kCanary = std::byte{0xa5};

  explicit Strided(const ir::TensorSpec& spec)
      : spec_(spec), memory_(static_cast<size_t>(ir::extent_of(spec) * element_size(spec.dtype)) + 2 * kGuard, kCanary) {}
  Strided(const ir::TensorSpec& spec, const ir::HostTensor& values) : Strided(spec) { ir::scatter(values, data(), spec_); }
  void* data() { return memory_.data() + kGuard; }
  kernels::TensorArg arg() { return {data(), &spec_}; }
  ir::HostTensor values() { return ir::gather(data(), spec_); }
  const ir::TensorSpec& spec() const { return spec_; }
  bool guards_intact() const {
    const auto intact = [](auto begin, auto end) { return std::all_of(begin, end, [](std::byte b) { return b == kCanary; }); };
    return intact(memory_.begin(), memory_.begin() + kGuard) && intact(memory_.end() - kGuard, memory_.end());
  }

 private:
  ir::TensorSpec spec_;
  std::vector<std::byte> memory_;
};

enum class Filling { Normal, Small, WithNan, Ties };

inline ir::HostTensor random_values(ScalarType type, IntArrayRef sizes, unsigned seed, Filling filling = Filling::Normal) {
  ir::HostTensor t(ir::TensorSpec(type, sizes));
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < t.spec.numel(); ++i) {
    double v = normal(engine);
    if (filling == Filling::Ties) v = std::round(v * 2);
    if (filling == Filling::Small) v = 1 + v * 0.01;
    if (is_floating_point(type)) {
      if (filling == Filling::WithNan && engine() % 40 == 0) v = NAN;
      t.set(i, v);
    } else {
      t.set_int(i, static_cast<int64_t>(type == kBool ? v > 0 : type == kUInt8 ? std::abs(v) * 50 : v * 50));
    }
  }
  return t;
}

/// The same values, laid out in memory with dimensions in the order of `permutation` (outermost first).
inline Strided permuted(const ir::HostTensor& values, std::vector<size_t> permutation) {
  Dims strides(values.spec.sizes.size(), 1);
  int64_t stride = 1;
  for (size_t i = permutation.size(); i-- > 0;) strides[permutation[i]] = stride, stride *= values.spec.sizes[permutation[i]];
  return Strided(ir::TensorSpec(values.spec.dtype, values.spec.sizes, strides, Device()), values);
}

/// The same values with gaps: every second element of each row.
inline Strided spaced(const ir::HostTensor& values) {
  Dims strides = values.spec.strides;
  for (int64_t& s : strides) s *= 2;
  return Strided(ir::TensorSpec(values.spec.dtype, values.spec.sizes, strides, Device()), values);
}

inline Strided dense(const ir::HostTensor& values) { return Strided(values.spec, values); }

/// Operands by pointer; null is an absent one.
inline std::vector<ir::HostTensor> run_kernel(std::string_view name, std::vector<Strided*> inputs, std::vector<ir::AttrRef> attrs) {
  const ir::OpDef& op = *ir::find_op(name);
  std::vector<ir::SpecOperand> specs;
  std::vector<kernels::Operand> operands;
  for (Strided* in : inputs) {
    specs.push_back(in ? ir::SpecOperand(&in->spec()) : ir::SpecOperand());
    operands.push_back(in ? kernels::Operand(in->arg()) : kernels::Operand());
  }
  std::vector<Strided> outputs;
  for (const ir::TensorSpec& spec : op.infer(op, {specs, attrs})) outputs.emplace_back(spec);
  std::vector<kernels::TensorArg> out_args;
  for (Strided& out : outputs) out_args.push_back(out.arg());
  EXPECT_NE(kernels::find_kernel(op), nullptr) << name;
  kernels::run({op, operands, attrs, out_args});
  std::vector<ir::HostTensor> results;
  for (Strided& out : outputs) {
    EXPECT_TRUE(out.guards_intact()) << name << " wrote outside its output";
    results.push_back(out.values());
  }
  return results;
}

inline std::vector<ir::HostTensor> run_reference(std::string_view name, std::vector<Strided*> inputs, std::vector<ir::AttrRef> attrs) {
  std::vector<ir::HostTensor> values;
  values.reserve(inputs.size());
  std::vector<ir::HostOperand> operands;
  for (Strided* in : inputs) operands.push_back(in ? ir::HostOperand(&values.emplace_back(in->values())) : ir::HostOperand());
  return ir::evaluate(*ir::find_op(name), operands, attrs);
}

/// |got - want| <= tolerance * (|want| + scale); integers and bool exactly; NaN equals NaN.
inline ::testing::AssertionResult close(const ir::HostTensor& got, const ir::HostTensor& want, double tolerance, double scale = 1) {
  if (!(got.spec.dtype == want.spec.dtype && got.spec.sizes == want.spec.sizes))
    return ::testing::AssertionFailure() << "got " << got.spec << ", want " << want.spec;
  for (int64_t i = 0; i < got.spec.numel(); ++i) {
    if (is_floating_point(got.spec.dtype)) {
      const double g = got.get(i), w = want.get(i);
      if (std::isnan(g) && std::isnan(w)) continue;
      if (g == w) continue;
      if (!(std::abs(g - w) <= tolerance * (std::abs(w) + scale)))
        return ::testing::AssertionFailure() << "element " << i << " of " << got.spec << ": got " << g << ", want " << w;
    } else if (got.get_int(i) != want.get_int(i)) {
      return ::testing::AssertionFailure() << "element " << i << " of " << got.spec << ": got " << got.get_int(i) << ", want "
                                           << want.get_int(i);
    }
  }
  return ::testing::AssertionSuccess();
}

inline double epsilon_of(ScalarType type) {
  return type == kFloat64 ? 2.3e-16 : type == kFloat32 ? 1.2e-7 : type == kFloat16 ? 9.8e-4 : type == kBFloat16 ? 7.9e-3 : 0;
}

/// Runs `f` at every instruction set of this machine.
template <class F>
void at_every_isa(F&& f) {
  const kernels::Isa best = kernels::isa();
  for (kernels::Isa isa : {kernels::Isa::Sse2, kernels::Isa::Avx2, kernels::Isa::Avx512}) {
    if (isa > best) break;
    kernels::set_isa(isa);
    SCOPED_TRACE(isa == kernels::Isa::Sse2 ? "sse2" : isa == kernels::Isa::Avx2 ? "avx2" : "avx512");
    f();
  }
  kernels::set_isa(best);
}

}  // namespace tailor::testing
