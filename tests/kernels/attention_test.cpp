// Attention and the matrix product ops against their references and decompositions.
#include "ir/ops/contraction.h"
#include "kernels/kernel_case.h"
#include "runtime/thread_pool.h"

namespace tailor::testing {
namespace {

using Attrs = std::vector<ir::AttrRef>;
using Sizes = std::vector<int64_t>;
constexpr std::nullopt_t none = std::nullopt;

Strided in_layout(const ir::HostTensor& values, int layout) {
  std::vector<size_t> order(values.spec.sizes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
  if (layout == 2 && order.size() >= 3) {  // heads inside rows, as a transposed projection has them
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::swap(order[order.size() - 3], order[order.size() - 2]);
  }
  return layout == 0 ? dense(values) : layout == 1 ? spaced(values) : permuted(values, order);
}

void expect_attention(ScalarType type, const Sizes& q, const Sizes& k, const Sizes& v, const ir::HostTensor* mask, const Attrs& attrs) {
  const ir::HostTensor query = random_values(type, q, 1), key = random_values(type, k, 2), value = random_values(type, v, 3);
  for (int layout = 0; layout < 3; ++layout) {
    Strided a = in_layout(query, layout), b = in_layout(key, layout), c = in_layout(value, layout),
            m = mask ? in_layout(*mask, layout) : dense(query);
    const std::vector<Strided*> operands = {&a, &b, &c, mask ? &m : nullptr};
    const auto got = run_kernel("scaled_dot_product_attention", operands, attrs),
               want = run_reference("scaled_dot_product_attention", operands, attrs);
    EXPECT_TRUE(close(got[0], want[0], epsilon_of(type) * (is_half_type(type) ? 2 : 40), is_half_type(type) ? 0.3 : 1))
        << type << " " << query.spec << " layout " << layout;
  }
}

ir::HostTensor random_mask(ScalarType type, const Sizes& sizes) {
  ir::HostTensor mask = random_values(type, sizes, 9);
  const int64_t columns = sizes.back();
  for (int64_t i = 0; i < mask.spec.numel(); ++i) {
    const bool row_hidden = i / columns % 5 == 3;
    if (type == kBool)
      mask.set_int(i, !row_hidden && mask.get_int(i) != 0);
    else if (row_hidden || mask.get(i) > 1)
      mask.set(i, -INFINITY);
  }
  return mask;
}

TEST(Attention, EveryInstructionSet) {
  at_every_isa([] {
    for (const ScalarType type : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
      for (const int64_t l : {1, 5, 17, 70}) {
        expect_attention(type, {2, 3, l, 8}, {2, 3, 37, 8}, {2, 3, 37, 11}, nullptr, {false, none, false});
        expect_attention(type, {2, 3, l, 8}, {2, 3, l, 8}, {2, 3, l, 8}, nullptr, {true, none, false});
      }
      expect_attention(type, {2, 20, 8}, {2, 13, 8}, {2, 13, 8}, nullptr, {true, 0.3, false});
      expect_attention(type, {20, 8}, {33, 8}, {33, 8}, nullptr, {none, none, none});
      expect_attention(type, {1, 6, 9, 8}, {1, 2, 12, 8}, {1, 2, 12, 8}, nullptr, {false, none, true});
      expect_attention(type, {2, 3, 5, 8}, {1, 1, 7, 8}, {2, 1, 7, 8}, nullptr, {false, none, false});
      for (const ScalarType mask_type : {kBool, type}) {
        const ir::HostTensor full = random_mask(mask_type, {2, 3, 21, 40}), shared = random_mask(mask_type, {21, 40}),
                             row = random_mask(mask_type, {2, 1, 1, 40});
        for (const ir::HostTensor* mask : {&full, &shared, &row})
          expect_attention(type, {2, 3, 21, 8}, {2, 3, 40, 8}, {2, 3, 40, 8}, mask, {false, none, false});
      }
    }
  });
}

TEST(Attention, ResultsDoNotDependOnTheThreadCount) {
  const int threads = get_num_threads();
  Strided q = dense(random_values(kFloat32, {1, 3, 150, 16}, 1)), k = dense(random_values(kFloat32, {1, 3, 90, 16}, 2));
  std::vector<std::byte> first;
  for (const int n : {1, 2, 5}) {
    set_num_threads(n);
    const auto y = run_kernel("scaled_dot_product_attention", {&q, &k, &k, nullptr}, {true, none, false});
    if (first.empty()) first = y[0].bytes;
    EXPECT_EQ(first, y[0].bytes);
  }
  set_num_threads(threads);
}

std::string message(const char* name, std::vector<ir::TensorSpec> specs, const Attrs& attrs) {
  std::vector<ir::SpecOperand> operands;
  for (const ir::TensorSpec& s : specs) operands.emplace_back(&s);
  const ir::OpDef& op = *ir::find_op(name);
  try {
    op.infer(op, {operands, attrs});
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

TEST(AttentionErrors, AreTorchs) {
  const ir::TensorSpec q(kFloat32, {1, 2, 4, 8}), mask(kInt64, {4, 4});
  EXPECT_EQ(message("scaled_dot_product_attention", {q, q, q, q}, {true, none, false}),
            "scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  EXPECT_EQ(message("scaled_dot_product_attention", {q, q, q, mask}, {false, none, false}),
            "scaled_dot_product_attention: Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            "Long and  query.dtype: Float instead.");
}

void expect_product(std::string_view op, ScalarType type, const std::vector<Sizes>& sizes) {
  for (int layout = 0; layout < 3; ++layout) {
    std::vector<Strided> tensors;
    for (size_t i = 0; i < sizes.size(); ++i) tensors.push_back(in_layout(random_values(type, sizes[i], static_cast<unsigned>(i)), layout));
    std::vector<Strided*> operands;
    for (Strided& t : tensors) operands.push_back(&t);
    const auto got = run_kernel(op, operands, {}), want = run_reference(op, operands, {});
    EXPECT_TRUE(close(got[0], want[0], epsilon_of(type) * 12, is_half_type(type) ? 0.3 : 3)) << op << " " << type << " layout " << layout;
  }
}

TEST(Products, EveryOpAndDtype) {
  for (const ScalarType type : {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kInt32, kUInt8}) {
    expect_product("mm", type, {{7, 9}, {9, 21}});
    expect_product("mm", type, {{7, 0}, {0, 21}});
    expect_product("bmm", type, {{3, 7, 9}, {3, 9, 21}});
    expect_product("batched_mm", type, {{2, 1, 7, 9}, {1, 3, 9, 5}});
    for (const auto& [a, b] : std::vector<std::pair<Sizes, Sizes>>{{{9}, {9}},
                                                                   {{7, 9}, {9}},
                                                                   {{9}, {9, 4}},
                                                                   {{2, 3, 7, 9}, {9, 4}},
                                                                   {{2, 3, 7, 9}, {9}},
                                                                   {{9}, {2, 3, 9, 4}},
                                                                   {{7, 9}, {2, 3, 9, 4}},
                                                                   {{2, 1, 7, 9}, {3, 9, 4}},
                                                                   {{4, 1, 9}, {9, 6}}})
      expect_product("matmul", type, {a, b});
    expect_product("mv", type, {{7, 9}, {9}});
    expect_product("dot", type, {{33}, {33}});
    expect_product("addmm", type, {{21}, {7, 9}, {9, 21}});
    expect_product("addmm", type, {{7, 1}, {7, 9}, {9, 21}});
    expect_product("baddbmm", type, {{3, 1, 21}, {3, 7, 9}, {3, 9, 21}});
    expect_product("linear", type, {{5, 9}, {4, 9}, {4}});
    expect_product("linear", type, {{2, 3, 9}, {40, 9}, {40}});
    expect_product("linear", type, {{9}, {4, 9}});
    expect_product("linear", type, {{3, 9}, {9}});
    expect_product("linear", type, {{2, 3, 9}, {4, 9}, {3, 4}});
  }
}

TEST(Products, FactorsOfAddmm) {
  ir::HostTensor nan = random_values(kFloat32, {5}, 1);
  nan.set(0, NAN);
  Strided self = dense(nan), a = dense(random_values(kFloat32, {3, 4}, 2)), b = dense(random_values(kFloat32, {4, 5}, 3));
  for (const auto& [beta, alpha] : std::vector<std::pair<double, double>>{{0, 1}, {0, 2}, {2, 0.5}, {1, 3}}) {
    ir::TensorSpec spec(kFloat32, {3, 5});
    Strided out(spec);
    const kernels::Operand operands[] = {self.arg(), a.arg(), b.arg(), Scalar(beta), Scalar(alpha)};
    const kernels::TensorArg outputs[] = {out.arg()};
    kernels::run({*ir::find_op("addmm"), operands, {}, outputs});
    const ir::HostTensor x = self.values(), p = a.values(), q = b.values();
    const ir::HostOperand host[] = {&x, &p, &q, Scalar(beta), Scalar(alpha)};
    EXPECT_TRUE(close(out.values(), ir::evaluate(*ir::find_op("addmm"), host, {})[0], 1e-6)) << beta << " " << alpha;
  }
}

ir::HostTensor einsum(std::string_view equation, std::vector<ir::HostTensor> tensors) {
  std::vector<ir::HostOperand> operands;
  for (const ir::HostTensor& t : tensors) operands.emplace_back(&t);
  const std::vector<int64_t> text = ir::einsum_equation(equation);
  const ir::AttrRef attrs[] = {text};
  return ir::evaluate(*ir::find_op("einsum"), operands, attrs)[0];
}

TEST(Einsum, IsTheSumOfProducts) {
  const ir::HostTensor a = random_values(kFloat64, {3, 4}, 1), b = random_values(kFloat64, {4, 5}, 2),
                       c = random_values(kFloat64, {5, 3}, 3), s = random_values(kFloat64, {4, 4}, 4);
  const ir::HostTensor chain = einsum("ij,jk,ki->i", {a, b, c}), trace = einsum("ii", {s}), diagonal = einsum("ii->i", {s}),
                       transposed = einsum("ba", {a}), outer = einsum("i,j->ij", {diagonal, diagonal});
  ASSERT_EQ(chain.spec.sizes, (Dims{3}));
  for (int64_t i = 0; i < 3; ++i) {
    double want = 0;
    for (int64_t j = 0; j < 4; ++j)
      for (int64_t k = 0; k < 5; ++k) want += a.get(i * 4 + j) * b.get(j * 5 + k) * c.get(k * 3 + i);
    EXPECT_NEAR(chain.get(i), want, 1e-12);
  }
  EXPECT_NEAR(trace.get(0), s.get(0) + s.get(5) + s.get(10) + s.get(15), 1e-14);
  EXPECT_EQ(diagonal.get(2), s.get(10));
  EXPECT_EQ(transposed.get(1), a.get(4));
  EXPECT_EQ(outer.get(7), diagonal.get(1) * diagonal.get(3));
  const ir::HostTensor x = random_values(kFloat64, {2, 3, 4}, 5), y = random_values(kFloat64, {4, 6}, 6),
                       z = einsum("...j,jk->...k", {x, y});
  ASSERT_EQ(z.spec.sizes, (Dims{2, 3, 6}));
  double want = 0;
  for (int64_t j = 0; j < 4; ++j) want += x.get(5 * 4 + j) * y.get(j * 6 + 2);
  EXPECT_NEAR(z.get(5 * 6 + 2), want, 1e-12);
}

TEST(ProductErrors, AreTorchs) {
  const auto f = [](Sizes sizes) { return ir::TensorSpec(kFloat32, sizes); };
  EXPECT_EQ(message("mm", {f({3, 4}), f({3, 4})}, {}), "mm: mat1 and mat2 shapes cannot be multiplied (3x4 and 3x4)");
  EXPECT_EQ(message("matmul", {f({2, 3, 4}), f({5, 6})}, {}), "matmul: mat1 and mat2 shapes cannot be multiplied (6x4 and 5x6)");
  EXPECT_EQ(message("linear", {f({3, 4}), f({4, 5})}, {}), "linear: mat1 and mat2 shapes cannot be multiplied (3x4 and 5x4)");
  EXPECT_EQ(message("bmm", {f({3, 4}), f({4, 5})}, {}), "bmm: batch1 must be a 3D tensor, got 2D");
  EXPECT_EQ(message("dot", {f({3}), f({4})}, {}),
            "dot: inconsistent tensor size, expected tensor [3] and src [4] to have the same number of elements, but got 3 and 4 elements "
            "respectively");
  EXPECT_EQ(message("mm", {f({3, 4}), ir::TensorSpec(kFloat64, {4, 5})}, {}),
            "mm: expected both operands to have the same dtype, but got: Float and Double");
  EXPECT_EQ(message("addmm", {f({2, 5}), f({3, 4}), f({4, 5})}, {}),
            "The expanded size of the tensor (3) must match the existing size (2) at non-singleton dimension 0.  Target sizes: [3, 5].  "
            "Tensor sizes: [2, 5]");
  const std::vector<int64_t> repeated = ir::einsum_equation("ij->ijj"), unknown = ir::einsum_equation("i->ik"),
                             mismatch = ir::einsum_equation("ij,jk->ik");
  EXPECT_EQ(message("einsum", {f({3, 4})}, {repeated}), "einsum(): output subscript j appears more than once in the output");
  EXPECT_EQ(message("einsum", {f({3})}, {unknown}), "einsum(): output subscript k does not appear in the equation for any input operand");
  EXPECT_EQ(message("einsum", {f({3, 4}), f({3, 4})}, {mismatch}),
            "einsum(): subscript j has size 3 for operand 1 which does not broadcast with previously seen size 4");
}

}  // namespace
}  // namespace tailor::testing
