// The reduction kernels at every instruction set, against the reference: lengths, layouts, dtypes, NaN, ties, thread counts.
#include "kernel_case.h"
#include "runtime/thread_pool.h"

namespace tailor::testing {
namespace {

using ir::AttrRef;
using ir::HostTensor;

constexpr ScalarType kTypes[] = {kUInt8, kInt8, kInt16, kInt32, kInt64, kFloat16, kFloat32, kFloat64, kBool, kBFloat16};

struct Reduction {
  std::string_view op;
  std::vector<AttrRef> more;  // after `dim`
};
const Reduction kReductions[] = {{"sum", {false, std::nullopt}},
                                 {"prod", {true, std::nullopt}},
                                 {"amax", {false}},
                                 {"amin", {true}},
                                 {"any", {false}},
                                 {"all", {true}},
                                 {"argmax", {false}},
                                 {"argmin", {true}},
                                 {"max_dim", {false}},
                                 {"min_dim", {true}},
                                 {"mean", {false, std::nullopt}}};

bool takes(std::string_view op, ScalarType type) { return op != "mean" || is_floating_point(type); }
bool takes_lists(std::string_view op) { return op.find("arg") == op.npos && op.find("_dim") == op.npos; }
bool has_identity(std::string_view op) { return op == "sum" || op == "prod" || op == "any" || op == "all" || op == "mean"; }

void check_reduction(const Reduction& r, Strided& in, const AttrRef& dim, double count) {
  std::vector<AttrRef> attrs{dim};
  attrs.insert(attrs.end(), r.more.begin(), r.more.end());
  const auto got = run_kernel(r.op, {&in}, attrs), want = run_reference(r.op, {&in}, attrs);
  ASSERT_EQ(got.size(), want.size());
  const double tolerance = epsilon_of(in.spec().dtype) * (4 + 2 * std::sqrt(count)), scale = r.op == "sum" ? std::sqrt(count) : 1;
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(close(got[i], want[i], tolerance, scale)) << r.op << " of " << in.spec();
}

TEST(Reduce, EveryLengthOfARow) {
  at_every_isa([] {
    for (ScalarType type : kTypes)
      for (int64_t n = 0; n <= 70; ++n)
        for (const Reduction& r : kReductions) {
          if (!takes(r.op, type) || (n == 0 && !has_identity(r.op))) continue;
          Strided in = dense(random_values(type, {3, n}, static_cast<unsigned>(n), r.op == "prod" ? Filling::Small : Filling::Normal));
          check_reduction(r, in, int64_t{1}, static_cast<double>(n));
        }
  });
}

TEST(Reduce, EveryNumberOfColumns) {
  at_every_isa([] {
    for (ScalarType type : kTypes)
      for (int64_t n : {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 70, 130})
        for (int64_t rows : {1, 2, 9, 37})
          for (const Reduction& r : kReductions) {
            if (!takes(r.op, type)) continue;
            Strided in = dense(random_values(type, {rows, n}, static_cast<unsigned>(n), r.op == "prod" ? Filling::Small : Filling::Normal));
            check_reduction(r, in, int64_t{0}, static_cast<double>(rows));
          }
  });
}

TEST(Reduce, EveryLayout) {
  const std::vector<std::vector<size_t>> orders = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  const std::vector<std::vector<int64_t>> dims = {{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}};
  at_every_isa([&] {
    for (ScalarType type : {kFloat32, kInt64, kBFloat16, kUInt8})
      for (const Reduction& r : kReductions) {
        if (!takes(r.op, type)) continue;
        const HostTensor values = random_values(type, {5, 19, 34}, 7, r.op == "prod" ? Filling::Small : Filling::Ties);
        for (const auto& dim : dims) {
          if (dim.size() > 1 && !takes_lists(r.op)) continue;
          const AttrRef attr = dim.size() == 1 ? AttrRef(dim[0]) : AttrRef(dim);
          double count = 1;
          for (int64_t d : dim) count *= static_cast<double>(values.spec.size(d));
          for (const auto& order : orders) {
            Strided in = permuted(values, order);
            check_reduction(r, in, attr, count);
          }
          Strided in = spaced(values);
          check_reduction(r, in, attr, count);
        }
        if (r.op.find("_dim") != r.op.npos) continue;
        Strided in = permuted(values, {2, 0, 1});
        check_reduction(r, in, std::nullopt, static_cast<double>(values.spec.numel()));
      }
  });
}

TEST(Reduce, LargeShapes) {
  at_every_isa([] {
    for (const auto& [sizes, dim] : std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>>{{{300001}, {0}},
                                                                                                       {{70000, 5}, {0}},
                                                                                                       {{5000, 129}, {0}},
                                                                                                       {{3, 2100}, {0}},
                                                                                                       {{3, 70000}, {1}},
                                                                                                       {{40, 30, 50}, {0, 2}},
                                                                                                       {{2, 3, 40000}, {0, 2}},
                                                                                                       {{40000, 3, 2}, {0, 2}},
                                                                                                       {{300, 2, 1100}, {0, 1}}})
      for (const Reduction& r : kReductions) {
        if (dim.size() > 1 && !takes_lists(r.op)) continue;
        if (r.op == "prod") continue;
        Strided in = dense(random_values(kFloat32, sizes, 3));
        double count = 1;
        for (int64_t d : dim) count *= static_cast<double>(sizes[static_cast<size_t>(d)]);
        check_reduction(r, in, dim.size() == 1 ? AttrRef(dim[0]) : AttrRef(dim), count);
      }
  });
}

TEST(Reduce, NanWinsWhereverItIs) {
  at_every_isa([] {
    for (ScalarType type : {kFloat16, kBFloat16, kFloat32, kFloat64})
      for (const Reduction& r : kReductions) {
        if (r.op == "prod") continue;
        for (int64_t dim : {0, 1}) {
          Strided in = dense(random_values(type, {67, 83}, 11, Filling::WithNan));
          check_reduction(r, in, dim, 80);
        }
      }
    for (int64_t at : {0, 8, 16})
      for (std::string_view op : {"amax", "amin"}) {
        HostTensor x(ir::TensorSpec(kFloat32, {17}));
        for (int64_t i = 0; i < 17; ++i) x.set(i, i == at ? NAN : static_cast<double>(i));
        Strided in = dense(x);
        EXPECT_TRUE(std::isnan(run_kernel(op, {&in}, {std::nullopt, false})[0].get(0))) << op << " with NaN at " << at;
      }
  });
}

TEST(Reduce, FirstOfEqualElements) {
  at_every_isa([] {
    for (ScalarType type : kTypes)
      for (std::string_view op : {"argmax", "argmin"}) {
        HostTensor x(ir::TensorSpec(type, {100000}));
        for (int64_t i = 0; i < x.spec.numel(); ++i) x.set_int(i, 1);
        Strided in = dense(x);
        EXPECT_EQ(run_kernel(op, {&in}, {std::nullopt, false})[0].get_int(0), 0) << op << " of " << type;
      }
  });
}

TEST(Reduce, BroadcastElementsCountEachTime) {
  at_every_isa([] {
    HostTensor one(ir::TensorSpec(kInt64, {2}));
    one.set_int(0, 1), one.set_int(1, 2);
    Strided in(ir::TensorSpec(kInt64, {2, 3000000000}, {1, 0}, Device()));
    std::memcpy(in.data(), one.data<std::byte>(), 16);
    const HostTensor sums = run_kernel("sum", {&in}, {int64_t{1}, false, std::nullopt})[0];
    EXPECT_EQ(sums.get_int(0), 3000000000);
    EXPECT_EQ(sums.get_int(1), 6000000000);
    Strided plane(ir::TensorSpec(kInt64, {70000, 70000}, {0, 0}, Device()));
    std::memcpy(plane.data(), one.data<std::byte>(), 8);
    EXPECT_EQ(run_kernel("sum", {&plane}, {std::nullopt, false, std::nullopt})[0].get_int(0), 4900000000);
    Strided twos(ir::TensorSpec(kFloat32, {3, 5}, {1, 0}, Device()));
    for (int i = 0; i < 3; ++i) static_cast<float*>(twos.data())[i] = static_cast<float>(i + 1);
    EXPECT_EQ(run_kernel("prod", {&twos}, {int64_t{1}, false, std::nullopt})[0].get(2), 243);
  });
}

TEST(Reduce, ConvertsBeforeItAdds) {
  HostTensor x(ir::TensorSpec(kFloat32, {4}));
  for (int64_t i = 0; i < 4; ++i) x.set(i, 0.75 + static_cast<double>(i));
  Strided in = dense(x);
  EXPECT_EQ(run_kernel("sum", {&in}, {std::nullopt, false, kInt32})[0].get_int(0), 0 + 1 + 2 + 3);
  EXPECT_EQ(run_kernel("sum", {&in}, {std::nullopt, false, kFloat64})[0].get(0), 9);
  EXPECT_EQ(run_kernel("mean", {&in}, {std::nullopt, false, kFloat64})[0].get(0), 2.25);
  HostTensor u(ir::TensorSpec(kUInt8, {2}));
  u.set_int(0, 200), u.set_int(1, 200);
  Strided bytes = dense(u);
  EXPECT_EQ(run_kernel("sum", {&bytes}, {std::nullopt, false, std::nullopt})[0].get_int(0), 400);
  EXPECT_EQ(run_kernel("sum", {&bytes}, {std::nullopt, false, kUInt8})[0].get_int(0), 144);
}

TEST(Reduce, SameBitsForAnyNumberOfThreads) {
  const int threads = get_num_threads();
  for (const auto& [sizes, dim] : std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>>{
           {{1000003}, {0}}, {{100000, 7}, {0}}, {{2000, 300}, {0}}, {{2000, 300}, {1}}, {{50, 60, 70}, {0, 2}}}) {
    Strided in = dense(random_values(kFloat32, sizes, 5));
    set_num_threads(1);
    const HostTensor one = run_kernel("sum", {&in}, {dim, false, std::nullopt})[0];
    for (int n : {2, 3, 8}) {
      set_num_threads(n);
      EXPECT_EQ(run_kernel("sum", {&in}, {dim, false, std::nullopt})[0].bytes, one.bytes);
    }
  }
  set_num_threads(threads);
}

}  // namespace
}  // namespace tailor::testing
