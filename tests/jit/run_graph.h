#pragma once
// Runs one graph by a back end on given inputs, the way the frontend does: outputs allocated or aliased as the plan says.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ir/host_tensor.h"
#include "ir/interpreter.h"
#include "jit/executable.h"

namespace tailor::jit::testing {

/// Memory with a watermark behind it, to catch writes past the end.
class Guarded {
 public:
  explicit Guarded(const ir::TensorSpec& spec)
      : used_(static_cast<size_t>(ir::extent_of(spec) * element_size(spec.dtype))), bytes_(used_ + kMargin * 2 + 64, std::byte{0x5a}) {
    const auto address = reinterpret_cast<uintptr_t>(bytes_.data());
    start_ = (address + 63) / 64 * 64 - address + kMargin;
  }
  std::byte* data() { return bytes_.data() + start_; }
  void check() const {
    for (size_t i = 0; i < kMargin; ++i) {
      ASSERT_EQ(bytes_[start_ - 1 - i], std::byte{0x5a}) << "written before the start";
      ASSERT_EQ(bytes_[start_ + used_ + i], std::byte{0x5a}) << "written past the end";
    }
  }

 private:
  static constexpr size_t kMargin = 128;
  size_t used_;
  std::vector<std::byte> bytes_;
  size_t start_ = 0;
};

struct Result {
  std::vector<ir::HostTensor> outputs;
  std::vector<ir::HostTensor> inputs;  // after the run
};

inline std::vector<int64_t> scalar_bits(const ir::Graph& graph) {
  std::vector<int64_t> bits;
  for (const ir::Node& node : graph.nodes)
    if (node.kind == ir::NodeKind::Scalar) bits.push_back(node.scalar.bits());
  return bits;
}

inline Result run(const Executable& exe, const ir::Graph& graph, const std::vector<ir::HostTensor>& inputs) {
  std::vector<Guarded> memory;
  memory.reserve(inputs.size() + exe.outputs().size());
  std::vector<void*> in, out;
  std::vector<ir::TensorSpec> specs;
  for (const ir::Node& node : graph.nodes)
    if (node.kind == ir::NodeKind::Placeholder) {
      specs.push_back(graph.spec(node.outputs[0]));
      memory.emplace_back(specs.back());
      ir::scatter(inputs[in.size()], memory.back().data(), specs.back());
      in.push_back(memory.back().data());
    }
  for (const OutputPlan& plan : exe.outputs()) {
    if (plan.kind != OutputPlan::Kind::Fresh) {
      out.push_back(nullptr);
      continue;
    }
    const ir::TensorSpec whole(kInt8, {plan.storage_bytes()});
    memory.emplace_back(whole);
    out.push_back(memory.back().data());
  }
  const std::vector<int64_t> scalars = scalar_bits(graph);
  exe.run(in, scalars, out);
  Result result;
  std::vector<std::byte*> first;
  for (size_t i = 0; i < exe.outputs().size(); ++i) {
    const OutputPlan& plan = exe.outputs()[i];
    const void* base = plan.kind == OutputPlan::Kind::Fresh        ? out[i]
                       : plan.kind == OutputPlan::Kind::AliasInput ? in[static_cast<size_t>(plan.index)]
                                                                   : first[static_cast<size_t>(plan.index)];
    first.push_back(static_cast<std::byte*>(const_cast<void*>(base)) + plan.offset_value(scalars) * element_size(plan.spec.dtype));
    result.outputs.push_back(ir::gather(first[i], plan.spec));
  }
  for (size_t i = 0; i < in.size(); ++i) result.inputs.push_back(ir::gather(in[i], specs[i]));
  for (const Guarded& g : memory) g.check();
  return result;
}

inline Result run(const ir::Graph& graph, const std::vector<ir::HostTensor>& inputs, Backend backend) {
  CompileOptions options;
  options.backend = backend;
  return run(*compile(graph, options), graph, inputs);
}

/// Random values that suit the dtype.
inline ir::HostTensor random_tensor(const ir::TensorSpec& spec, std::mt19937& random) {
  ir::HostTensor t(spec);
  std::uniform_real_distribution<double> real(-3, 3);
  for (int64_t i = 0; i < spec.numel(); ++i) {
    if (is_floating_point(spec.dtype))
      t.set(i, real(random));
    else if (spec.dtype == kBool)
      t.set_int(i, static_cast<int64_t>(random() & 1));
    else
      t.set_int(i, static_cast<int64_t>(random() % 7) - (is_signed(spec.dtype) ? 3 : 0));
  }
  return t;
}

inline std::vector<ir::HostTensor> random_inputs(const ir::Graph& graph, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<ir::HostTensor> inputs;
  for (const ir::Node& node : graph.nodes)
    if (node.kind == ir::NodeKind::Placeholder) inputs.push_back(random_tensor(graph.spec(node.outputs[0]), random));
  return inputs;
}

/// `tolerance` 0: the same bits (any NaN equals any NaN); else relative to the magnitude of the expected value.
inline void expect_equal(const ir::HostTensor& got, const ir::HostTensor& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(got.spec.dtype, expected.spec.dtype) << what;
  ASSERT_EQ(got.spec.sizes, expected.spec.sizes) << what;
  const auto width = static_cast<size_t>(element_size(got.spec.dtype));
  for (int64_t i = 0; i < got.spec.numel(); ++i) {
    if (std::memcmp(got.bytes.data() + static_cast<size_t>(i) * width, expected.bytes.data() + static_cast<size_t>(i) * width, width) == 0)
      continue;
    const double a = got.get(i), b = expected.get(i);
    if (std::isnan(a) && std::isnan(b)) continue;
    ASSERT_GT(tolerance, 0) << what << ": element " << i << " is " << a << ", expected " << b;
    ASSERT_LE(std::abs(a - b), tolerance * (1 + std::abs(b))) << what << ": element " << i << " is " << a << ", expected " << b;
  }
}

inline const char* backend_name(Backend backend) {
  switch (backend) {
    case Backend::Eager: return "eager";
    case Backend::Interpreter: return "interpreter";
    case Backend::LoopInterpreter: return "loops";
    case Backend::Llvm: return "llvm";
  }
  return "";
}

/// Runs the graph by every back end and compares with the interpreter, effects on inputs included.
inline void check_backends(const ir::Graph& graph, double tolerance = 0, uint32_t seed = 1) {
  ir::verify(graph);
  const std::vector<ir::HostTensor> inputs = random_inputs(graph, seed);
  const Result expected = run(graph, inputs, Backend::Interpreter);
  for (Backend backend : {Backend::LoopInterpreter, Backend::Llvm, Backend::Eager}) {
    SCOPED_TRACE(std::string(backend_name(backend)) + " of\n" + ir::print(graph));
    const Result got = run(graph, inputs, backend);
    ASSERT_EQ(got.outputs.size(), expected.outputs.size());
    for (size_t i = 0; i < got.outputs.size(); ++i)
      expect_equal(got.outputs[i], expected.outputs[i], tolerance, "output " + std::to_string(i));
    for (size_t i = 0; i < got.inputs.size(); ++i) expect_equal(got.inputs[i], expected.inputs[i], tolerance, "input " + std::to_string(i));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

inline void check_backends(std::string_view text, double tolerance = 0) { check_backends(ir::parse_graph(text), tolerance); }

}  // namespace tailor::jit::testing
