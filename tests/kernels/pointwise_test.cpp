// Every pointwise op, on every dtype that it takes, at every instruction set of this machine, against the host algebra: the same
// bits (any NaN for any NaN), whatever the length, the strides and the mixture of tensors and scalars.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "ir/ops/pointwise.h"
#include "ir/promotion.h"
#include "ir/reference.h"
#include "kernels/kernels.h"

namespace tailor::kernels {
namespace {

using ir::HostOperand;
using ir::HostTensor;
using ir::OpDef;
using ir::TensorSpec;

constexpr ScalarType kTypes[] = {kUInt8, kInt8, kInt16, kInt32, kInt64, kFloat16, kFloat32, kFloat64, kBool, kBFloat16};

std::vector<Isa> levels() {
  std::vector<Isa> found;
  const Isa before = isa();
  for (Isa level : {Isa::Sse2, Isa::Avx2, Isa::Avx512}) {
    try {
      set_isa(level);
      found.push_back(level);
    } catch (const Error&) {}
  }
  set_isa(before);
  return found;
}

const char* name_of(Isa level) { return level == Isa::Sse2 ? "sse2" : level == Isa::Avx2 ? "avx2" : "avx512"; }

class LevelScope {
 public:
  explicit LevelScope(Isa level) : before_(set_isa(level)) {}
  ~LevelScope() { set_isa(before_); }

 private:
  Isa before_;
};

std::vector<const OpDef*> pointwise_ops() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : ir::all_ops())
    if (op->kind == ir::OpKind::Pointwise && op->pointwise.rule != ir::DTypeRule::Cast) ops.push_back(op);
  return ops;
}

/// Special values first, then numbers from the op's domain and from a wide range.
HostTensor values(ScalarType type, IntArrayRef sizes, const ir::Domain& domain, unsigned seed, bool nonzero) {
  HostTensor tensor{TensorSpec(type, sizes)};
  std::mt19937_64 random(seed);
  const double inf = std::numeric_limits<double>::infinity();
  const double floats[] = {0.0,  -0.0,  1.0,  -1.0,  0.5,    -0.5,    1.5,    2.5,     -2.5,    inf,     -inf,      std::nan(""),
                           3.0,  6.0,   -3.0, 1e-45, -1e-43, 1.2e-38, 3.4e38, -3.4e38, 1e10,    -1e10,   20.0,      -20.0,
                           88.9, -88.9, 1e-7, 0.1,   100.0,  127.0,   1e300,  -1e-310, 65504.0, 5.96e-8, 8388607.5, 4503599627370495.5};
  const int64_t ints[] = {0,         1,         -1,           2,     -2,     3,          7,
                          -7,        10,        31,           32,    63,     64,         100,
                          127,       -128,      255,          32767, -32768, 2147483647, -2147483648LL,
                          INT64_MAX, INT64_MIN, INT64_MIN + 1};
  std::uniform_real_distribution<double> near(domain.low, domain.high), wide(-1000, 1000);
  const int64_t n = tensor.spec.numel();
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t draw = random();
    if (is_floating_point(type)) {
      const double v = draw % 3 == 0 ? floats[draw / 3 % std::size(floats)] : draw % 3 == 1 ? near(random) : wide(random);
      tensor.set(i, v);
    } else {
      int64_t v = draw % 2 == 0 ? ints[draw / 2 % std::size(ints)] : static_cast<int64_t>(draw >> 8) % 41 - 20;
      tensor.set_int(i, v);
      if (nonzero && tensor.get_int(i) == 0) tensor.set_int(i, 1);
    }
  }
  return tensor;
}

bool same_element(const std::byte* a, const std::byte* b, ScalarType type) {
  if (std::memcmp(a, b, static_cast<size_t>(element_size(type))) == 0) return true;
  if (!is_floating_point(type)) return false;
  return visit_dtype(type, [&]<class T>() {
    T x, y;
    std::memcpy(&x, a, sizeof(T));
    std::memcpy(&y, b, sizeof(T));
    return std::isnan(static_cast<double>(x)) && std::isnan(static_cast<double>(y));
  });
}

/// Where `got`, read through `spec`, first differs from the contiguous `want` shifted by `offset`; -1 where nowhere.
int64_t first_difference(const std::byte* got, const TensorSpec& spec, const HostTensor& want, int64_t offset = 0) {
  const HostTensor dense = ir::gather(got, spec);
  const int64_t width = element_size(spec.dtype);
  for (int64_t i = 0; i < spec.numel(); ++i)
    if (!same_element(dense.bytes.data() + i * width, want.bytes.data() + (offset + i) * width, spec.dtype)) return i;
  return -1;
}

struct Case {
  const OpDef& op;
  std::vector<HostTensor> tensors;
  std::vector<std::optional<Scalar>> scalars;  // in place of the tensor

  HostTensor reference() const {
    std::vector<HostOperand> operands;
    for (size_t i = 0; i < tensors.size(); ++i) operands.push_back(scalars[i] ? HostOperand(*scalars[i]) : HostOperand(&tensors[i]));
    operands.resize(op.operand_names.size());
    return ir::evaluate(op, operands, {}).at(0);
  }
  std::string describe(size_t i) const {
    return scalars[i] ? std::to_string(scalars[i]->to_double()) : std::string(short_name(tensors[i].spec.dtype));
  }
};

/// The op on operands of these types; null when it is not defined for them.
std::optional<Case> make_case(const OpDef& op, std::span<const ScalarType> types, IntArrayRef sizes, unsigned seed) {
  Case result{op, {}, {}};
  std::vector<ir::SpecOperand> specs;
  const size_t count = types.size();
  for (size_t i = 0; i < count; ++i) {
    const bool truth = op.pointwise.first_is_mask && i == 0;
    const bool last = i + 1 == count;
    result.tensors.push_back(
        values(truth ? kBool : types[i], sizes, op.domain, seed + static_cast<unsigned>(i), last && op.pointwise.can_fail));
    result.scalars.emplace_back();
  }
  for (const HostTensor& t : result.tensors) specs.emplace_back(&t.spec);
  try {
    op.infer(op, {specs, {}});
  } catch (const Error&) { return std::nullopt; }
  // A divisor may become zero on its way to the compute type.
  const ScalarType compute = ir::pointwise_types(op, {specs, {}}).compute;
  if (ir::pointwise_can_fail(op, compute)) {
    HostTensor& divisor = result.tensors.back();
    for (int64_t i = 0; i < divisor.spec.numel(); ++i)
      if (divisor.get_int(i) % 256 == 0) divisor.set_int(i, 3);
  }
  return result;
}

void run_on(const Case& c, std::span<const TensorArg> args, TensorArg out) {
  std::vector<Operand> operands;
  for (size_t i = 0; i < args.size(); ++i) operands.push_back(c.scalars[i] ? Operand(*c.scalars[i]) : Operand(args[i]));
  operands.resize(c.op.operand_names.size());
  const TensorArg outs[] = {out};
  run({c.op, operands, {}, outs});
}

constexpr int64_t kLength = 1200;

/// All lengths up to 70, at places that move on, and the whole.
void check_lengths(const Case& c, const HostTensor& want, Isa level) {
  const ScalarType type = want.spec.dtype;
  std::vector<int64_t> lengths(71);
  std::iota(lengths.begin(), lengths.end(), 0);
  lengths.push_back(kLength);
  for (int64_t n : lengths) {
    const int64_t offset = n == kLength ? 0 : n * 13 % (kLength - 70);
    std::vector<TensorSpec> specs;
    specs.reserve(c.tensors.size());
    std::vector<TensorArg> args;
    for (const HostTensor& t : c.tensors) {
      const TensorSpec& spec = specs.emplace_back(t.spec.dtype, IntArrayRef{n});
      args.push_back({const_cast<std::byte*>(t.bytes.data()) + offset * element_size(t.spec.dtype), &spec});
    }
    const int64_t width = element_size(type);
    std::vector<std::byte> memory(static_cast<size_t>(n * width + 128), std::byte{0xa5});
    const TensorSpec out(type, {n});
    run_on(c, args, {memory.data() + 64, &out});
    const int64_t at = first_difference(memory.data() + 64, out, want, offset);
    ASSERT_EQ(at, -1) << c.op.name << " " << c.describe(0) << " " << name_of(level) << " length " << n << ": got "
                      << ir::gather(memory.data() + 64, out).get(at) << ", host " << want.get(at + offset) << " for "
                      << c.tensors[0].get(at + offset)
                      << (c.tensors.size() > 1 ? ", " + std::to_string(c.tensors[1].get(at + offset)) : "");
    for (int64_t i = 0; i < 64; ++i) {
      ASSERT_EQ(memory[static_cast<size_t>(i)], std::byte{0xa5}) << c.op.name << " writes before its output";
      ASSERT_EQ(memory[memory.size() - 1 - static_cast<size_t>(i)], std::byte{0xa5}) << c.op.name << " writes past its output";
    }
  }
}

class EachOp : public testing::TestWithParam<const OpDef*> {};

TEST_P(EachOp, GivesTheBitsOfTheHostAlgebraAtEveryLength) {
  const OpDef& op = *GetParam();
  ASSERT_NE(find_kernel(op), nullptr) << op.name << " has no kernel";
  for (ScalarType type : kTypes) {
    for (int count = op.pointwise.min_arity; count <= op.pointwise.arity; ++count) {
      if (count > op.pointwise.min_arity && count < op.pointwise.arity) continue;
      const std::vector<ScalarType> types(static_cast<size_t>(count), type);
      const std::optional<Case> c = make_case(op, types, {kLength}, 17u + static_cast<unsigned>(type));
      if (!c) continue;
      const HostTensor want = c->reference();
      for (Isa level : levels()) {
        const LevelScope scope(level);
        check_lengths(*c, want, level);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(EachOp, TakesScalars) {
  const OpDef& op = *GetParam();
  if (op.pointwise.arity < 2) return;
  const Scalar scalars[] = {Scalar(2), Scalar(0.75), Scalar(true)};
  for (ScalarType type : kTypes) {
    const std::vector<ScalarType> types(static_cast<size_t>(op.pointwise.arity), type);
    for (const Scalar& scalar : scalars) {
      for (size_t at = op.pointwise.first_is_mask ? 1 : 0; at < types.size(); ++at) {
        std::optional<Case> c = make_case(op, types, {90}, 5);
        if (!c) continue;
        c->scalars[at] = scalar;
        HostTensor want;
        try {
          want = c->reference();
        } catch (const Error&) { continue; }  // a kind of scalar that the op refuses, or a divisor that truncates to zero
        for (Isa level : levels()) {
          const LevelScope scope(level);
          std::vector<TensorArg> args;
          for (HostTensor& t : c->tensors) args.push_back({t.bytes.data(), &t.spec});
          HostTensor out(want.spec);
          run_on(*c, args, {out.bytes.data(), &out.spec});
          const int64_t i = first_difference(out.bytes.data(), out.spec, want);
          ASSERT_EQ(i, -1) << op.name << " " << short_name(type) << " with scalar operand " << at << " = " << scalar << " "
                           << name_of(level) << ": got " << out.get(i) << ", host " << want.get(i);
        }
      }
    }
  }
}

/// A tensor's values in memory of other strides.
struct Laid {
  std::vector<std::byte> memory;
  TensorSpec spec;
  TensorArg arg() { return {memory.data(), &spec}; }
};
Laid lay(const HostTensor& t, IntArrayRef strides, int64_t extent) {
  Laid laid{std::vector<std::byte>(static_cast<size_t>(extent * element_size(t.spec.dtype)), std::byte{0x5a}),
            TensorSpec(t.spec.dtype, t.spec.sizes, strides, {})};
  ir::scatter(t, laid.memory.data(), laid.spec);
  return laid;
}

TEST_P(EachOp, ReadsAndWritesAnyStrides) {
  const OpDef& op = *GetParam();
  // a long and a short inner dimension; row-major, transposed, with gaps, and broadcast along either dimension
  for (const Dims& sizes : {Dims{5, 70}, Dims{70, 5}}) {
    const int64_t rows = sizes[0], columns = sizes[1];
    const Dims layouts[] = {{columns, 1}, {1, rows}, {2 * columns, 2}, {columns + 3, 1}};
    for (ScalarType type : {kFloat32, kBFloat16, kInt64, kInt8, kBool}) {
      const std::vector<ScalarType> types(static_cast<size_t>(op.pointwise.arity), type);
      std::optional<Case> c = make_case(op, types, sizes, 3);
      if (!c) continue;
      const HostTensor want = c->reference();
      for (size_t first = 0; first < std::size(layouts); ++first) {
        std::vector<Laid> laid;
        for (size_t i = 0; i < c->tensors.size(); ++i)
          laid.push_back(lay(c->tensors[i], layouts[(first + i) % std::size(layouts)], 2 * rows * columns + 8 * rows));
        std::vector<TensorArg> args;
        for (Laid& l : laid) args.push_back(l.arg());
        for (const Dims& out_strides : layouts) {
          for (Isa level : levels()) {
            const LevelScope scope(level);
            Laid out = lay(HostTensor(want.spec), out_strides, 2 * rows * columns + 8 * rows);
            run_on(*c, args, out.arg());
            const int64_t i = first_difference(out.memory.data(), out.spec, want);
            ASSERT_EQ(i, -1) << op.name << " " << short_name(type) << " " << name_of(level) << " sizes " << sizes << " first strides "
                             << layouts[first] << " output strides " << out_strides;
          }
        }
      }
    }
  }
}

TEST_P(EachOp, Broadcasts) {
  const OpDef& op = *GetParam();
  if (op.pointwise.arity < 2) return;
  for (ScalarType type : {kFloat32, kFloat16, kInt32}) {
    const std::vector<ScalarType> types(static_cast<size_t>(op.pointwise.arity), type);
    std::optional<Case> c = make_case(op, types, {6, 40}, 3);
    if (!c) continue;
    const Dims shapes[] = {{6, 1}, {1, 40}, {40}, {1}, {}};
    for (const Dims& shape : shapes) {
      for (size_t at = 0; at < types.size(); ++at) {
        Case b = *c;
        b.tensors[at] = values(b.tensors[at].spec.dtype, shape, op.domain, 9, true);
        if (op.pointwise.can_fail)
          for (int64_t i = 0; i < b.tensors[at].spec.numel(); ++i) b.tensors[at].set_int(i, 1 + i % 100);
        const HostTensor want = b.reference();
        for (Isa level : levels()) {
          const LevelScope scope(level);
          std::vector<TensorArg> args;
          for (HostTensor& t : b.tensors) args.push_back({t.bytes.data(), &t.spec});
          HostTensor out(want.spec);
          run_on(b, args, {out.bytes.data(), &out.spec});
          ASSERT_EQ(first_difference(out.bytes.data(), out.spec, want), -1)
              << op.name << " " << short_name(type) << " " << name_of(level) << " operand " << at << " of shape " << shape;
        }
      }
    }
  }
}

std::string param_name(const testing::TestParamInfo<const OpDef*>& info) { return std::string(info.param->name); }
INSTANTIATE_TEST_SUITE_P(Pointwise, EachOp, testing::ValuesIn(pointwise_ops()), param_name);

TEST(Pointwise, MixesDtypes) {
  for (const char* name :
       {"add", "mul", "div", "div_floor", "pow", "eq", "lt", "maximum", "where", "logical_and", "bitwise_or", "xlogy", "addcmul"}) {
    const OpDef& op = *ir::find_op(name);
    for (ScalarType a : kTypes) {
      for (ScalarType b : kTypes) {
        std::vector<ScalarType> types(static_cast<size_t>(op.pointwise.arity), b);
        types[op.pointwise.first_is_mask ? 1 : 0] = a;
        std::optional<Case> c = make_case(op, types, {75}, 4);
        if (!c) continue;
        const HostTensor want = c->reference();
        for (Isa level : levels()) {
          const LevelScope scope(level);
          std::vector<TensorArg> args;
          for (HostTensor& t : c->tensors) args.push_back({t.bytes.data(), &t.spec});
          HostTensor out(want.spec);
          run_on(*c, args, {out.bytes.data(), &out.spec});
          const int64_t i = first_difference(out.bytes.data(), out.spec, want);
          ASSERT_EQ(i, -1) << name << " " << short_name(a) << " " << short_name(b) << " " << name_of(level) << ": got " << out.get(i)
                           << ", host " << want.get(i) << " for " << c->tensors[0].get(i) << ", " << c->tensors[1].get(i);
        }
      }
    }
  }
}

TEST(Pointwise, WritesInPlaceToAnotherDtype) {
  const OpDef& op = *ir::find_op("lt");
  Case c = *make_case(op, std::vector<ScalarType>{kFloat32, kFloat32}, {700}, 8);
  const HostTensor want = c.reference();
  for (Isa level : levels()) {
    const LevelScope scope(level);
    HostTensor self = c.tensors[0];
    const TensorArg args[] = {{self.bytes.data(), &self.spec}, {c.tensors[1].bytes.data(), &c.tensors[1].spec}};
    run_on(c, args, args[0]);
    for (int64_t i = 0; i < 700; ++i) ASSERT_EQ(self.get(i), want.get(i)) << i;
  }
}

TEST(Pointwise, SplitsLargeWorkOverThreads) {
  const OpDef& op = *ir::find_op("mul");
  for (ScalarType type : {kFloat32, kBFloat16}) {
    Case c = *make_case(op, std::vector<ScalarType>{type, type}, {300, 1000}, 8);
    const HostTensor want = c.reference();
    for (bool transposed : {false, true}) {
      const Dims strides = transposed ? Dims{1, 300} : Dims{1000, 1};
      Laid other = lay(c.tensors[1], strides, 300000);
      HostTensor out(want.spec);
      const TensorArg args[] = {{c.tensors[0].bytes.data(), &c.tensors[0].spec}, other.arg()};
      run_on(c, args, {out.bytes.data(), &out.spec});
      EXPECT_EQ(first_difference(out.bytes.data(), out.spec, want), -1) << short_name(type) << (transposed ? " transposed" : "");
    }
  }
}

// ---- errors -------------------------------------------------------------------------------------------------------

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::exception& e) { return e.what(); }
  return "no error";
}

TEST(Pointwise, DivisionByZeroIsAnErrorForIntegersAlone) {
  for (const char* name : {"div_floor", "div_trunc", "remainder", "fmod"}) {
    const OpDef& op = *ir::find_op(name);
    for (ScalarType type : {kInt32, kUInt8, kInt64, kFloat32}) {
      for (int64_t n : {3, 19}) {
        HostTensor x{TensorSpec(type, {n})}, y(x.spec), out(x.spec);
        for (int64_t i = 0; i < n; ++i) x.set_int(i, i), y.set_int(i, i == 1 ? 0 : 1), out.set_int(i, 77);
        const Operand operands[] = {TensorArg{x.bytes.data(), &x.spec}, TensorArg{y.bytes.data(), &y.spec}};
        const TensorArg outs[] = {{out.bytes.data(), &out.spec}};
        const std::string error = error_of([&] { run({op, operands, {}, outs}); });
        if (is_floating_point(type)) {
          EXPECT_EQ(error, "no error");
          continue;
        }
        EXPECT_EQ(error, std::string(name) + ": ZeroDivisionError: division by zero");
        EXPECT_EQ(out.get_int(0), 77) << "written before the check";
        y.set_int(1, 1);
        EXPECT_EQ(error_of([&] { run({op, operands, {}, outs}); }), "no error");
      }
    }
  }
}

TEST(Pointwise, PaddingIsNoDivisor) {
  const OpDef& op = *ir::find_op("remainder");
  for (int64_t n = 1; n <= 8; ++n) {
    HostTensor x{TensorSpec(kInt64, {2, n})}, y(x.spec), out(x.spec);
    for (int64_t i = 0; i < 2 * n; ++i) x.set_int(i, i), y.set_int(i, 16);
    const Operand operands[] = {TensorArg{x.bytes.data(), &x.spec}, TensorArg{y.bytes.data(), &y.spec}};
    const TensorArg outs[] = {{out.bytes.data(), &out.spec}};
    run({op, operands, {}, outs});
    for (int64_t i = 0; i < 2 * n; ++i) EXPECT_EQ(out.get_int(i), i % 16);
  }
}

std::string infer_error(const char* name, std::vector<ir::SpecOperand> operands) {
  const OpDef& op = *ir::find_op(name);
  return error_of([&] { op.infer(op, {operands, {}}); });
}

TEST(Pointwise, ErrorsNameTheOp) {
  const TensorSpec f(kFloat32, {3, 4}), g(kFloat32, {3, 5}), b(kBool, {3, 4}), i(kInt64, {3, 4}), d(kFloat64, {3, 4});
  EXPECT_EQ(infer_error("add", {&f, &g}), "add: The size of tensor a (4) must match the size of tensor b (5) at non-singleton dimension 1");
  EXPECT_EQ(infer_error("bitwise_and", {&f, &f}), "bitwise_and: not implemented for 'Float'");
  EXPECT_EQ(infer_error("abs", {&b}), "abs: not implemented for 'Bool'");
  EXPECT_EQ(infer_error("neg", {&b}),
            "neg: Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
            "`logical_not()` operator instead.");
  EXPECT_EQ(
      infer_error("sub", {&b, &b}),
      "sub: Subtraction, the `-` operator, with two bool tensors is not supported. If you are trying to invert a mask, use the `~` or "
      "`logical_not()` operator instead.");
  EXPECT_EQ(infer_error("add", {&i, &i, Scalar(1.5)}),
            "add: For integral input tensors, argument alpha must not be a floating point number.");
  EXPECT_EQ(infer_error("pow", {&i, Scalar(-2)}), "pow: Integers to negative integer powers are not allowed.");
  EXPECT_EQ(infer_error("celu", {&f, Scalar(0.0)}), "celu: ZeroDivisionError: alpha cannot be 0 for CELU");
  EXPECT_EQ(infer_error("hardtanh", {&f, Scalar(1.0), Scalar(-1.0)}), "hardtanh: min_val cannot be greater than max_val");
  EXPECT_EQ(infer_error("where", {&f, &f, &f}), "where expected condition to be a boolean tensor, but got a tensor with dtype Float");
  EXPECT_EQ(infer_error("lerp", {&f, &d, Scalar(0.5)}), "lerp: expected dtype Float for `end` but got dtype Double");
  EXPECT_EQ(infer_error("mul", {&f}), "mul: expected 2 operands, got 1");
  EXPECT_EQ(infer_error("add", {&f}), "add: expected at least 2 operands, got 1");
  EXPECT_EQ(infer_error("masked_fill", {&f, &b, &f}),
            "masked_fill: masked_fill only supports a 0-dimensional value tensor, but got tensor with 2 dimension(s).");
  EXPECT_EQ(infer_error("masked_fill", {&f, &i, Scalar(1)}),
            "masked_fill: masked_fill only supports boolean masks, but got mask with dtype Long");
}

}  // namespace
}  // namespace tailor::kernels
