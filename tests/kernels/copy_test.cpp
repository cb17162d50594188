// Copies and fills between all dtypes and layouts against the interpreter's conversion.

#include "kernels/copy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <cmath>
#include <random>

#include "ir/host_tensor.h"

namespace tailor::kernels {
namespace {

using ir::HostTensor;
using ir::TensorSpec;

constexpr ScalarType kTypes[] = {kUInt8, kInt8, kInt16, kInt32, kInt64, kFloat16, kFloat32, kFloat64, kBool, kBFloat16};

HostTensor values(ScalarType type, IntArrayRef sizes) {
  HostTensor t{TensorSpec(type, sizes)};
  std::mt19937_64 random(static_cast<unsigned>(type) + 1);
  const double inf = std::numeric_limits<double>::infinity();
  const double special[] = {
      0.0,     -0.0,   1.5,   -1.5,  inf,   -inf,  std::nan(""), 3e9,          -3e9,         1e19,     -1e19,
      65519.0, 65520,  1e-45, 1e-40, -1e-8, 255.9, -129.5,       2147483648.0, 1e300,        9.1e-41,  0.5,
      300,     -32769, 70000, 6e-8,  3e-8,  2049,  2051.0,       16777217,     4294967297.0, -0.99999, 9007199254740993.0};
  const int64_t integers[] = {
      0, 1, -1, 127, 128, 255, 256, 300, -129, 32768, 65520, 65519, 16777217, INT64_MAX, INT64_MIN, 9007199254740993, 4611686018427387905};
  for (int64_t i = 0; i < t.spec.numel(); ++i) {
    const uint64_t draw = random();
    if (is_floating_point(type))
      t.set(i, draw % 2 ? special[draw / 2 % std::size(special)] : static_cast<double>(static_cast<int64_t>(draw) >> 40) / 64);
    else
      t.set_int(i, draw % 2 ? integers[draw / 2 % std::size(integers)] : static_cast<int64_t>(draw) >> (draw / 2 % 60));
  }
  return t;
}

void expect_same(const HostTensor& got, const HostTensor& want, const std::string& what) {
  for (int64_t i = 0; i < want.spec.numel(); ++i) {
    if (is_floating_point(want.spec.dtype)) {
      const double a = got.get(i), b = want.get(i);
      ASSERT_TRUE((std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b)))
          << what << " element " << i << ": " << a << " for " << b;
    } else {
      ASSERT_EQ(got.get_int(i), want.get_int(i)) << what << " element " << i;
    }
  }
}

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

TEST(Copy, ConvertsBetweenAllDtypesAtEveryLevelAndLength) {
  const Isa before = isa();
  for (ScalarType from : kTypes) {
    const HostTensor source = values(from, {700});
    for (ScalarType to : kTypes) {
      const HostTensor want = ir::cast(source, to);
      for (Isa level : levels()) {
        set_isa(level);
        for (int64_t n : {0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 129, 700}) {
          HostTensor part{TensorSpec(to, {n})}, expected(part.spec);
          const TensorSpec spec(from, {n});
          std::copy_n(want.bytes.begin(), expected.bytes.size(), expected.bytes.begin());
          copy({part.bytes.data(), &part.spec}, {const_cast<std::byte*>(source.bytes.data()), &spec});
          expect_same(part, expected,
                      std::string(short_name(from)) + " to " + std::string(short_name(to)) + " length " + std::to_string(n));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  set_isa(before);
}

TEST(Copy, MovesBetweenAnyStrides) {
  for (const Dims& sizes : {Dims{3, 45, 70}, Dims{70, 3}, Dims{2, 3, 4, 5}, Dims{1, 33}}) {
    const auto rank = sizes.size();
    const int64_t numel = product(sizes);
    std::vector<Dims> layouts = {contiguous_strides(sizes)};
    Dims reversed(rank, 1), gaps = contiguous_strides(sizes);
    for (size_t d = 1; d < rank; ++d) reversed[d] = reversed[d - 1] * sizes[d - 1];
    for (size_t d = 0; d < rank; ++d) gaps[d] *= 2;
    layouts.push_back(reversed);
    layouts.push_back(gaps);
    if (rank == 3) layouts.push_back({sizes[1] * sizes[2], 1, sizes[1]});
    for (auto [from, to] : {std::pair{kFloat32, kFloat32},
                            {kUInt8, kUInt8},
                            {kInt64, kInt64},
                            {kFloat16, kFloat16},
                            {kFloat32, kBFloat16},
                            {kInt16, kFloat64}}) {
      const HostTensor source = values(from, sizes);
      const HostTensor want = ir::cast(source, to);
      for (const Dims& in : layouts) {
        for (const Dims& out : layouts) {
          std::vector<std::byte> a(static_cast<size_t>(numel * 2 * element_size(from))),
              b(static_cast<size_t>(numel * 2 * element_size(to)));
          const TensorSpec in_spec(from, sizes, in, {}), out_spec(to, sizes, out, {});
          ir::scatter(source, a.data(), in_spec);
          copy({b.data(), &out_spec}, {a.data(), &in_spec});
          std::ostringstream what;
          what << in_spec << " to " << out_spec;
          expect_same(ir::gather(b.data(), out_spec), want, what.str());
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Copy, Broadcasts) {
  const HostTensor row = values(kFloat32, {1, 40}), column = values(kFloat32, {30, 1}), one = values(kFloat32, {});
  for (const HostTensor* source : {&row, &column, &one}) {
    for (ScalarType to : {kFloat32, kInt16, kFloat16}) {
      HostTensor out{TensorSpec(to, {30, 40})};
      copy({out.bytes.data(), &out.spec}, {const_cast<std::byte*>(source->bytes.data()), &source->spec});
      const HostTensor converted = ir::cast(*source, to);
      for (int64_t i = 0; i < 30; ++i)
        for (int64_t j = 0; j < 40; ++j) {
          const int64_t at = source == &row ? j : source == &column ? i : 0;
          const double a = out.get(i * 40 + j), b = converted.get(at);
          ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b)));
        }
    }
  }
}

TEST(Copy, NegativeStrides) {
  HostTensor source = values(kInt32, {100}), out(source.spec);
  const TensorSpec backwards(kInt32, {100}, {-1}, {});
  copy({out.bytes.data(), &out.spec}, {source.bytes.data() + 99 * 4, &backwards});
  for (int64_t i = 0; i < 100; ++i) ASSERT_EQ(out.get_int(i), source.get_int(99 - i));
}

TEST(Copy, LargeOnSeveralThreads) {
  const HostTensor source = values(kFloat32, {513, 700});
  HostTensor out{TensorSpec(kFloat32, {700, 513})};
  const TensorSpec transposed(kFloat32, {700, 513}, {1, 700}, {});
  copy({out.bytes.data(), &out.spec}, {const_cast<std::byte*>(source.bytes.data()), &transposed});
  for (int64_t i = 0; i < 700; ++i)
    for (int64_t j = 0; j < 513; ++j) {
      const double a = out.get(i * 513 + j), b = source.get(j * 700 + i);
      ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << i << " " << j;
    }
}

TEST(Fill, SetsEveryElementAndNoOther) {
  for (ScalarType type : kTypes) {
    for (const Scalar& value : {Scalar(1), Scalar(-2.5), Scalar(true), Scalar(300), Scalar(std::nan(""))}) {
      const TensorSpec spec(type, {5, 33}, {80, 2}, {});
      std::vector<std::byte> memory(static_cast<size_t>(400 * element_size(type)), std::byte{1}), before = memory;
      fill({memory.data(), &spec}, value);
      HostTensor want{TensorSpec(type, {5, 33})};
      for (int64_t i = 0; i < want.spec.numel(); ++i)
        value.is_floating_point() ? want.set(i, value.to_double()) : want.set_int(i, value.to_int());
      expect_same(ir::gather(memory.data(), spec), want, "fill");
      EXPECT_EQ(std::memcmp(memory.data() + element_size(type), before.data(), static_cast<size_t>(element_size(type))), 0);
      HostTensor dense{TensorSpec(type, {5, 33})};
      fill({dense.bytes.data(), &dense.spec}, value);
      expect_same(dense, want, "dense fill");
    }
  }
}

}  // namespace
}  // namespace tailor::kernels
