// Everything that the library itself reads of sizes before it dispatches an op counts as a read of user code's: no composition may bake
// in a size of one call. Each is recorded in some sizes and must then do what eager does in all of them.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "support/expect.h"

namespace tailor {
namespace {

namespace F = nn::functional;
using Body = std::function<Tensor(const Tensor&)>;

/// Calls that did not run the body, so far: what is looked at here does happen.
uint64_t bound = 0;

/// In every size from 2 on, twice, in an order that meets each size both as a new one and as a seen one.
void expect_as_eager(const std::string& name, const Body& body, const std::vector<int64_t>& rest, int64_t step = 1) {
  auto f = compile([&](const Tensor& x) { return body(x); }, {.pure = true});
  for (int round = 0; round < 2; ++round) {
    for (const int64_t n : {6, 2, 3, 8, 4, 12, 5, 9, 16, 7}) {
      std::vector<int64_t> sizes = {n * step};
      sizes.insert(sizes.end(), rest.begin(), rest.end());
      const Tensor x = rand(sizes) + 0.5;
      const Tensor wanted = body(x), got = f(x);
      ASSERT_EQ(got.sizes(), wanted.sizes()) << name << ", size " << n * step;
      ASSERT_EQ(got.strides(), wanted.strides()) << name << ", size " << n * step;
      ASSERT_EQ(got.scalar_type(), wanted.scalar_type()) << name;
      ASSERT_TRUE(allclose(got.to(kFloat32), wanted.to(kFloat32), 1e-4, 1e-4)) << name << ", size " << n * step;
    }
  }
  EXPECT_FALSE(f.stats().pure_promise_broken) << name;
  bound += f.stats().sizes_bound;
}

TEST(SizeReads, CompositionsOfViews) {
  bound = 0;
  const std::pair<const char*, Body> bodies[] = {
      {"reshape", [](const Tensor& x) { return x.reshape({-1}) * 2; }},
      {"reshape of a transpose", [](const Tensor& x) { return x.transpose(0, 1).reshape({-1}) * 2; }},
      {"reshape of a slice", [](const Tensor& x) { return x.slice(1, 0, 2).reshape({-1}) * 2; }},
      {"reshape_as", [](const Tensor& x) { return x.reshape_as(x.t()) * 2; }},
      {"view_as", [](const Tensor& x) { return x.view_as(x.t().contiguous()) * 2; }},
      {"flatten", [](const Tensor& x) { return x.flatten() * 2; }},
      {"flatten of one dimension", [](const Tensor& x) { return x.flatten(1) * 2; }},
      {"ravel", [](const Tensor& x) { return x.t().ravel() * 2; }},
      {"unflatten",
       [](const Tensor& x) {
         return x.unflatten(1, {-1, 2}).sum(1);
       }},
      {"unflatten of what varies",
       [](const Tensor& x) {
         return x.flatten().unflatten(0, {-1, 4}) * 2;
       }},
      {"expand_as", [](const Tensor& x) { return x.sum(0).expand_as(x) + x; }},
      {"broadcast_to", [](const Tensor& x) { return broadcast_to(x.sum(0), x.sizes()) + x; }},
      {"broadcast_tensors",
       [](const Tensor& x) {
         return broadcast_tensors({x.sum(1, true), x.sum(0)})[0] * 2;
       }},
      {"split", [](const Tensor& x) { return cat(split(x, 3), 1 - 1) * 2; }},
      {"split of sizes",
       [](const Tensor& x) {
         return split(x, {1, x.sym_size(0) - 1})[1] * 2;
       }},
      {"chunk", [](const Tensor& x) { return chunk(x, 3)[0] * 2; }},
      {"unbind", [](const Tensor& x) { return stack(unbind(x), 1) * 2; }},
      {"squeeze", [](const Tensor& x) { return x.unsqueeze(1).squeeze() * 2; }},
      {"contiguous", [](const Tensor& x) { return x.t().contiguous() * 2; }},
      {"as_strided",
       [](const Tensor& x) {
         return (x * 2).as_strided({2, 2}, {1, 2}) + 1;
       }},
      {"narrow", [](const Tensor& x) { return x.narrow(0, 1, x.size(0) - 1) * 2; }},
      {"index",
       [](const Tensor& x) {
         return x.index({indexing::Slice(1, x.sym_size(0)), indexing::None}) * 2;
       }},
      {"index, integer", [](const Tensor& x) { return x.index({-1}) * 2; }},
      {"index_put_",
       [](const Tensor& x) {
         return x.clone().index_put_({indexing::Slice(0, 2)}, ones({1, 2, 4}));
       }},
      {"assigning",
       [](const Tensor& x) {
         const Tensor y = x.clone();
         y[0] = x[x.sym_size(0) - 1];
         return y * 2;
       }},
  };
  for (const auto& [name, body] : bodies) expect_as_eager(name, body, {4});
  EXPECT_GT(bound, 100u);
}

TEST(SizeReads, CompositionsThatCreate) {
  bound = 0;
  const std::pair<const char*, Body> bodies[] = {
      {"zeros_like", [](const Tensor& x) { return zeros_like(x) + x; }},
      {"zeros_like of a transpose", [](const Tensor& x) { return zeros_like(x.t()) + x.t(); }},
      {"full_like", [](const Tensor& x) { return full_like(x, 3) * x; }},
      {"empty_like", [](const Tensor& x) { return empty_like(x).zero_() + x; }},
      {"new_full", [](const Tensor& x) { return x.new_full({x.sym_size(0)}, x.sym_size(1)) * 2; }},
      {"full",
       [](const Tensor& x) {
         return full({2, 2}, x.sym_size(0)) + x.sum();
       }},
      {"arange", [](const Tensor& x) { return arange(1, x.sym_size(0), 2) * x[0][0]; }},
      {"arange, plain", [](const Tensor& x) { return arange(x.size(0)) * x[0][0]; }},
      {"arange, backwards", [](const Tensor& x) { return arange(x.sym_size(0), 0, -2) * x[0][0]; }},
      {"linspace", [](const Tensor& x) { return linspace(0, 1, x.sym_size(0)) * x[0][0]; }},
      {"eye", [](const Tensor& x) { return eye(x.sym_size(0)).matmul(x); }},
      {"tril_indices", [](const Tensor& x) { return tril_indices(x.sym_size(0), 3) * x[0][0]; }},
      {"meshgrid",
       [](const Tensor& x) {
         return meshgrid({x.sum(1), x.sum(0)}, "xy")[0] * 2;
       }},
      {"diag", [](const Tensor& x) { return x.sum(1).diag(1) * 2; }},
      {"diag of a matrix", [](const Tensor& x) { return x.diag(-1) * 2; }},
      {"tril", [](const Tensor& x) { return x.tril(x.sym_size(0) - 4) * 2; }},
      {"repeat",
       [](const Tensor& x) {
         return x.repeat({x.sym_size(0), 1}) * 2;
       }},
      {"repeat_interleave", [](const Tensor& x) { return x.repeat_interleave(2) * 2; }},
      {"roll", [](const Tensor& x) { return x.roll(x.sym_size(0) - 1, 0) * 2; }},
      {"hstack",
       [](const Tensor& x) {
         return hstack({x, x}) * 2;
       }},
      {"vstack",
       [](const Tensor& x) {
         return vstack({x.sum(1), x.sum(1)}) * 2;
       }},
      {"pad",
       [](const Tensor& x) {
         return pad(x, {1, x.sym_size(0)}) * 2;
       }},
      {"one_hot", [](const Tensor& x) { return one_hot(arange(x.sym_size(0)), x.size(0)) * x[0][0]; }},
      {"scatter",
       [](const Tensor& x) {
         return x.scatter(1, zeros({x.sym_size(0), 1}, kInt64), 5.0, "add");
       }},
      {"prelu", [](const Tensor& x) { return prelu(-x, x.sum(0)); }},
      {"clamp", [](const Tensor& x) { return x.mul(4).clamp(1, x.sym_size(0)); }},
      {"lerp", [](const Tensor& x) { return x.lerp(x * 2, x.sym_size(0)); }},
      {"where", [](const Tensor& x) { return where(x > 1, x.sym_size(0), x); }},
      {"masked_fill", [](const Tensor& x) { return x.masked_fill(x > 1, x.sym_size(0)); }},
      {"pow", [](const Tensor& x) { return x.pow(x.sym_size(0)); }},
      {"sub from a size", [](const Tensor& x) { return x.sym_size(0) - x; }},
      {"add with alpha", [](const Tensor& x) { return x.add(x.sym_size(0), 2); }},
      {"equal sizes as operands", [](const Tensor& x) { return x.clamp(x.sym_size(0), x.sym_size(0)) + x.sym_size(0); }},
      {"einsum of one", [](const Tensor& x) { return einsum("ij->ji", {x}) * 2; }},
      {"einsum",
       [](const Tensor& x) {
         return einsum("ij,kj->ik", {x, x});
       }},
  };
  for (const auto& [name, body] : bodies) expect_as_eager(name, body, {4});
  EXPECT_GT(bound, 100u);
}

TEST(SizeReads, CompositionsOfNetworks) {
  bound = 0;
  nn::Conv2d conv(nn::Conv2dOptions(3, 4, 3).padding(kSame));
  nn::BatchNorm2d norm(3);
  norm->eval();
  const Tensor index = randint(0, 5, {3});
  const std::pair<const char*, Body> bodies[] = {
      {"conv", [&](const Tensor& x) { return conv->forward(x); }},
      {"batch_norm", [&](const Tensor& x) { return norm->forward(x); }},
      {"instance_norm", [](const Tensor& x) { return F::instance_norm(x); }},
      {"layer_norm",
       [](const Tensor& x) {
         return F::layer_norm(x, F::LayerNormFuncOptions({8, 8}));
       }},
      {"group_norm", [](const Tensor& x) { return group_norm(x, 3); }},
      {"flatten", [](const Tensor& x) { return nn::Flatten()->forward(x) * 2; }},
      {"adaptive_avg_pool2d",
       [](const Tensor& x) {
         return adaptive_avg_pool2d(x, {2, 2});
       }},
      {"adaptive, one size kept",
       [](const Tensor& x) {
         return F::adaptive_avg_pool2d(x, F::AdaptiveAvgPool2dFuncOptions({std::nullopt, 2}));
       }},
      {"max_pool2d", [](const Tensor& x) { return max_pool2d(x, 2); }},
      {"interpolate",
       [](const Tensor& x) {
         return F::interpolate(x, F::InterpolateFuncOptions().scale_factor(std::vector<double>{2, 1.5}).mode(kNearest));
       }},
      {"dropout", [](const Tensor& x) { return dropout(x, 0.5, false) * 2; }},
      {"softmax", [](const Tensor& x) { return softmax(x, 0); }},
      {"attention", [](const Tensor& x) { return scaled_dot_product_attention(x, x, x); }},
      {"cross_entropy", [](const Tensor& x) { return x.flatten(1).log_softmax(1).sum(); }},
      {"pixel_shuffle",
       [](const Tensor& x) {
         return pixel_shuffle(cat({x, x, x, x}, 1), 2);
       }},
  };
  for (const auto& [name, body] : bodies) expect_as_eager(name, body, {3, 8, 8});
  // Pictures whose height varies, too.
  for (const auto& [name, body] : bodies) {
    if (std::string(name) == "layer_norm") continue;
    expect_as_eager(
        std::string(name) + ", height",
        [&](const Tensor& x) {
          return body(x.view({2, 3, -1, 8}));
        },
        {6, 8}, 2);
  }
  EXPECT_GT(bound, 100u);
}

// Whoever reaches a description past the noted reads says why that is sound.
TEST(SizeReads, NothingGoesPastThem) {
  const std::filesystem::path root = std::filesystem::path(TAILOR_TEST_DATA).parent_path().parent_path() / "frontend";
  int files = 0;
  for (const char* folder : {"ops", "nn", "io"}) {
    for (const auto& file : std::filesystem::directory_iterator(root / folder)) {
      if (file.path().extension() != ".cpp") continue;
      ++files;
      std::ifstream in(file.path());
      std::vector<std::string> lines;
      for (std::string line; std::getline(in, line);) lines.push_back(line);
      for (size_t i = 0; i < lines.size(); ++i) {
        const bool goes_past = lines[i].find("operand_impl(") != std::string::npos && lines[i].find(".spec") != std::string::npos;
        const bool raw = lines[i].find("impl_of(*") != std::string::npos && lines[i].find(".head()") != std::string::npos;
        if (!goes_past && !raw) continue;
        bool says_why = lines[i].find("// dtypes and ranks") != std::string::npos;
        for (size_t near = i > 4 ? i - 4 : 0; near < std::min(lines.size(), i + 3); ++near)
          says_why = says_why || lines[near].find("UnnotedReads") != std::string::npos;
        EXPECT_TRUE(says_why) << file.path().filename() << ":" << i + 1 << ": " << lines[i];
      }
    }
  }
  EXPECT_GT(files, 15);
}

}  // namespace
}  // namespace tailor
