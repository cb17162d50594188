#include "jit/executable.h"

#include "ir/host_tensor.h"
#include "ir/interpreter.h"
#include "jit/fold_affine.h"
#include "jit/launch_list.h"
#include "runtime/log.h"

namespace tailor::jit {

using ir::Graph;
using ir::MemoryMap;
using ir::Node;
using ir::NodeKind;

namespace {

// Runs the graph by the reference interpreter.
class Interpreted final : public Executable {
 public:
  explicit Interpreted(const Graph& graph) : graph_(graph) {
    const MemoryMap memory(graph_);
    std::vector<int> scalar_index(graph_.values.size(), -1);
    int scalars = 0;
    for (const Node& node : graph_.nodes)
      if (node.kind == NodeKind::Scalar) scalar_index[static_cast<size_t>(node.outputs[0])] = scalars++;
    plans_ = plan_memory(graph_, memory, {}, scalar_index).outputs;
    report_.ops = static_cast<int>(graph_.nodes.size());
  }
  void run(std::span<void* const> inputs, std::span<const int64_t> scalars, std::span<void* const> outputs,
           const Prepared*) const override {
    std::vector<tailor::Scalar> numbers;
    for (const Node& node : graph_.nodes)
      if (node.kind == NodeKind::Scalar) numbers.push_back(tailor::Scalar::from_bits(node.scalar.kind(), scalars[numbers.size()]));
    const std::vector<ir::MemoryTensor> results = ir::interpret_memory(graph_, inputs, numbers);
    for (size_t i = 0; i < results.size(); ++i)
      if (plans_[i].kind == OutputPlan::Kind::Fresh) copy_out(plans_[i], results[i], scalars, static_cast<std::byte*>(outputs[i]));
  }
  // All of the memory that the output is a part of: other outputs may look at the rest.
  static void copy_out(const OutputPlan& plan, const ir::MemoryTensor& result, std::span<const int64_t> scalars, std::byte* to) {
    const int64_t offset = plan.offset_value(scalars) * element_size(plan.spec.dtype);
    if (plan.memory_bytes >= 0)
      std::memcpy(to, result.data - offset, static_cast<size_t>(plan.memory_bytes));
    else
      ir::scatter(ir::gather(result.data, result.spec), to + offset, plan.spec);
  }
  std::span<const OutputPlan> outputs() const override { return plans_; }
  const CompileReport& report() const override { return report_; }
  std::string dump(std::string_view what) const override { return what == "graph" ? ir::print(graph_) : std::string(); }

 private:
  Graph graph_;
  std::vector<OutputPlan> plans_;
  CompileReport report_;
};

}  // namespace

std::shared_ptr<const Prepared> Executable::prepare(std::span<void* const>, std::span<const ValueIdentity>) const {
  return std::make_shared<Prepared>();
}

std::shared_ptr<const Executable> compile(const Graph& graph, const CompileOptions& options) {
  if (options.backend == Backend::Interpreter) return std::make_shared<Interpreted>(graph);
  const auto compiled = std::make_shared<CompiledProgram>();
  compiled->program = lower_program(graph, options);
  compile_kernels(*compiled, options);
  log_program(compiled->program);
  Program& program = compiled->program;
  std::vector<Launch> launches = std::move(program.launches);
  const auto list = std::make_shared<LaunchList>(compiled, std::move(launches), program.outputs, program.blocks,
                                                 steady_inputs(program.graph, options.lasting));
  list->find_weights();
  if (log_enabled(LogChannel::Code, LogLevel::Debug)) log_here(LogChannel::Code, graph.name, list->dump("llvm"), LogLevel::Debug);
  return list;
}

}  // namespace tailor::jit
