// An error of a public function names the line that called it, once, whoever finds the mistake: the function itself, a shape rule, a
// kernel, a composition of ops.

#include <gtest/gtest.h>

#include <functional>

#include "ir/located_error.h"
#include "tailor/tailor.h"

namespace tailor {
namespace {

struct Mistake {
  int line;
  std::function<void()> call;
};
#define MISTAKE(...)                       \
  Mistake {                                \
    __LINE__, [&] { (void)(__VA_ARGS__); } \
  }

void expect_lines(const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) {
    try {
      mistake.call();
      ADD_FAILURE() << "line " << mistake.line << " throws nothing";
    } catch (const Error& e) {
      const std::string text = e.what(), ending = ", at error_lines_test.cpp:" + std::to_string(mistake.line);
      EXPECT_TRUE(text.ends_with(ending)) << "line " << mistake.line << ": " << text;
      EXPECT_EQ(text.find(ending), text.rfind(ending)) << text;
    }
  }
}

TEST(ErrorLines, OfMistakesInArguments) {
  const Tensor x = arange(6, kFloat32).view({2, 3}), none;
  const auto at = [](int64_t n) { return tensor(std::vector<int64_t>{n}); };
  expect_lines({
      MISTAKE(x.size(5)),
      MISTAKE(x.stride(-3)),
      MISTAKE(x.sum(7)),
      MISTAKE(matmul(x, x)),
      MISTAKE(x.view({4})),
      MISTAKE(x.item()),
      MISTAKE(x.accessor<double, 2>()),
      MISTAKE(x.as_strided({10}, {1})),
      MISTAKE(narrow(x, 1, 2, 5)),
      MISTAKE(x.index({0, 0, 0})),
      MISTAKE(index_select(x, 0, at(5))),
      MISTAKE(x.scatter(0, at(0).view({1, 1}), 1.0, "subtract")),
      MISTAKE(cat({})),
      MISTAKE(chunk(x, 0)),
      MISTAKE(clamp(x)),
      MISTAKE(gelu(x, "none so far")),
      MISTAKE(div(x, 2, "up")),
      MISTAKE(dropout(x, 2.0, true)),
      MISTAKE(einsum("ab,bc->ac", {x})),
      MISTAKE(tensor({300}, kUInt8)),
      MISTAKE(cross_entropy_loss(x, tensor({0, 7}))),
      MISTAKE(softmax(arange(3), 0)),
      MISTAKE(nn::functional::interpolate(x)),
  });
}

TEST(ErrorLines, OfTensorsThatHoldNothing) {
  const Tensor x = ones({2, 3}), none;
  expect_lines({
      MISTAKE(none + x),
      MISTAKE(x * none),
      MISTAKE(relu(none)),
      MISTAKE(none.exp()),
      MISTAKE(matmul(x, none)),
      MISTAKE(cat({x, none})),
      MISTAKE(where(x > 0, x, none)),
      MISTAKE(none.size(0)),
      MISTAKE(none.sizes()),
      MISTAKE(none.numel()),
      MISTAKE(none.item<float>()),
      MISTAKE(Tensor(x.clone()).add_(none)),
  });
}

// The class of an error stays what it is, whatever it is told with.
TEST(ErrorLines, ErrorsStayWhatTheyAre) {
  const auto located = [](const auto& error) {
    try {
      throw error;
    } catch (const Error&) { ir::rethrow_at("model.cpp:3"); }
  };
  const auto expect = [&]<class E>(const E& error) {
    try {
      located(error);
    } catch (const Error& e) {
      EXPECT_EQ(typeid(e), typeid(E));
      EXPECT_STREQ(e.what(), "what, at model.cpp:3");
    }
  };
  expect(Error("what"));
  expect(IndexError("what"));
  expect(NotImplementedError("what"));
  expect(OutOfMemoryError("what"));
  expect(Error("what, at model.cpp:3"));
}

}  // namespace
}  // namespace tailor
