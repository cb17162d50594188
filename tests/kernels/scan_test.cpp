// Scans and sorts against the reference: every layout, dtype and direction; ties, NaN, long runs.
#include "kernel_case.h"

namespace tailor::testing {
namespace {

using ir::AttrRef;
using ir::HostTensor;

constexpr ScalarType kTypes[] = {kUInt8, kInt8, kInt16, kInt32, kInt64, kFloat16, kFloat32, kFloat64, kBool, kBFloat16};

void check_scan(std::string_view op, Strided& in, const std::vector<AttrRef>& attrs) {
  const auto got = run_kernel(op, {&in}, attrs), want = run_reference(op, {&in}, attrs);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(close(got[i], want[i], epsilon_of(got[i].spec.dtype))) << op << " of " << in.spec() << ", output " << i;
}

template <class F>
void for_each_layout(const HostTensor& values, F&& f) {
  for (const auto& order : std::vector<std::vector<size_t>>{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}}) {
    Strided in = permuted(values, order);
    f(in);
  }
  Strided in = spaced(values);
  f(in);
}

TEST(Scan, RunningSumsAndExtrema) {
  for (ScalarType type : kTypes)
    for (Filling filling : {Filling::Ties, Filling::WithNan})
      for_each_layout(random_values(type, {3, 17, 20}, 2, filling), [&](Strided& in) {
        for (int64_t dim : {0, 1, -1}) {
          check_scan("cumsum", in, {dim, std::nullopt});
          check_scan("cumprod", in, {dim, std::nullopt});
          check_scan("cummax", in, {dim});
          check_scan("cummin", in, {dim});
          if (is_floating_point(type)) check_scan("logcumsumexp", in, {dim});
        }
      });
  Strided in = dense(random_values(kFloat32, {3, 40}, 2));
  check_scan("cumsum", in, {int64_t{1}, kFloat64});
  check_scan("cumsum", in, {int64_t{1}, kInt32});
  Strided wide = dense(random_values(kFloat32, {5, 700}, 2));
  check_scan("cumsum", wide, {int64_t{0}, std::nullopt});
}

TEST(Scan, SortsAreStable) {
  for (ScalarType type : kTypes)
    for (Filling filling : {Filling::Ties, Filling::WithNan})
      for_each_layout(random_values(type, {3, 17, 20}, 3, filling), [&](Strided& in) {
        for (int64_t dim : {0, 1, -1})
          for (bool descending : {false, true}) {
            check_scan("sort", in, {dim, descending, true});
            check_scan("argsort", in, {dim, descending, false});
            check_scan("topk", in, {int64_t{2}, dim, descending, true});
            if (descending) continue;
            const auto got = run_kernel("median_dim", {&in}, {dim, false}), want = run_reference("median_dim", {&in}, {dim, false});
            EXPECT_TRUE(close(got[0], want[0], 0)) << "median of " << in.spec();
          }
        EXPECT_TRUE(close(run_kernel("median", {&in}, {})[0], run_reference("median", {&in}, {})[0], 0)) << "median of " << in.spec();
      });
}

TEST(Scan, LongRuns) {
  for (ScalarType type : {kFloat32, kInt64, kInt32, kUInt8, kBFloat16}) {
    Strided in = dense(random_values(type, {2, 5000}, 4, Filling::WithNan));
    for (bool descending : {false, true}) {
      check_scan("sort", in, {int64_t{1}, descending, true});
      check_scan("topk", in, {int64_t{100}, int64_t{1}, descending, true});
    }
  }
}

TEST(Scan, SmallestCases) {
  for (std::string_view op : {"sort", "argsort"}) {
    Strided point = dense(random_values(kFloat32, {}, 1)), none = dense(random_values(kFloat32, {0, 3}, 1));
    check_scan(op, point, {int64_t{0}, false, true});
    check_scan(op, none, {int64_t{0}, false, true});
  }
  Strided point = dense(random_values(kFloat32, {}, 1));
  check_scan("topk", point, {int64_t{1}, int64_t{0}, true, true});
  check_scan("cumsum", point, {int64_t{-1}, std::nullopt});
  Strided none = dense(random_values(kFloat32, {0}, 1));
  EXPECT_TRUE(std::isnan(run_kernel("median", {&none}, {})[0].get(0)));
}

}  // namespace
}  // namespace tailor::testing
