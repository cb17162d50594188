#pragma once
// Kernels that move values take scalars too, run in place, and move every bit: these helpers add that to kernel_case.h.

#include "kernel_case.h"

namespace tailor::testing {

struct Arg {
  Strided* tensor = nullptr;
  std::optional<Scalar> scalar;
  Arg(Strided& t) : tensor(&t) {}
  Arg(Scalar s) : scalar(s) {}
  Arg(std::nullopt_t) {}
};

struct Case {
  std::string_view name;
  std::vector<Arg> args;
  std::vector<ir::AttrRef> attrs;
  const ir::OpDef& op() const { return *ir::find_op(name); }
};

inline std::vector<ir::TensorSpec> infer(const Case& c) {
  std::vector<ir::SpecOperand> specs;
  for (const Arg& a : c.args)
    specs.push_back(a.tensor ? ir::SpecOperand(&a.tensor->spec()) : a.scalar ? ir::SpecOperand(*a.scalar) : ir::SpecOperand());
  return c.op().infer(c.op(), {specs, c.attrs});
}

inline std::vector<kernels::Operand> kernel_operands(const Case& c) {
  std::vector<kernels::Operand> operands;
  for (const Arg& a : c.args)
    operands.push_back(a.tensor ? kernels::Operand(a.tensor->arg()) : a.scalar ? kernels::Operand(*a.scalar) : kernels::Operand());
  return operands;
}

/// The kernel into new memory with the strides of the shape rule, or with gaps between elements.
inline ir::HostTensor kernel_result(const Case& c, bool gaps = false) {
  EXPECT_NE(kernels::find_kernel(c.op()), nullptr) << c.name;
  ir::TensorSpec spec = infer(c).at(0);
  if (gaps)
    for (int64_t& s : spec.strides) s *= 2;
  Strided out(spec);
  const kernels::TensorArg outputs[] = {out.arg()};
  const std::vector<kernels::Operand> operands = kernel_operands(c);
  kernels::run({c.op(), operands, c.attrs, outputs});
  EXPECT_TRUE(out.guards_intact()) << c.name << " wrote outside its output";
  return out.values();
}

/// The kernel with operand 0 as its result.
inline ir::HostTensor inplace_result(const Case& c) {
  const kernels::TensorArg outputs[] = {c.args[0].tensor->arg()};
  const std::vector<kernels::Operand> operands = kernel_operands(c);
  infer(c);
  kernels::run({c.op(), operands, c.attrs, outputs});
  EXPECT_TRUE(c.args[0].tensor->guards_intact()) << c.name << " wrote outside its operand";
  return c.args[0].tensor->values();
}

inline ir::HostTensor reference_result(const Case& c) {
  std::vector<ir::HostTensor> values;
  values.reserve(c.args.size());
  std::vector<ir::HostOperand> operands;
  for (const Arg& a : c.args)
    operands.push_back(a.tensor   ? ir::HostOperand(&values.emplace_back(a.tensor->values()))
                       : a.scalar ? ir::HostOperand(*a.scalar)
                                  : ir::HostOperand());
  return ir::evaluate(c.op(), operands, c.attrs).at(0);
}

/// Same dtype, sizes and bytes.
inline ::testing::AssertionResult same_bits(const ir::HostTensor& got, const ir::HostTensor& want) {
  if (!(got.spec.dtype == want.spec.dtype && got.spec.sizes == want.spec.sizes))
    return ::testing::AssertionFailure() << "got " << got.spec << ", want " << want.spec;
  if (got.bytes == want.bytes) return ::testing::AssertionSuccess();
  for (int64_t i = 0; i < got.spec.numel(); ++i)
    if (got.get(i) != want.get(i))
      return ::testing::AssertionFailure() << "element " << i << " of " << got.spec << ": got " << got.get(i) << ", want " << want.get(i);
  return ::testing::AssertionFailure() << "equal values with different bits";
}

/// The kernel against the reference, into dense memory and into memory with gaps.
inline void expect_as_reference(const Case& c) {
  SCOPED_TRACE(c.name);
  const ir::HostTensor want = reference_result(c);
  EXPECT_TRUE(same_bits(kernel_result(c), want));
  EXPECT_TRUE(same_bits(kernel_result(c, true), want)) << "into memory with gaps";
}

inline ir::HostTensor ints(ScalarType type, IntArrayRef sizes, std::vector<int64_t> values) {
  ir::HostTensor t(ir::TensorSpec(type, sizes));
  for (size_t i = 0; i < values.size(); ++i) t.set_int(static_cast<int64_t>(i), values[i]);
  return t;
}
inline ir::HostTensor floats(IntArrayRef sizes, std::vector<double> values, ScalarType type = kFloat32) {
  ir::HostTensor t(ir::TensorSpec(type, sizes));
  for (size_t i = 0; i < values.size(); ++i) t.set(static_cast<int64_t>(i), values[i]);
  return t;
}
inline std::vector<double> list(const ir::HostTensor& t) {
  std::vector<double> values;
  for (int64_t i = 0; i < t.spec.numel(); ++i) values.push_back(t.get(i));
  return values;
}

/// The text of the error that `f` throws, with "IndexError: " in front of an IndexError; empty when it throws none.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const IndexError& e) { return std::string("IndexError: ") + e.what(); } catch (const Error& e) {
    return e.what();
  }
  return "";
}

/// Every dtype.
template <class F>
void for_all_dtypes(F&& f) {
  for (int i = 0; i < kScalarTypeCount; ++i) {
    const auto type = static_cast<ScalarType>(i);
    SCOPED_TRACE(short_name(type));
    f(type);
  }
}

}  // namespace tailor::testing
