// tailor run, dump: looking at graphs and at what becomes of them.

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "command.h"
#include "ir/graph.h"
#include "jit/executable.h"
#include "tailor/io.h"
#include "workloads/workload.h"

namespace tailor::tools {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  check(in.good() && in.peek() != std::ifstream::traits_type::eof(), "cannot read ", path, ", or it is empty");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

const bench::Workload& workload_of(const std::string& name) {
  for (const bench::Workload& workload : bench::workloads()) {
    if (workload.name == name) return workload;
  }
  for (const bench::Sequence& sequence : bench::sequences())
    check(sequence.name != name, name, " is a sequence of calls, compiled again and again; `tailor explain ", name, "` tells about it");
  detail::raise<Error>("no workload ", name, "; `tailor bench --list` names them");
}

Explanation explain_workload(const std::string& name) {
  manual_seed(0);
  const bench::Prepared prepared = workload_of(name).prepare();
  prepared.compiled();
  return prepared.explain();
}

// ---- run ------------------------------------------------------------------------------------------------------------

struct RunOptions {
  std::string graph, inputs, output, backend = "llvm";
};

jit::Backend backend_of(const std::string& name) {
  if (name == "interpreter") return jit::Backend::Interpreter;
  if (name == "loops") return jit::Backend::LoopInterpreter;
  return jit::Backend::Llvm;
}

/// The input of a placeholder: by its name, or by its number.
Tensor input_of(const std::map<std::string, Tensor>& tensors, const ir::Node& node, const ir::TensorSpec& spec, size_t number) {
  auto found = tensors.find(node.name);
  if (found == tensors.end()) found = tensors.find(std::to_string(number));
  check(found != tensors.end(), "no input for placeholder \"", node.name, "\" (nor under \"", number, "\")");
  const Tensor& tensor = found->second;
  check(tensor.scalar_type() == spec.dtype && tensor.sizes() == IntArrayRef(spec.sizes), "input \"", found->first, "\" is not the ",
        ir::to_string(spec), " that the graph wants");
  Tensor placed = empty_strided(spec.sizes, spec.strides, spec.dtype);
  placed.copy_(tensor);
  return placed;
}

Tensor view_of(const Tensor& tensor, const ir::TensorSpec& spec, int64_t offset) {
  return tensor.as_strided(spec.sizes, spec.strides, tensor.storage_offset() + offset);
}

int run_graph(const RunOptions& options) {
  const ir::Graph graph = ir::parse_graph(read_text(options.graph));
  ir::verify(graph);
  std::map<std::string, Tensor> tensors;
  if (!options.inputs.empty()) {
    for (const auto& [name, tensor] : io::load_safetensors(options.inputs)) tensors.emplace(name, tensor);
  }
  std::vector<Tensor> inputs;
  std::vector<int64_t> scalars;
  for (const ir::Node& node : graph.nodes) {
    if (node.kind == ir::NodeKind::Placeholder) inputs.push_back(input_of(tensors, node, graph.spec(node.outputs[0]), inputs.size()));
    if (node.kind == ir::NodeKind::Scalar) scalars.push_back(node.scalar.bits());
  }
  const auto executable = jit::compile(graph, {.backend = backend_of(options.backend)});
  std::vector<void*> in, out;
  for (const Tensor& tensor : inputs) in.push_back(tensor.data_ptr());
  std::vector<Tensor> outputs;
  for (const jit::OutputPlan& plan : executable->outputs()) {
    Tensor output;
    const int64_t offset = plan.offset_value(scalars);
    switch (plan.kind) {
      case jit::OutputPlan::Kind::Fresh:
        output = empty_strided(plan.spec.sizes, plan.spec.strides, plan.spec.dtype);
        out.push_back(output.data_ptr());
        break;
      case jit::OutputPlan::Kind::AliasInput: output = view_of(inputs.at(static_cast<size_t>(plan.index)), plan.spec, offset); break;
      case jit::OutputPlan::Kind::AliasOutput: output = view_of(outputs.at(static_cast<size_t>(plan.index)), plan.spec, offset); break;
    }
    outputs.push_back(std::move(output));
  }
  executable->run(in, scalars, out);
  for (size_t i = 0; i < outputs.size(); ++i) std::cout << "output " << i << '\n' << outputs[i] << '\n';
  if (!options.output.empty()) {
    std::map<std::string, Tensor> named;
    for (size_t i = 0; i < outputs.size(); ++i) named.emplace(std::to_string(i), outputs[i].contiguous());
    io::save_safetensors(options.output, named);
  }
  return 0;
}

// ---- dump -----------------------------------------------------------------------------------------------------------

void dump_workload(const std::string& name, const std::string& what) {
  const Explanation explanation = explain_workload(name);
  if (what == "guards") {
    for (const auto& guard : explanation.guards) {
      std::printf("%-12s %s%s%s\n", guard.kind.c_str(), guard.condition.c_str(), guard.source.empty() ? "" : "    # ",
                  guard.source.c_str());
    }
    return;
  }
  for (const auto& segment : explanation.segments) {
    if (what == "graph") {
      std::printf("%s\n", segment.graph.c_str());
    } else {
      const auto executable = jit::compile(ir::parse_graph(segment.graph), {});
      std::printf("%s\n", executable->dump(what).c_str());
    }
  }
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  auto* command = app.add_subcommand("run", "Compile a graph from its text form and run it");
  command->add_option("graph", options->graph, "File with the graph")->required()->type_name("FILE");
  command->add_option("--inputs", options->inputs, "safetensors file; tensors are named as the placeholders, or 0, 1, 2 ...")
      ->type_name("FILE");
  command->footer(
      "The text is what `tailor dump WORKLOAD` prints, and what TAILOR_LOGS=graph shows of your own functions:\n"
      "  tailor dump add_8 > add.ir; tailor run add.ir --inputs in.safetensors --output out.safetensors");
  command->add_option("--output", options->output, "Write the results, named 0, 1, 2 ..., to this safetensors file")->type_name("FILE");
  command->add_option("--backend", options->backend, "How to run it")->check(CLI::IsMember({"interpreter", "loops", "llvm"}));
  command->callback([options, &exit_code] { exit_code = run_graph(*options); });
}

void add_dump(CLI::App& app, int& exit_code) {
  auto name = std::make_shared<std::string>(), what = std::make_shared<std::string>("graph");
  auto* command = app.add_subcommand("dump", "Print what a workload is compiled to");
  command->add_option("workload", *name, "One that `tailor bench --list` names")->required();
  command->add_option("--emit", *what, "graph, guards, loops, llvm or asm")
      ->check(CLI::IsMember({"graph", "guards", "loops", "llvm", "asm"}));
  command->callback([name, what, &exit_code] {
    dump_workload(*name, *what);
    exit_code = 0;
  });
}

}  // namespace tailor::tools
