// The indexing kernels against the reference; wrong indices are refused before anything is written.

#include "ir/ops/indexing.h"

#include "kernels/sizes.h"
#include "move_case.h"
#include "runtime/thread_pool.h"

namespace tailor::testing {
namespace {

/// Indices in [low, high).
ir::HostTensor indices(ScalarType type, IntArrayRef sizes, int64_t low, int64_t high, unsigned seed) {
  ir::HostTensor t(ir::TensorSpec(type, sizes));
  std::mt19937 engine(seed);
  for (int64_t i = 0; i < t.spec.numel(); ++i) t.set_int(i, low + static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low)));
  return t;
}

/// Out of place against the reference; then in place, which must give the same and touch nothing else.
void expect_write_as_reference(const Case& c) {
  expect_as_reference(c);
  const ir::HostTensor want = reference_result(c);
  EXPECT_TRUE(same_bits(inplace_result(c), want)) << c.name << " in place";
}

TEST(Indexing, ReadsEveryDtypeAndLayout) {
  for_all_dtypes([](ScalarType type) {
    const ir::HostTensor values = random_values(type, {4, 5, 6}, 1);
    for (Strided x : {dense(values), permuted(values, {2, 0, 1}), spaced(values)}) {
      for (ScalarType index_type : {kInt64, kInt32}) {
        Strided i = dense(indices(index_type, {3, 2}, -4, 4, 1)), j = spaced(indices(index_type, {2}, -5, 5, 2)),
                k = dense(indices(index_type, {3, 1}, -6, 6, 3)), v = dense(indices(index_type, {7}, 0, 4, 4));
        expect_as_reference({"index", {x, i}, {}});
        expect_as_reference({"index", {x, std::nullopt, j}, {}});
        expect_as_reference({"index", {x, i, j}, {}});
        expect_as_reference({"index", {x, i, std::nullopt, k}, {}});
        expect_as_reference({"index", {x, std::nullopt, j, k}, {}});
        expect_as_reference({"index", {x, i, j, k}, {}});
        expect_as_reference({"index", {x, std::nullopt, std::nullopt}, {}});
        for (int64_t dim : {0, 1, -1}) expect_as_reference({"index_select", {x, v}, {dim}});
        Strided g = permuted(indices(index_type, {2, 3, 4}, 0, 4, 5), {1, 2, 0});
        for (int64_t dim : {0, 1, 2}) expect_as_reference({"gather", {x, g}, {dim}});
        Strided t = dense(indices(index_type, {3, 3}, -120, 120, 6));
        expect_as_reference({"take", {x, t}, {}});
      }
    }
    Strided weight = permuted(random_values(type, {10, 3}, 2), {1, 0}), rows = dense(indices(kInt64, {2, 4}, 0, 10, 7));
    expect_as_reference({"embedding", {weight, rows}, {}});
  });
}

TEST(Indexing, WritesEveryDtypeAndLayout) {
  for_all_dtypes([](ScalarType type) {
    const ir::HostTensor values = random_values(type, {4, 5, 6}, 1, Filling::Ties);
    for (Strided x : {dense(values), permuted(values, {2, 0, 1}), spaced(values)}) {
      Strided i = dense(indices(kInt64, {3, 2}, -4, 4, 1)), j = dense(indices(kInt64, {2}, -5, 5, 2));
      Strided row = dense(random_values(type, {6}, 2, Filling::Ties)), one = dense(random_values(type, {1, 1, 1, 1, 1}, 2, Filling::Ties));
      for (bool accumulate : {false, true}) {
        expect_write_as_reference({"index_put", {x, row, i, j}, {accumulate}});
        expect_write_as_reference({"index_put", {x, one, std::nullopt, j}, {accumulate}});
        expect_write_as_reference({"index_put", {x, Scalar(1), i}, {accumulate}});
      }
      Strided v = dense(indices(kInt32, {7}, 0, 4, 4)), source = spaced(random_values(type, {4, 7, 6}, 3, Filling::Ties));
      expect_write_as_reference({"index_add", {x, v, source, Scalar(2)}, {1}});
      expect_write_as_reference({"index_copy", {x, v, source}, {1}});
      expect_write_as_reference({"index_fill", {x, v, Scalar(3)}, {-1}});
      Strided g = permuted(indices(kInt64, {4, 3, 4}, 0, 4, 5), {1, 2, 0}), src = dense(random_values(type, {4, 5, 4}, 6, Filling::Ties));
      for (int64_t dim : {0, 1, 2}) {
        expect_write_as_reference({"scatter", {x, g, src}, {dim}});
        expect_write_as_reference({"scatter", {x, g, Scalar(1)}, {dim}});
        expect_write_as_reference({"scatter_add", {x, g, src}, {dim}});
        for (int64_t reduce = 0; reduce < 5; ++reduce)
          for (bool include_self : {true, false}) expect_write_as_reference({"scatter_reduce", {x, g, src}, {dim, reduce, include_self}});
      }
    }
  });
}

TEST(Indexing, LargeWritesDoNotDependOnThreads) {
  const ir::HostTensor values = random_values(kFloat32, {50, 300}, 1);
  Strided v = dense(indices(kInt64, {400}, 0, 50, 2)), source = dense(random_values(kFloat32, {400, 300}, 3));
  Strided g = dense(indices(kInt64, {400, 300}, 0, 50, 4));
  const int threads = get_num_threads();
  for (int n : {1, 4}) {
    set_num_threads(n);
    Strided x = dense(values);
    expect_as_reference({"index_add", {x, v, source, Scalar(1)}, {0}});
    expect_as_reference({"scatter_add", {x, g, source}, {0}});
    expect_as_reference({"index_put", {x, source, v}, {true}});
    expect_as_reference({"index_select", {source, v}, {0}});
    expect_as_reference({"gather", {x, g}, {0}});
  }
  set_num_threads(threads);
}

TEST(Indexing, ValuesThatOverlapTheResult) {
  // x[[1, 2, 3]] = x[0:3]: the values are those from before the write.
  Strided x = dense(floats({4, 2}, {1, 1, 2, 2, 3, 3, 4, 4})), i = dense(ints(kInt64, {3}, {1, 2, 3}));
  const ir::TensorSpec part(kFloat32, {3, 2});
  const kernels::Operand operands[] = {x.arg(), kernels::TensorArg{x.data(), &part}, i.arg()};
  const kernels::TensorArg outputs[] = {x.arg()};
  const ir::AttrRef attrs[] = {false};
  kernels::run({*ir::find_op("index_put"), operands, attrs, outputs});
  EXPECT_EQ(list(x.values()), (std::vector<double>{1, 1, 1, 1, 2, 2, 3, 3}));
}

TEST(Indexing, SizesThatDependOnData) {
  for_all_dtypes([](ScalarType type) {
    const ir::HostTensor values = random_values(type, {3, 4, 5}, 1, Filling::Ties);
    for (Strided x : {dense(values), permuted(values, {2, 0, 1}), spaced(values)}) {
      int64_t count = 0;
      for (double v : list(values)) count += v != 0;
      ASSERT_EQ(kernels::nonzero_count(x.arg()), count);
      expect_as_reference({"nonzero", {x}, {count}});
      Strided mask = spaced(random_values(kBool, {4, 1}, 3));
      const int64_t chosen = kernels::nonzero_count(mask.arg()) * 15;
      expect_as_reference({"masked_select", {x, mask}, {chosen}});
    }
  });
  Strided zero = dense(floats({}, {2}));
  EXPECT_EQ(infer({"nonzero", {zero}, {1}})[0].sizes, (Dims{1, 0}));
  Strided negative_zero = dense(floats({2}, {-0.0, NAN}, kFloat16));
  EXPECT_EQ(kernels::nonzero_count(negative_zero.arg()), 1);
  Strided repeats = dense(ints(kInt64, {3}, {1, 0, 4})), one = dense(ints(kInt64, {1}, {3}));
  EXPECT_EQ(kernels::repeat_interleave_size(repeats.arg(), 3), 5);
  EXPECT_EQ(kernels::repeat_interleave_size(one.arg(), 4), 12);
  EXPECT_EQ(kernels::class_count(repeats.arg()), 5);
  EXPECT_EQ(error_of([&] { kernel_result({"nonzero", {repeats}, {1}}); }), "nonzero: the data has 2 elements that are not zero, not 1");
  Strided mask = dense(ints(kBool, {3}, {1, 1, 0}));
  EXPECT_EQ(error_of([&] {
              kernel_result({"masked_select", {repeats, mask}, {3}});
            }),
            "masked_select: the mask has 2 true elements, not 3");
}

TEST(Indexing, OneHot) {
  Strided x = dense(ints(kInt64, {2, 2}, {0, 3, 1, 2}));
  expect_as_reference({"one_hot", {x}, {4}});
  EXPECT_EQ(error_of([&] { kernel_result({"one_hot", {x}, {3}}); }), "Class values must be smaller than num_classes.");
  Strided negative = dense(ints(kInt64, {1}, {-1}));
  EXPECT_EQ(error_of([&] { kernel_result({"one_hot", {negative}, {3}}); }), "Class values must be non-negative.");
}

/// Trap A42: both the kernel and the reference refuse, and operand 0 stays as it was.
void expect_refused(const Case& c, const std::string& text) {
  const ir::HostTensor before = c.args[0].tensor->values();
  EXPECT_EQ(error_of([&] { inplace_result(c); }), text) << c.name;
  EXPECT_TRUE(same_bits(c.args[0].tensor->values(), before)) << c.name << " wrote before it checked";
  EXPECT_EQ(error_of([&] { reference_result(c); }), text) << c.name << ", the reference";
}
void expect_read_refused(const Case& c, const std::string& text) {
  EXPECT_EQ(error_of([&] { kernel_result(c); }), text) << c.name;
  EXPECT_EQ(error_of([&] { reference_result(c); }), text) << c.name << ", the reference";
}

TEST(Indexing, WrongIndicesAreRefused) {
  Strided x2 = dense(floats({2}, {0, 0})), two = dense(ints(kInt64, {1}, {2}));
  expect_read_refused({"index", {x2, two}, {}}, "IndexError: index 2 is out of bounds for dimension 0 with size 2");
  expect_read_refused({"gather", {x2, two}, {0}}, "IndexError: index 2 is out of bounds for dimension 0 with size 2");
  expect_read_refused({"index_select", {x2, two}, {0}}, "IndexError: index out of range in self");
  expect_read_refused({"take", {x2, two}, {}}, "IndexError: out of range: tried to access index 2 on a tensor of 2 elements.");
  Strided x4 = dense(floats({4}, {1, 2, 3, 4})), i6 = dense(ints(kInt64, {6}, {0, 1, 0, 1, 2, -1})),
          s6 = dense(floats({6}, {1, 2, 3, 4, 5, 6}));
  expect_refused({"scatter_add", {x4, i6, s6}, {0}}, "IndexError: index -1 is out of bounds for dimension 0 with size 4");
  expect_refused({"scatter", {x4, i6, s6}, {0}}, "IndexError: index -1 is out of bounds for dimension 0 with size 4");
  expect_refused({"scatter_reduce", {x4, i6, s6}, {0, 2, false}}, "IndexError: index -1 is out of bounds for dimension 0 with size 4");
  Strided bad = dense(ints(kInt64, {2}, {0, 4})), pair = dense(floats({2}, {7, 8}));
  expect_refused({"index_put", {x4, pair, bad}, {false}}, "IndexError: index 4 is out of bounds for dimension 0 with size 4");
  Strided zeros = dense(floats({4, 3}, std::vector<double>(12, 0))), minus = dense(ints(kInt64, {2}, {0, -1})),
          ones = dense(floats({2, 3}, std::vector<double>(6, 1)));
  expect_refused({"index_add", {zeros, minus, ones, Scalar(1)}, {0}}, "IndexError: index out of range in self");
  expect_refused({"index_copy", {zeros, minus, ones}, {0}}, "IndexError: index out of range in self");
  expect_refused({"index_fill", {x4, bad, Scalar(1)}, {0}}, "IndexError: index 4 is out of bounds for dimension 0 with size 4");
  Strided weight = dense(floats({5, 2}, std::vector<double>(10, 1))), row = dense(ints(kInt64, {1}, {-2}));
  expect_read_refused({"embedding", {weight, row}, {}}, "IndexError: index out of range in self");
  Strided five = dense(floats({5}, {1, 2, 3, 4, 5})), last = dense(ints(kInt64, {1}, {-1}));
  EXPECT_EQ(list(kernel_result({"index", {five, last}, {}})), (std::vector<double>{5}));
}

TEST(Indexing, WithoutDimensionsAndEmpty) {
  Strided x = dense(floats({}, {3})), i = dense(ints(kInt64, {}, {0})), i1 = dense(ints(kInt64, {1}, {0})), v = dense(floats({}, {5}));
  expect_as_reference({"gather", {x, i}, {0}});
  expect_as_reference({"index_select", {x, i1}, {0}});
  expect_write_as_reference({"scatter", {x, i, v}, {0}});
  expect_write_as_reference({"scatter_add", {x, i, v}, {0}});
  expect_write_as_reference({"index_add", {x, i1, v, std::nullopt}, {0}});
  expect_as_reference({"take", {x, i}, {}});
  Strided e = dense(floats({0, 3}, {})), none = dense(ints(kInt64, {0}, {}));
  expect_as_reference({"index", {e, none}, {}});
  expect_as_reference({"index_select", {e, none}, {0}});
  expect_as_reference({"gather", {e, none}, {0}});
  Strided weight = dense(floats({5, 2}, std::vector<double>(10, 1)));
  expect_as_reference({"embedding", {weight, none}, {}});
  expect_as_reference({"embedding", {weight, i}, {}});
}

}  // namespace
}  // namespace tailor::testing
