// Loop nests of every shape against the loop interpreter, at every instruction set this machine has. The numbers are small
// integers, so that sums are exact in any order and results are compared by bits.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <random>

#include "ir/formula.h"
#include "jit/llvm/compile.h"
#include "jit/llvm/target.h"
#include "jit/loop_interpreter.h"
#include "jit/nest_builder.h"

namespace tailor::jit {
namespace {

using kernels::Isa;

std::vector<Isa> levels() {
  std::vector<Isa> all;
  for (Isa isa : {Isa::Sse2, Isa::Avx2, Isa::Avx512})
    if (isa <= host_isa()) all.push_back(isa);
  return all;
}

/// Memory for one buffer of a nest, with a canary behind it.
struct Memory {
  ScalarType type;
  int64_t elements;
  std::vector<std::byte> bytes;
  Memory(ScalarType t, int64_t n) : type(t), elements(n), bytes(static_cast<size_t>(n * element_size(t)) + 64, std::byte{0x5a}) {}
  void* data() { return bytes.data(); }
  void set(int64_t i, Scalar value) { ir::store_bits(bytes.data() + i * element_size(type), ir::convert(value, type), type); }
};

Memory small_numbers(ScalarType type, int64_t n, unsigned seed = 1, int low = -3, int high = 3) {
  Memory m(type, n);
  std::mt19937 random(seed);
  for (int64_t i = 0; i < n; ++i) m.set(i, Scalar(low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1))));
  return m;
}

/// Compiles a nest once at each level: tests run one nest with many run-time sizes.
std::shared_ptr<const CompiledModule> compiled(const LoopNest& nest, Isa isa) {
  static std::map<std::pair<std::string, Isa>, std::shared_ptr<const CompiledModule>> known;
  auto& module = known[{to_string(nest), isa}];
  if (module == nullptr) module = compile_nests({&nest, 1}, {.isa = isa, .fast_math = false});
  return module;
}

/// Runs the nest compiled at each level and interpreted; all memory must end up the same.
void expect_same(const LoopNest& nest, const std::vector<Memory>& memory, std::vector<int64_t> sizes, int64_t end,
                 std::vector<int64_t> scalars = {}) {
  auto pointers = [&](std::vector<Memory>& m) {
    std::vector<void*> p;
    for (Memory& one : m) p.push_back(one.data());
    while (p.size() < nest.buffers.size()) p.push_back(nullptr);  // scratch
    return p;
  };
  std::vector<Memory> want = memory;
  interpret_nest(nest, pointers(want).data(), sizes.data(), scalars.data(), 0, end);
  for (Isa isa : levels()) {
    const auto module = compiled(nest, isa);
    std::vector<Memory> got = memory;
    // In two parts, as threads would.
    const auto outermost = std::find_if(nest.dims.begin(), nest.dims.end(), [](const LoopDim& d) { return !d.inner; });
    const bool of_lanes = outermost != nest.dims.end() && outermost - nest.dims.begin() == nest.vector_dim;
    const int64_t middle = of_lanes ? end / 3 / kCutMultiple * kCutMultiple : end / 3;
    module->kernel(0)(pointers(got).data(), sizes.data(), scalars.data(), 0, middle);
    module->kernel(0)(pointers(got).data(), sizes.data(), scalars.data(), middle, end);
    for (size_t b = 0; b < want.size(); ++b) {
      const int64_t width = element_size(want[b].type);
      for (int64_t i = 0; i < want[b].elements + 64 / width; ++i) {
        const ir::Bits x = ir::load_bits(got[b].bytes.data() + i * width, want[b].type),
                       y = ir::load_bits(want[b].bytes.data() + i * width, want[b].type);
        if (x == y) continue;
        const double p = ir::to_scalar(x, want[b].type).to_double(), q = ir::to_scalar(y, want[b].type).to_double();
        if (std::isnan(p) && std::isnan(q)) continue;
        FAIL() << "level " << int(isa) << ", buffer " << b << "[" << i << "] of " << want[b].elements << ": got " << p << ", expected " << q
               << "\n"
               << to_string(nest);
      }
    }
  }
}

// ---- pointwise shapes ----------------------------------------------------------------------------------------------

TEST(LlvmNest, BroadcastsAlongRowsAndColumns) {
  for (int64_t m : {1, 3}) {
    for (int64_t n : {1, 5, 16, 37}) {
      for (bool dynamic : {false, true}) {
        NestBuilder b;
        b.outer(dynamic ? b.size() : Size(m));
        b.vectorise(b.outer(dynamic ? b.size() : Size(n)));
        const Size row = dynamic ? b.size() : Size(n);
        b.stage();
        const int x = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({row, 1}));
        const int bias = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({0, 1}));
        const int scale = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({1, 0}));
        const int y = b.op("add", {b.op("mul", {x, scale}, kFloat32), bias}, kFloat32);
        b.store(b.buffer(BufferKind::Output, kFloat32), b.map({row, 1}), y);
        expect_same(b.nest(),
                    {small_numbers(kFloat32, m * n), small_numbers(kFloat32, n, 2), small_numbers(kFloat32, m, 3), Memory(kFloat32, m * n)},
                    {m, n, n}, m);
      }
    }
  }
}

TEST(LlvmNest, HoistsFormulasThatBranch) {  // sin and cos reduce large arguments under a branch
  constexpr int64_t m = 5, n = 37;
  NestBuilder b;
  b.outer(m);
  b.inner(2);
  b.vectorise(b.inner(n));
  b.stage({1, 2});
  const int x = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({n, 0, 1}));
  const int row = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({1, 0, 0}));
  const int column = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({0, 0, 1}));
  const int param = b.param(Scalar(1.0), kFloat32);
  const int angles = b.op("add", {b.op("sin", {row}, kFloat32), b.op("cos", {column}, kFloat32)}, kFloat32);
  const int y = b.op("mul", {b.op("add", {x, angles}, kFloat32), b.op("sin", {param}, kFloat32)}, kFloat32);
  b.store(b.buffer(BufferKind::Output, kFloat32), b.map({2 * n, n, 1}), y);
  Memory rows(kFloat32, m), columns(kFloat32, n);
  for (int64_t i = 0; i < m; ++i) rows.set(i, i % 2 == 0 ? 1e30 : 0.5);
  for (int64_t i = 0; i < n; ++i) columns.set(i, i == 20 ? -3e22 : 0.25 * static_cast<double>(i));
  for (double p : {2.0, 1e20})
    expect_same(b.nest(), {small_numbers(kFloat32, m * n), rows, columns, Memory(kFloat32, 2 * m * n)}, {}, m, {std::bit_cast<int64_t>(p)});
}

TEST(LlvmNest, GathersAndScattersOtherStrides) {
  for (ScalarType type : {kFloat32, kFloat64, kUInt8, kBFloat16, kInt64}) {
    for (int64_t n : {1, 7, 40}) {
      NestBuilder b;
      b.vectorise(b.outer(b.size()));
      const Size stride = b.size();
      b.stage();
      const int x = b.load(b.buffer(BufferKind::Input, type), b.map({3}));
      const int y = b.load(b.buffer(BufferKind::Input, type), b.map({-1}, Size::parameter(2)));
      b.nest().size_params = 3;
      const int sum = b.op("add", {x, y}, type);
      b.store(b.buffer(BufferKind::Output, type), b.map({stride}), sum);
      b.store(b.buffer(BufferKind::Output, type), b.map({2}, 1), sum);
      expect_same(b.nest(), {small_numbers(type, 3 * n), small_numbers(type, n, 2), Memory(type, 5 * n), Memory(type, 2 * n)},
                  {n, 5, n - 1}, n);
    }
  }
}

TEST(LlvmNest, LoadsFieldsOfRecords) {
  for (ScalarType type : {kFloat32, kInt64})
    for (int64_t fields : {2, 3, 4})
      for (bool dynamic : {false, true})
        for (int64_t n : {1, 16, 32, 45}) {
          NestBuilder b;
          b.outer(3);
          b.vectorise(b.outer(dynamic ? b.size() : Size(n)));
          b.stage();
          const int in = b.buffer(BufferKind::Input, type), out = b.buffer(BufferKind::Output, type);
          int value = b.index(b.map({0, 1}), type == kInt64 ? kInt64 : kInt32);
          if (type == kFloat32) value = b.cast(value, type);
          for (int64_t f = 0; f < fields; ++f) value = b.op("sub", {b.load(in, b.map({64 * fields, fields}, f + fields)), value}, type);
          b.store(out, b.map({64, 1}), value);
          std::vector<int64_t> sizes = {n};
          expect_same(b.nest(), {small_numbers(type, fields * (2 * 64 + n + 1)), Memory(type, 3 * 64)}, sizes, 3);
        }
}

TEST(LlvmNest, TransposesOperands) {
  for (ScalarType type : {kFloat32, kFloat64, kBFloat16, kUInt8})
    for (auto [m, n] : {std::pair<int64_t, int64_t>{3, 50}, {16, 16}, {45, 1}, {45, 50}, {70, 70}}) {
      NestBuilder b;
      b.outer(m);
      b.vectorise(b.outer(n));
      b.stage();
      const int x = b.load(b.buffer(BufferKind::Input, type), b.map({n, 1}));
      const int y = b.load(b.buffer(BufferKind::Input, type), b.map({1, m}));
      const int row = b.load(b.buffer(BufferKind::Input, type), b.map({1, 0}));
      const int z = b.op("sub", {b.op("mul", {x, row}, type), y}, type);
      b.store(b.buffer(BufferKind::Output, type), b.map({n, 1}), z);
      expect_same(b.nest(), {small_numbers(type, m * n), small_numbers(type, m * n, 2), small_numbers(type, m, 3), Memory(type, m * n)}, {},
                  m);
    }
}

TEST(LlvmNest, TransposesAcrossAMiddleDim) {  // out[i, j, k] = x[k, j, i] + y[j, k, i], sizes at run time
  constexpr int64_t m = 37, h = 3, n = 21;
  NestBuilder b;
  const Size sm = b.size(), sh = b.size(), sn = b.size(), hm = b.size(), nm = b.size(), hn = b.size();
  b.outer(sm);
  b.outer(sh);
  b.vectorise(b.outer(sn));
  b.stage();
  const int x = b.load(b.buffer(BufferKind::Input, kInt32), b.map({1, sm, hm}));
  const int y = b.load(b.buffer(BufferKind::Input, kInt32), b.map({1, nm, sm}));
  b.store(b.buffer(BufferKind::Output, kInt32), b.map({hn, sn, 1}), b.op("add", {x, y}, kInt32));
  expect_same(b.nest(), {small_numbers(kInt32, m * h * n), small_numbers(kInt32, m * h * n, 2), Memory(kInt32, m * h * n)},
              {m, h, n, h * m, n * m, h * n}, m);
}

TEST(LlvmNest, LoadsWithinBounds) {
  for (int64_t n : {1, 9, 64}) {  // cat(x, y) with 2 zeros around: x of n, y of n + 3
    NestBuilder b;
    const int64_t total = 2 * n + 7;
    b.vectorise(b.outer(total));
    b.stage();
    const int x = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({1}, -2), {{b.map({1}), 2, 2 + n}}, 0.0);
    const int y = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({1}, -2 - n), {{b.map({1}), 2 + n, 2 * n + 5}}, 5.5);
    b.store(b.buffer(BufferKind::Output, kFloat32), b.map({1}), b.op("add", {x, y}, kFloat32));
    b.store(b.buffer(BufferKind::Output, kFloat32), b.map({1}), x, {{b.map({2}), 6, 2 * n}});
    expect_same(b.nest(), {small_numbers(kFloat32, n), small_numbers(kFloat32, n + 3, 2), Memory(kFloat32, total), Memory(kFloat32, total)},
                {}, total);
  }
}

TEST(LlvmNest, BoundsOfOuterDimsAndScalars) {
  NestBuilder b;
  b.outer(6);
  b.vectorise(b.outer(20));
  b.stage();
  const int x = b.load(b.buffer(BufferKind::Input, kInt16), b.map({20, 1}, -40), {{b.map({1, 0}), 2, 5}}, 7);
  const int z = b.load(b.buffer(BufferKind::Input, kInt16), b.map({1, 0}, -1), {{b.map({1, 0}), 1, 4}}, -7);
  b.store(b.buffer(BufferKind::Output, kInt16), b.map({20, 1}), b.op("add", {x, z}, kInt16));
  expect_same(b.nest(), {small_numbers(kInt16, 60), small_numbers(kInt16, 3, 2), Memory(kInt16, 120)}, {}, 6);
}

TEST(LlvmNest, IndicesParametersAndCasts) {
  for (ScalarType type : {kInt64, kInt32, kUInt8, kFloat32, kFloat64, kBFloat16, kBool}) {
    NestBuilder b;
    b.outer(3);
    b.vectorise(b.outer(70));
    b.stage();
    const int i = b.index(b.map({70, 1}, 5));
    const int shifted = b.op("add", {i, b.param(Scalar(1), kInt64)}, kInt64);
    const int scaled = b.op("mul", {b.cast(shifted, kFloat64), b.param(Scalar(1.0), kFloat64)}, kFloat64);
    b.store(b.buffer(BufferKind::Output, type), b.map({70, 1}), b.cast(scaled, type));
    b.store(b.buffer(BufferKind::Output, type), b.map({70, 1}), b.index(b.map({0, 3}, -20), type == kBool ? kInt64 : type));
    expect_same(b.nest(), {Memory(type, 210), Memory(type, 210)}, {}, 3, {-30, std::bit_cast<int64_t>(1.75)});
  }
}

// The code generator folds constants that only it can see: what it folds must not lose a NaN.
TEST(LlvmNest, FoldsConstantsThatAreNaN) {
  constexpr int64_t n = 37;
  for (ScalarType type : {kFloat32, kFloat64}) {
    const auto zero_of = [&](NestBuilder& b, int x) { return b.cast(b.op("lt", {x, x}, kBool, type), type); };
    const auto quotient = [&](NestBuilder& b, int x) { return b.op("div", {zero_of(b, x), zero_of(b, x)}, type); };
    const auto of_literal = [&](NestBuilder& b, int x) { return b.op("div", {zero_of(b, x), b.literal(0.0, type)}, type); };
    const auto difference = [&](NestBuilder& b, int x) {
      const int infinite = b.op("div", {b.literal(1.0, type), zero_of(b, x)}, type);
      return b.op("sub", {infinite, infinite}, type);
    };
    const auto literal = [&](NestBuilder& b, int) { return b.literal(std::numeric_limits<double>::quiet_NaN(), type); };
    const std::function<int(NestBuilder&, int)> sources[] = {quotient, of_literal, difference, literal};
    for (const auto& source : sources) {
      NestBuilder b;
      b.vectorise(b.outer(n));
      b.stage();
      const int x = b.load(b.buffer(BufferKind::Input, type), b.map({1}));
      const int nan = source(b, x), zero = b.literal(0.0, type), one = b.literal(1.0, type);
      std::vector<Memory> memory = {small_numbers(type, n)};
      auto keep = [&](int value) {
        b.store(b.buffer(BufferKind::Output, type), b.map({1}), value);
        memory.emplace_back(type, n);
      };
      for (const char* name : {"relu", "relu6", "isnan", "sign", "leaky_relu"}) {
        const ir::OpDef* op = ir::find_op(name);
        std::vector<int> args = {nan};
        if (op->pointwise.min_arity == 2) args.push_back(one);
        keep(ir::gives_truth(*op) ? b.cast(b.op(name, args, kBool, type), type) : b.op(name, args, type));
      }
      for (const char* name : {"maximum", "minimum", "fmax", "fmin", "clamp_min", "clamp_max"})
        for (int other : {zero, one, x}) keep(b.op(name, {nan, other}, type)), keep(b.op(name, {other, nan}, type));
      keep(b.op("clamp", {nan, zero, one}, type));
      keep(b.op("clamp", {x, nan, one}, type));
      keep(b.op("clamp", {x, zero, nan}, type));
      keep(b.op("where", {b.op("ge", {nan, zero}, kBool, type), nan, zero}, type));
      keep(b.op("where", {b.op("ge", {nan, zero}, kBool, type), zero, nan}, type));
      expect_same(b.nest(), memory, {}, n);
      if (HasFatalFailure()) return;
    }
    for (const auto& source : sources) {  // amax and amin of rows that are all NaN
      NestBuilder b;
      b.outer(3);
      b.vectorise(b.inner(n));
      b.stage({1});
      const int x = b.load(b.buffer(BufferKind::Input, type), b.map({n, 1}));
      const int nan = source(b, x);
      const int largest = b.reduce(ReduceOp::Max, nan, type), least = b.reduce(ReduceOp::Min, nan, type);
      b.stage();
      b.store(b.buffer(BufferKind::Output, type), b.map({1, 0}), b.reduced(largest, type));
      b.store(b.buffer(BufferKind::Output, type), b.map({1, 0}), b.reduced(least, type));
      expect_same(b.nest(), {small_numbers(type, 3 * n), Memory(type, 3), Memory(type, 3)}, {}, 3);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(LlvmNest, CastsEveryPairOfTypes) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {0,
                                      -0.0,
                                      1,
                                      -1,
                                      1.5,
                                      -1.5,
                                      127,
                                      128,
                                      255,
                                      256,
                                      300,
                                      -129,
                                      32767,
                                      32768,
                                      70000,
                                      65504,
                                      65519,
                                      65520,
                                      2147483647,
                                      2147483648.0,
                                      -2147483649.0,
                                      3e9,
                                      9.2e18,
                                      9.3e18,
                                      -1e19,
                                      1e30,
                                      inf,
                                      -inf,
                                      std::nan(""),
                                      1e-8,
                                      6e-8,
                                      1e-40,
                                      0.1,
                                      16777217,
                                      9007199254740992.0};
  for (int s = 0; s < kScalarTypeCount; ++s) {
    const auto from = static_cast<ScalarType>(s);
    NestBuilder b;
    const auto n = static_cast<int64_t>(values.size());
    b.vectorise(b.outer(b.size()));
    b.stage();
    const int x = b.load(b.buffer(BufferKind::Input, from), b.map({1}));
    std::vector<Memory> memory = {Memory(from, n)};
    for (int64_t i = 0; i < n; ++i) memory[0].set(i, values[static_cast<size_t>(i)]);
    for (int t = 0; t < kScalarTypeCount; ++t) {
      const auto to = static_cast<ScalarType>(t);
      b.store(b.buffer(BufferKind::Output, to), b.map({1}), b.cast(x, to));
      memory.emplace_back(to, n);
    }
    expect_same(b.nest(), memory, {n}, n);
  }
}

// ---- reductions ----------------------------------------------------------------------------------------------------

struct Fold {
  ReduceOp op;
  ScalarType from, accumulate, to;
};

const std::vector<Fold> kFolds = {{ReduceOp::Sum, kFloat32, kFloat32, kFloat32},  {ReduceOp::Sum, kBFloat16, kFloat32, kBFloat16},
                                  {ReduceOp::Sum, kUInt8, kInt64, kInt64},        {ReduceOp::Sum, kBool, kInt64, kInt64},
                                  {ReduceOp::Prod, kFloat64, kFloat64, kFloat64}, {ReduceOp::Prod, kInt32, kInt64, kInt64},
                                  {ReduceOp::Max, kFloat32, kFloat32, kFloat32},  {ReduceOp::Min, kFloat16, kFloat32, kFloat16},
                                  {ReduceOp::Max, kInt8, kInt8, kInt8},           {ReduceOp::Min, kUInt8, kUInt8, kUInt8},
                                  {ReduceOp::Max, kInt64, kInt64, kInt64},        {ReduceOp::Any, kBool, kBool, kBool},
                                  {ReduceOp::All, kBool, kBool, kBool},           {ReduceOp::ArgMax, kFloat32, kFloat32, kInt64},
                                  {ReduceOp::ArgMin, kInt16, kInt16, kInt64},     {ReduceOp::ArgMax, kUInt8, kUInt8, kInt64},
                                  {ReduceOp::ArgMin, kFloat64, kFloat64, kInt64}, {ReduceOp::Max, kBool, kBool, kBool}};

bool has_index(ReduceOp op) { return op == ReduceOp::ArgMax || op == ReduceOp::ArgMin; }

Memory numbers_for(const Fold& f, int64_t n, unsigned seed, bool with_nan) {
  const bool prod = f.op == ReduceOp::Prod;
  Memory m = prod              ? small_numbers(f.from, n, seed, 1, 1)
             : f.from == kBool ? small_numbers(kBool, n, seed, 0, 1)
                               : small_numbers(f.from, n, seed);
  if (prod)
    for (int64_t i = 0; i < n; i += 7) m.set(i, -1);
  if (with_nan && n > 0 && is_floating_point(f.from)) m.set(n / 2, std::nan("")), m.set(n - 1, std::nan(""));
  return m;
}

TEST(LlvmNest, ReducesRows) {
  for (const Fold& f : kFolds)
    for (int64_t n : {1, 2, 15, 16, 33, 200})
      for (bool with_nan : {false, true}) {
        if (with_nan && !is_floating_point(f.from)) continue;
        constexpr int64_t m = 4;
        NestBuilder b;
        b.outer(m);
        b.vectorise(b.inner(b.size()));
        b.stage({1});
        const Size row = Size::parameter(0);
        const int x = b.load(b.buffer(BufferKind::Input, f.from), b.map({row, 1}));
        const int r = b.reduce(f.op, x, f.accumulate, has_index(f.op) ? b.index(b.map({0, 1})) : -1);
        b.stage();
        b.store(b.buffer(BufferKind::Output, f.to), b.map({1, 0}), b.reduced(r, f.to));
        expect_same(b.nest(), {numbers_for(f, m * n, 5, with_nan), Memory(f.to, m)}, {n}, m);
      }
}

TEST(LlvmNest, ReducesColumns) {
  for (const Fold& f : kFolds)
    for (auto [m, n] : {std::pair<int64_t, int64_t>{9, 16}, {9, 70}, {45, 1}, {45, 150}}) {
      NestBuilder b;
      b.vectorise(b.outer(b.size()));
      b.inner(m);
      b.stage({1});
      const int x = b.load(b.buffer(BufferKind::Input, f.from), b.map({1, Size::parameter(0)}));
      const int r = b.reduce(f.op, x, f.accumulate, has_index(f.op) ? b.index(b.map({0, 1})) : -1);
      b.stage();
      b.store(b.buffer(BufferKind::Output, f.to), b.map({1, 0}), b.reduced(r, f.to));
      expect_same(b.nest(), {numbers_for(f, m * n, 6, n == 70), Memory(f.to, n)}, {n}, n);
    }
}

// Sums, and sums of squared distances from the largest, over the first and the last of [a, c, b], c along lanes.
TEST(LlvmNest, ReducesColumnsInSeveralStages) {
  for (int64_t c : {70, 5000}) {
    constexpr int64_t a = 3, rows = 33;
    NestBuilder b;
    b.vectorise(b.outer(c));
    b.inner(a);
    b.inner(rows);
    const IndexMap at = b.map({1, rows * c, c});
    const int in = b.buffer(BufferKind::Input, kFloat32), scale = b.buffer(BufferKind::Input, kFloat32),
              out = b.buffer(BufferKind::Output, kFloat32);
    const int squares = b.buffer(BufferKind::Output, kFloat32), first = b.buffer(BufferKind::Output, kInt64);
    b.stage({1, 2});
    const int x = b.load(in, at);
    const int most = b.reduce(ReduceOp::Max, x, kFloat32),
              where = b.reduce(ReduceOp::ArgMin, x, kFloat32, b.index(b.map({0, rows, 1}, 10)));
    b.stage();
    b.store(first, b.map({1, 0, 0}), b.reduced(where, kInt64));
    b.stage({1, 2});
    const int y = b.load(in, at), s = b.load(scale, b.map({0, 0, 1}));
    const int d = b.op("sub", {y, b.reduced(most, kFloat32)}, kFloat32);
    const int scaled = b.op("mul", {d, s}, kFloat32);
    const int sum = b.reduce(ReduceOp::Sum, b.op("mul", {scaled, d}, kFloat32), kFloat32);
    b.store(out, at, scaled);
    b.stage();
    b.store(squares, b.map({1, 0, 0}), b.reduced(sum, kFloat32));
    expect_same(b.nest(),
                {small_numbers(kFloat32, a * rows * c), small_numbers(kFloat32, rows, 2), Memory(kFloat32, a * rows * c),
                 Memory(kFloat32, c), Memory(kInt64, c)},
                {}, c);
  }
}

TEST(LlvmNest, ReducesSeveralInnerDims) {  // of [a, n, c] over a and c, and everything to one number
  for (int64_t c : {3, 40}) {
    NestBuilder b;
    b.outer(5);
    b.inner(4);
    b.vectorise(b.inner(c));
    b.stage({1, 2});
    const int x = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({c, 5 * c, 1}));
    const int sum = b.reduce(ReduceOp::Sum, x, kFloat32);
    const int first = b.reduce(ReduceOp::ArgMax, x, kFloat32, b.index(b.map({0, c, 1})));
    b.stage();
    b.store(b.buffer(BufferKind::Output, kFloat32), b.map({1}), b.reduced(sum, kFloat32));
    b.store(b.buffer(BufferKind::Output, kInt64), b.map({1}), b.reduced(first, kInt64));
    expect_same(b.nest(), {small_numbers(kFloat32, 20 * c), Memory(kFloat32, 5), Memory(kInt64, 5)}, {}, 5);
  }
  NestBuilder b;
  b.vectorise(b.inner(b.size()));
  b.stage({0});
  const int r = b.reduce(ReduceOp::Sum, b.load(b.buffer(BufferKind::Input, kFloat32), b.map({1})), kFloat32);
  b.stage();
  b.store(b.buffer(BufferKind::Output, kFloat32), b.map({}), b.reduced(r, kFloat32));
  expect_same(b.nest(), {small_numbers(kFloat32, 1000), Memory(kFloat32, 1)}, {1000}, 1);
}

TEST(LlvmNest, EmptyReductionsGiveTheIdentity) {
  for (bool vector : {false, true}) {
    NestBuilder b;
    b.outer(3);
    const int inner = b.inner(b.size());
    if (vector) b.vectorise(inner);
    b.stage({1});
    const int x = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({0, 1}));
    const int sum = b.reduce(ReduceOp::Sum, x, kFloat32), product = b.reduce(ReduceOp::Prod, x, kFloat32);
    const int all = b.reduce(ReduceOp::All, b.op("ne", {x, x}, kBool, kFloat32), kBool);
    b.stage();
    b.store(b.buffer(BufferKind::Output, kFloat32), b.map({1}), b.reduced(sum, kFloat32));
    b.store(b.buffer(BufferKind::Output, kFloat32), b.map({1}), b.reduced(product, kFloat32));
    b.store(b.buffer(BufferKind::Output, kBool), b.map({1}), b.reduced(all, kBool));
    expect_same(b.nest(), {Memory(kFloat32, 1), Memory(kFloat32, 3), Memory(kFloat32, 3), Memory(kBool, 3)}, {0}, 3);
  }
}

TEST(LlvmNest, ArgMaxOfNothingBetterThanTheIdentityIsTheFirst) {
  NestBuilder b;
  b.outer(2);
  b.vectorise(b.inner(21));
  b.stage({1});
  const int x = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({21, 1}));
  const int r = b.reduce(ReduceOp::ArgMax, x, kFloat32, b.index(b.map({21, 1})));
  b.stage();
  b.store(b.buffer(BufferKind::Output, kInt64), b.map({1}), b.reduced(r, kInt64));
  Memory x_memory(kFloat32, 42);
  for (int64_t i = 0; i < 42; ++i) x_memory.set(i, -std::numeric_limits<double>::infinity());
  expect_same(b.nest(), {x_memory, Memory(kInt64, 2)}, {}, 2);
}

/// x - max, kept in scratch; then divided by the sum.
LoopNest centred(int64_t m, Size n, bool columns, ScalarType type) {
  NestBuilder b;
  if (columns)
    b.vectorise(b.outer(m)), b.inner(n);
  else
    b.outer(m), b.vectorise(b.inner(n));
  const IndexMap at = columns ? b.map({1, m}) : b.map({n, 1}), row = b.map({0, 1});
  const int in = b.buffer(BufferKind::Input, type), out = b.buffer(BufferKind::Output, type),
            scratch = b.buffer(BufferKind::Scratch, type, n);
  b.stage({1});
  const int most = b.reduce(ReduceOp::Max, b.load(in, at), kFloat32);
  b.stage({1});
  const int d = b.op("sub", {b.load(in, at), b.reduced(most, type)}, type);
  b.store(scratch, row, d);
  const int sum = b.reduce(ReduceOp::Sum, d, kFloat32);
  b.stage({1});
  b.store(out, at, b.op("add", {b.load(scratch, row), b.reduced(sum, type)}, type));
  b.nest().size_params = 1;
  return b.nest();
}

TEST(LlvmNest, StagesPassRowsThroughScratch) {
  for (ScalarType type : {kFloat32, kFloat16})
    for (bool columns : {false, true})
      for (int64_t n : {1, 31, 100})
        expect_same(centred(37, n, columns, type), {small_numbers(type, 37 * n), Memory(type, 37 * n)}, {}, 37);
  for (int64_t n : {1, 7, 16, 17, 20000})
    expect_same(centred(2, Size::parameter(0), false, kFloat32), {small_numbers(kFloat32, 2 * n), Memory(kFloat32, 2 * n)}, {n}, 2);
  expect_same(centred(2, 40000, false, kFloat32), {small_numbers(kFloat32, 80000), Memory(kFloat32, 80000)}, {}, 2);
}

TEST(LlvmNest, UnrollsSmallDims) {
  NestBuilder b;
  b.vectorise(b.outer(45));
  b.unrolled(3);
  b.stage({1});
  const int x = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({3, 1}));
  const int r = b.reduce(ReduceOp::Sum, b.op("mul", {x, x}, kFloat32), kFloat32);
  b.store(b.buffer(BufferKind::Output, kFloat32), b.map({3, 1}), b.op("neg", {x}, kFloat32));
  b.stage();
  b.store(b.buffer(BufferKind::Output, kFloat32), b.map({1}), b.reduced(r, kFloat32));
  expect_same(b.nest(), {small_numbers(kFloat32, 135), Memory(kFloat32, 135), Memory(kFloat32, 45)}, {}, 45);
}

TEST(LlvmNest, PrintsItself) {
  NestBuilder b("scale");
  b.vectorise(b.outer(b.size()));
  b.stage();
  const int x = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({2}, 1));
  const int y = b.op("neg", {x}, kFloat32);
  b.store(b.buffer(BufferKind::Output, kFloat32), b.map({1}), y);
  EXPECT_EQ(
      to_string(b.nest()),
      "nest scale\n  i0: outer s0 vector\n  b0: in f32\n  b1: out f32\n  stage\n    %0: f32 = load b0[1 + 2*i0]\n    %1: f32 = neg.f32 %0\n"
      "    store b1[i0] = %1\n");
}

}  // namespace
}  // namespace tailor::jit
