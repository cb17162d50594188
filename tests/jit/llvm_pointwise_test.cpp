// Every pointwise op, in every compute type and half type, at every instruction set this machine has: the bits of the host algebra,
// over special values, for lengths 0 to 70, without touching memory past the end.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "ir/formula.h"
#include "ir/promotion.h"
#include "jit/llvm/compile.h"
#include "jit/llvm/target.h"
#include "jit/nest_builder.h"

namespace tailor::jit {
namespace {

using ir::Bits;
using kernels::Isa;

constexpr int64_t kMost = 900;  // elements; lengths 0 to 70 start at different places among them
constexpr std::byte kCanary{0xa5};

std::vector<Isa> levels() {
  std::vector<Isa> all;
  for (Isa isa : {Isa::Sse2, Isa::Avx2, Isa::Avx512})
    if (isa <= host_isa()) all.push_back(isa);
  return all;
}

std::vector<double> special_floats() {
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<double> v = {0.0,  -0.0, 1,     -1,   0.5,  -0.5, 1.5,   -1.5,  2.5,    0.1,   -0.7,         3,     -3,       7,
                           10,   88.5, -88.5, 104,  -104, 1e-3, 1e-8,  1e-40, -1e-40, 1e-45, 1e-310,       65504, 65520,    1e5,
                           -1e5, 1e10, 3e9,   -3e9, 1e19, 1e38, -1e38, 1e300, inf,    -inf,  std::nan(""), 6e-8,  3.1415926};
  std::mt19937_64 random(20);
  std::normal_distribution<double> normal(0, 4);
  while (v.size() < 211) v.push_back(normal(random));
  return v;
}

std::vector<Bits> column(ScalarType type, int operand, bool truth) {
  static const std::vector<double> floats = special_floats();
  static const std::vector<int64_t> ints = [] {
    std::vector<int64_t> v = {0,  1,   -1,  2,    -2,  3,     5,      7,         -7,        8,         31,        32,   63,
                              64, 127, 128, -128, 255, 32767, -32768, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1000, -1000};
    std::mt19937_64 random(21);
    while (v.size() < 101) v.push_back(static_cast<int64_t>(random()) >> (random() % 64));
    return v;
  }();
  std::vector<Bits> out(kMost);
  for (int64_t i = 0; i < kMost; ++i) {
    const auto step = static_cast<size_t>(i) * static_cast<size_t>(operand == 0   ? 1
                                                                   : operand == 1 ? 37
                                                                                  : 59) +
                      static_cast<size_t>(operand) * 5;
    if (truth)
      out[static_cast<size_t>(i)] = (step / 3) % 2;
    else if (is_floating_point(type))
      out[static_cast<size_t>(i)] = ir::convert(Scalar(floats[step % floats.size()]), type);
    else
      out[static_cast<size_t>(i)] = ir::convert(Scalar(ints[step % ints.size()]), type);
  }
  return out;
}

std::vector<std::byte> memory_of(const std::vector<Bits>& values, ScalarType type) {
  std::vector<std::byte> bytes(values.size() * static_cast<size_t>(element_size(type)));
  for (size_t i = 0; i < values.size(); ++i) ir::store_bits(bytes.data() + i * static_cast<size_t>(element_size(type)), values[i], type);
  return bytes;
}

bool is_nan(Bits bits, ScalarType type) { return is_floating_point(type) && std::isnan(ir::to_scalar(bits, type).to_double()); }

struct Case {
  const ir::OpDef* op;
  int count;
  ScalarType stored, compute, result;
  std::vector<ScalarType> types;  // of the operands in memory
};

std::vector<Case> cases_of(ScalarType stored) {
  std::vector<Case> all;
  const ScalarType compute = compute_type(stored);
  for (const ir::OpDef* op : ir::all_ops()) {
    if (op->kind != ir::OpKind::Pointwise || ir::find_formula(*op, compute) == nullptr) continue;
    for (int count : {op->pointwise.min_arity, op->pointwise.arity}) {
      if (count == op->pointwise.min_arity && !all.empty() && all.back().op == op) continue;
      Case c{op, count, stored, compute, ir::gives_truth(*op) ? kBool : stored, {}};
      for (int i = 0; i < count; ++i) c.types.push_back(ir::takes_truth(*op, static_cast<size_t>(i)) ? kBool : stored);
      all.push_back(c);
    }
  }
  return all;
}

LoopNest nest_of(const Case& c) {
  NestBuilder b(std::string(c.op->name));
  b.vectorise(b.outer(b.size()));
  std::vector<int> args;
  b.stage();
  for (ScalarType type : c.types) args.push_back(b.load(b.buffer(BufferKind::Input, type), b.map({1})));
  const int out = b.buffer(BufferKind::Output, c.result);
  b.store(out, b.map({1}), b.op(c.op->name, args, c.result, c.compute));
  return b.nest();
}

std::vector<Bits> expected(const Case& c, const std::vector<std::vector<Bits>>& columns) {
  const ir::Formula formula = ir::find_formula(*c.op, c.compute);
  std::vector<Bits> out;
  for (size_t i = 0; i < static_cast<size_t>(kMost); ++i) {
    std::vector<Bits> args;
    for (size_t a = 0; a < columns.size(); ++a) {
      const ScalarType to = c.types[a] == kBool && c.stored != kBool ? kBool : c.compute;
      args.push_back(ir::convert(columns[a][i], c.types[a], to));
    }
    out.push_back(ir::convert(formula(args.data(), c.count), ir::gives_truth(*c.op) ? kBool : c.compute, c.result));
  }
  return out;
}

class Pointwise : public testing::TestWithParam<std::tuple<Isa, ScalarType>> {};

TEST_P(Pointwise, HasTheBitsOfTheHostAlgebra) {
  const auto [isa, stored] = GetParam();
  const std::vector<Case> cases = cases_of(stored);
  std::vector<LoopNest> nests;
  for (const Case& c : cases) nests.push_back(nest_of(c));
  const auto module = compile_nests(nests, {.isa = isa, .fast_math = false});
  for (size_t k = 0; k < cases.size(); ++k) {
    const Case& c = cases[k];
    std::vector<std::vector<Bits>> columns;
    std::vector<std::vector<std::byte>> inputs;
    for (int i = 0; i < c.count; ++i) {
      columns.push_back(column(c.types[static_cast<size_t>(i)], i, c.types[static_cast<size_t>(i)] == kBool));
      inputs.push_back(memory_of(columns.back(), c.types[static_cast<size_t>(i)]));
    }
    const std::vector<Bits> want = expected(c, columns);
    const auto size = static_cast<size_t>(element_size(c.result));
    int64_t start = 0;
    for (int64_t n = 0; n <= 71; ++n) {
      const int64_t length = n == 71 ? kMost : n;
      if (n == 71 || start + length > kMost) start = 0;
      std::vector<std::byte> out(static_cast<size_t>(length) * size + 64, kCanary);
      std::vector<void*> buffers;
      for (size_t i = 0; i < inputs.size(); ++i) buffers.push_back(inputs[i].data() + start * element_size(c.types[i]));
      buffers.push_back(out.data());
      module->kernel(k)(buffers.data(), &length, nullptr, 0, length);
      for (int64_t i = 0; i < length; ++i) {
        const Bits got = ir::load_bits(out.data() + static_cast<size_t>(i) * size, c.result), right = want[static_cast<size_t>(start + i)];
        if (got == right || (is_nan(got, c.result) && is_nan(right, c.result))) continue;
        std::string args;
        for (size_t a = 0; a < columns.size(); ++a)
          args += " " + std::to_string(ir::to_scalar(columns[a][static_cast<size_t>(start + i)], c.types[a]).to_double());
        ADD_FAILURE() << c.op->name << " of " << c.count << " " << c.stored << " (" << args << " ) at " << i << " of " << length << ": got "
                      << ir::to_scalar(got, c.result) << std::hex << " 0x" << got << std::dec << ", expected "
                      << ir::to_scalar(right, c.result) << std::hex << " 0x" << right;
        n = 72;
        break;
      }
      for (size_t i = static_cast<size_t>(length) * size; i < out.size(); ++i)
        ASSERT_EQ(out[i], kCanary) << c.op->name << " writes past " << length;
      start += length;
    }
  }
}

/// Scaling by powers of two has an instruction of its own at one level, and two multiplications at the others.
TEST(PointwiseExponentials, AgreeBetweenLevelsOnEveryKindOfResult) {
  constexpr uint64_t kStep = 1021;  // of all 2^32 floats
  constexpr auto kCount = static_cast<int64_t>((uint64_t{1} << 32) / kStep);
  for (ScalarType type : {kFloat32, kFloat64}) {
    std::vector<std::byte> input(static_cast<size_t>(kCount * element_size(type)));
    for (int64_t i = 0; i < kCount; ++i) {
      const float f = std::bit_cast<float>(static_cast<uint32_t>(static_cast<uint64_t>(i) * kStep));
      // Doubles densely over [-760, 760], which the exponentials take from 0 through denormals to infinity.
      const double d = (static_cast<double>(i) / static_cast<double>(kCount) - 0.5) * 1520;
      ir::store_bits(input.data() + i * element_size(type),
                     type == kFloat32 ? ir::Bits{std::bit_cast<uint32_t>(f)} : std::bit_cast<uint64_t>(d), type);
    }
    for (const char* name : {"exp", "exp2", "sigmoid", "sinh", "erfc"}) {
      const LoopNest nest = nest_of({ir::find_op(name), 1, type, type, type, {type}});
      std::vector<std::vector<std::byte>> results;
      for (Isa isa : levels()) {
        if (isa == Isa::Sse2 && host_isa() != Isa::Sse2) continue;  // fma in software takes long
        const auto module = compile_nests({&nest, 1}, {.isa = isa, .fast_math = false});
        std::vector<std::byte>& out = results.emplace_back(input.size());
        void* buffers[] = {input.data(), out.data()};
        module->kernel(0)(buffers, &kCount, nullptr, 0, kCount);
      }
      for (const auto& other : results) {
        if (other == results[0]) continue;
        for (int64_t i = 0; i < kCount; ++i) {
          const Bits a = ir::load_bits(results[0].data() + i * element_size(type), type),
                     b = ir::load_bits(other.data() + i * element_size(type), type);
          if (a == b || (is_nan(a, type) && is_nan(b, type))) continue;
          FAIL() << name << " of " << ir::to_scalar(ir::load_bits(input.data() + i * element_size(type), type), type) << ": 0x" << std::hex
                 << a << " and 0x" << b;
        }
      }
    }
  }
}

std::string name_of(const testing::TestParamInfo<Pointwise::ParamType>& info) {
  const char* isa[] = {"sse2_", "avx2_", "avx512_"};
  return isa[static_cast<int>(std::get<0>(info.param))] + std::string(short_name(std::get<1>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(All, Pointwise,
                         testing::Combine(testing::ValuesIn(levels()), testing::Values(kFloat32, kFloat64, kFloat16, kBFloat16, kUInt8,
                                                                                       kInt8, kInt16, kInt32, kInt64, kBool)),
                         name_of);

}  // namespace
}  // namespace tailor::jit
