// Convolution kernels against the reference at every instruction set.
#include "ir/ops/conv.h"
#include "kernels/epilogue.h"
#include "kernels/kernel_case.h"
#include "runtime/thread_pool.h"

namespace tailor::testing {
namespace {

struct Case {
  const char* op;
  std::vector<int64_t> input, weight;
  std::vector<int64_t> stride, padding, dilation;
  int64_t groups = 1;
  bool bias = true;
  std::vector<int64_t> output_padding = {};
};

std::vector<ir::AttrRef> attributes(const Case& c) {
  const auto list = [](const std::vector<int64_t>& v) { return v.empty() ? ir::AttrRef() : ir::AttrRef(v); };
  if (std::string_view(c.op) == "conv_transpose2d")
    return {list(c.stride), list(c.padding), list(c.output_padding), c.groups, list(c.dilation)};
  return {list(c.stride), list(c.padding), list(c.dilation), c.groups};
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"conv2d", {2, 1, 8, 8}, {16, 1, 3, 3}, {}, {1, 1}, {}},
      {"conv2d", {3, 16, 8, 8}, {32, 16, 3, 3}, {}, {1}, {}},
      {"conv2d", {1, 3, 9, 40}, {5, 3, 3, 5}, {}, {}, {}},
      {"conv2d", {2, 4, 11, 13}, {6, 4, 3, 2}, {2, 3}, {1, 2}, {}},
      {"conv2d", {2, 4, 17, 33}, {6, 4, 1, 1}, {2, 2}, {}, {}, 1, false},
      {"conv2d", {2, 4, 9, 9}, {6, 4, 1, 1}, {}, {}, {}},
      {"conv2d", {1, 4, 12, 12}, {6, 2, 3, 3}, {}, {2, 1}, {2, 3}, 2},
      {"conv2d", {2, 6, 10, 10}, {6, 1, 3, 3}, {}, {1, 1}, {}, 6},
      {"conv2d", {2, 3, 10, 10}, {6, 1, 3, 3}, {2, 2}, {1, 1}, {}, 3, false},
      {"conv2d", {1, 2, 5, 6}, {3, 2, 2, 3}, {}, {0, 1, 1, 1}, {}},
      {"conv2d", {3, 7, 7}, {4, 3, 3, 3}, {}, {1, 1}, {}},
      {"conv2d", {1, 20, 20, 70}, {30, 20, 3, 3}, {}, {1, 1}, {}},
      {"conv2d", {0, 3, 7, 7}, {4, 3, 3, 3}, {}, {}, {}},
      {"conv2d", {1, 2, 30, 30}, {3, 2, 7, 7}, {3, 2}, {3, 3}, {}},
      {"conv1d", {2, 4, 50}, {6, 4, 5}, {}, {2}, {}},
      {"conv1d", {2, 4, 50}, {6, 2, 3}, {2}, {}, {3}, 2},
      {"conv1d", {4, 50}, {3, 4, 7}, {3}, {3}, {}},
      {"conv3d", {1, 2, 5, 6, 7}, {3, 2, 2, 3, 3}, {1, 2, 1}, {1, 0, 1}, {}},
      {"conv3d", {2, 2, 6, 5, 5}, {4, 1, 3, 3, 3}, {2, 1, 1}, {1, 1, 1}, {1, 2, 1}, 2},
      {"conv_transpose2d", {2, 4, 5, 6}, {4, 3, 3, 3}, {2, 2}, {1, 1}, {}, 1, true, {1, 1}},
      {"conv_transpose2d", {1, 4, 5, 6}, {4, 3, 2, 3}, {}, {}, {2, 1}, 2},
      {"conv_transpose2d", {4, 5, 6}, {4, 3, 3, 3}, {3, 2}, {1, 0}, {}, 1, false},
  };
  return all;
}

void expect_reference(const Case& c, ScalarType type, int layout) {
  const ir::HostTensor x = random_values(type, c.input, 1), w = random_values(type, c.weight, 2);
  const bool transposed = std::string_view(c.op) == "conv_transpose2d";
  const ir::HostTensor b = random_values(type, {transposed ? c.weight[1] * c.groups : c.weight[0]}, 3);
  std::vector<size_t> order(c.input.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
  Strided input = layout == 0   ? dense(x)
                  : layout == 1 ? spaced(x)
                                : permuted(x, order),
          weight = layout == 1 ? spaced(w) : dense(w), bias = layout == 1 ? spaced(b) : dense(b);
  const std::vector<Strided*> operands = {&input, &weight, c.bias ? &bias : nullptr};
  const auto got = run_kernel(c.op, operands, attributes(c)), want = run_reference(c.op, operands, attributes(c));
  const double terms = static_cast<double>(w.spec.numel()) / static_cast<double>(std::max<int64_t>(1, c.weight[0]));
  EXPECT_TRUE(close(got[0], want[0], epsilon_of(type) * (2 + std::sqrt(terms)), is_half_type(type) ? 0.1 : std::sqrt(terms)))
      << c.op << " layout " << layout << " " << type << " weight " << w.spec;
}

TEST(Conv, EveryCaseAtEveryInstructionSet) {
  at_every_isa([] {
    for (const Case& c : cases())
      for (int layout = 0; layout < 3; ++layout) expect_reference(c, kFloat32, layout);
  });
}

TEST(Conv, EveryDtype) {
  for (const Case& c : cases())
    for (const ScalarType type : {kFloat64, kFloat16, kBFloat16, kInt64, kInt32, kUInt8}) expect_reference(c, type, 0);
}

TEST(Conv, ResultsDoNotDependOnTheThreadCount) {
  const int threads = get_num_threads();
  for (const Case& c : cases()) {
    Strided x = dense(random_values(kFloat32, c.input, 1)), w = dense(random_values(kFloat32, c.weight, 2));
    std::vector<std::byte> first;
    for (const int n : {1, 2, 5}) {
      set_num_threads(n);
      const auto y = run_kernel(c.op, {&x, &w, nullptr}, attributes(c));
      if (first.empty()) first = y[0].bytes;
      EXPECT_EQ(first, y[0].bytes) << c.op;
    }
  }
  set_num_threads(threads);
}

// Of the same weights: laid out ahead, and with each call.
TEST(Conv, LaidOutWeightsGiveTheSameResults) {
  at_every_isa([] {
    for (const Case& c : cases())
      for (const ScalarType type : {kFloat32, kFloat64, kBFloat16, kInt32})
        for (const bool dense_weights : {true, false}) {
          const ir::OpDef& op = *ir::find_op(c.op);
          const kernels::Contraction* contraction = kernels::find_contraction(op);
          if (contraction == nullptr) continue;  // transposed
          const ir::HostTensor w = random_values(type, c.weight, 2);
          Strided x = dense(random_values(type, c.input, 1)), weight = dense_weights ? dense(w) : spaced(w);
          const std::vector<ir::AttrRef> attrs = attributes(c);
          const auto plain = run_kernel(c.op, {&x, &weight, nullptr}, attrs);
          Strided out(plain[0].spec);
          const kernels::Operand operands[] = {x.arg(), weight.arg(), {}};
          const kernels::TensorArg outputs[] = {out.arg()};
          kernels::Call call{op, operands, attrs, outputs};
          const std::string key = contraction->prepacking.key(call);
          EXPECT_EQ(key.empty(), type == kInt32);
          if (key.empty()) continue;
          const auto pack = contraction->prepacking.pack(call);
          call.prepacked = pack.get();
          contraction->kernel(call, {});
          EXPECT_EQ(out.values().bytes, plain[0].bytes) << c.op << " " << type;
          EXPECT_GE(pack->bytes(), w.spec.numel() * static_cast<int64_t>(type == kFloat64 ? 8 : 4));
        }
  });
}

TEST(Conv, NanReachesOnlyItsWindows) {
  ir::HostTensor values = random_values(kFloat32, {1, 1, 8, 8}, 1);
  values.set(0, NAN);
  Strided x = dense(values), w = dense(random_values(kFloat32, {2, 1, 3, 3}, 2));
  const auto y = run_kernel("conv2d", {&x, &w, nullptr}, {std::nullopt, 1, std::nullopt, 1});
  for (int64_t c = 0; c < 2; ++c)
    for (int64_t i = 0; i < 8; ++i)
      for (int64_t j = 0; j < 8; ++j) EXPECT_EQ(std::isnan(y[0].get((c * 8 + i) * 8 + j)), i < 2 && j < 2);
}

TEST(ConvErrors, AreTorchs) {
  const auto message = [](const char* name, std::vector<int64_t> input, std::vector<int64_t> weight,
                          std::vector<ir::AttrRef> attrs) -> std::string {
    const ir::TensorSpec x(kFloat32, input), w(kFloat32, weight);
    const ir::SpecOperand operands[] = {&x, &w, {}};
    const ir::OpDef& op = *ir::find_op(name);
    try {
      op.infer(op, {operands, attrs});
    } catch (const Error& e) { return e.what(); }
    return "no error";
  };
  const std::nullopt_t none = std::nullopt;
  EXPECT_EQ(
      message("conv2d", {1, 2, 6, 5}, {3, 3, 2, 2}, {none, none, none, 1}),
      "conv2d: Given groups=1, weight of size [3, 3, 2, 2], expected input[1, 2, 6, 5] to have 3 channels, but got 2 channels instead");
  EXPECT_EQ(message("conv2d", {1, 2, 6, 5}, {3, 2, 3, 2}, {0, none, none, 1}), "conv2d: non-positive stride is not supported");
  EXPECT_EQ(message("conv2d", {1, 2, 6, 5}, {3, 2, 3, 2}, {none, -1, none, 1}), "conv2d: negative padding is not supported");
  EXPECT_EQ(message("conv2d", {1, 2, 6, 5}, {3, 2, 3, 2}, {none, none, 0, 1}), "conv2d: dilation should be greater than zero");
  EXPECT_EQ(message("conv2d", {1, 2, 6, 5}, {3, 2, 3, 2}, {none, none, none, 2}),
            "conv2d: Given groups=2, expected weight to be divisible by 2 at dimension 0, but got weight of size [3, 2, 3, 2] instead");
  EXPECT_EQ(message("conv2d", {1, 2, 2, 5}, {3, 2, 3, 2}, {none, none, none, 1}),
            "conv2d: Calculated padded input size per channel: (2 x 5). Kernel size: (3 x 2). Kernel size can't be greater than actual "
            "input size");
  EXPECT_EQ(message("conv_transpose2d", {1, 2, 6, 5}, {2, 3, 3, 3}, {none, none, 2, 1, none}),
            "conv_transpose2d: output padding must be smaller than either stride or dilation, but got output_padding_height: 2 "
            "stride_height: 1 dilation_height: 1 output_padding_width: 2 stride_width: 1 dilation_width: 1");
  const int64_t two[] = {2, 3}, one[] = {1, 1};
  EXPECT_EQ(ir::conv_padding("same", IntArrayRef(one, 2), IntArrayRef(two, 2), IntArrayRef(one, 2)), (Dims{0, 1, 1, 1}));
  EXPECT_THROW(ir::conv_padding("same", IntArrayRef(two, 2), IntArrayRef(two, 2), IntArrayRef(one, 2)), Error);
}

}  // namespace
}  // namespace tailor::testing
