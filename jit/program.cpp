#include "jit/program.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "ir/choices.h"
#include "ir/host_tensor.h"
#include "ir/passes/passes.h"
#include "jit/ahead.h"
#include "jit/batch_last.h"
#include "jit/concatenate.h"
#include "jit/fold_affine.h"
#include "jit/lower.h"
#include "jit/regroup_products.h"
#include "kernels/epilogue.h"
#include "runtime/log.h"
#include "runtime/trace.h"

namespace tailor::jit {

using ir::Graph;
using ir::MemoryMap;
using ir::Node;
using ir::NodeKind;
using ir::ValueId;

namespace {

/// Bytes of results from which on they are stored past the caches.
constexpr int64_t kLargeResult = 8 << 20;

class Clock {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return ms;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

class Lowerer {
 public:
  Lowerer(const Graph& graph, const CompileOptions& options) : options_(options) {
    const bool eager = options.backend == Backend::Eager;
    const TraceSpan span("passes", "passes");
    out_.report.ops = static_cast<int>(graph.nodes.size());
    if (eager) {
      out_.graph = ir::decompose(graph, [](const Graph&, const Node& n) { return kernels::find_kernel(*n.op) != nullptr; });
    } else {
      out_.graph = ir::optimize(graph, [](const Graph&, const Node& n) { return is_called_whole(n); });
      if (options.fold_weights) out_.graph = fold_affine(out_.graph, steady_inputs(out_.graph, options.lasting));
      out_.graph = write_parts_in_place(put_batch_last(regroup_products(std::move(out_.graph))));
      if (options.fold_weights) ahead_ = nodes_ahead(out_.graph, steady_inputs(out_.graph, options.lasting));
    }
    out_.report.passes_ms = clock_.lap();
  }

  Program run() {
    const TraceSpan span("lower", "fuse and lower");
    number_inputs();
    lower_groups();
    plan_ = plan_memory(out_.graph, *memory_, out_.groups, scalar_index_);
    out_.outputs = std::move(plan_.outputs);
    out_.blocks = std::move(plan_.blocks);
    launch();
    out_.report.kernels = static_cast<int>(out_.launches.size());
    out_.report.lower_ms = clock_.lap();
    return std::move(out_);
  }

 private:
  const Graph& graph() const { return out_.graph; }

  void number_inputs() {
    memory_.emplace(graph());
    scalar_index_.assign(graph().values.size(), -1);
    for (const Node& node : graph().nodes) {
      if (node.kind == NodeKind::Scalar) scalar_index_[static_cast<size_t>(node.outputs[0])] = out_.scalars++;
      if (node.kind == NodeKind::Placeholder) ++out_.inputs;
    }
  }

  // What runs once is not worth code of its own. But large weights between one op and the next would be kept with the result.
  std::set<int> calls_ahead() const {
    constexpr int64_t kLarge = int64_t{1} << 16;
    std::set<int> calls = ahead_;
    for (const int n : ahead_) {
      const Node& node = graph().nodes[static_cast<size_t>(n)];
      if (kernels::find_kernel(*node.op) == nullptr) calls.erase(n);
      for (const ir::Value& v : node.operands) {
        const int from = v.is_tensor() ? graph().values[static_cast<size_t>(v.tensor)].node : -1;
        if (ahead_.contains(from) && ir::choose(graph().spec(v.tensor).numel() > kLarge)) calls.erase(n), calls.erase(from);
      }
    }
    return calls;
  }

  // Fuses, and again with a group cut in two while it cannot be lowered.
  void lower_groups() {
    FuseOptions fuse_options;
    fuse_options.alone = options_.backend == Backend::Eager;
    if (fuse_options.alone)
      for (size_t i = 0; i < graph().nodes.size(); ++i) fuse_options.library.insert(static_cast<int>(i));
    int parts = 0;
    if (!ahead_.empty()) ++parts;
    for (const int n : ahead_) fuse_options.part[n] = parts;
    if (!fuse_options.alone)
      for (const int n : calls_ahead()) fuse_options.library.insert(n);
    std::set<int> plain;
    for (;;) {
      out_.groups = fuse(graph(), *memory_, fuse_options);
      if (!fuse_options.alone) attach_tails(graph(), *memory_, plain, out_.groups);
      out_.nests.clear();
      tails_.clear();
      nest_of_.assign(out_.groups.size(), -1);
      bool again = false;
      for (size_t g = 0; g < out_.groups.size(); ++g) {
        Group& group = out_.groups[g];
        if (group.library) continue;
        nest_of_[g] = static_cast<int>(out_.nests.size());
        try {
          if (group.anchor < 0) {
            out_.nests.push_back(lower(graph(), *memory_, group, scalar_index_));
            continue;
          }
          LoweredTail& tail = tails_[g] = lower_tail(graph(), *memory_, group, scalar_index_);
          out_.nests.push_back(std::move(tail.nest));
          const ValueId own = graph().nodes[static_cast<size_t>(group.anchor)].outputs[0];
          if (tail.result == own) group.stored.push_back(own);
        } catch (const LoweringError&) {
          again = true;
          if (group.anchor >= 0) {
            plain.insert(group.anchor);
            continue;
          }
          if (group.nodes.size() == 1) fuse_options.library.insert(group.nodes[0]);
          ++parts;
          for (size_t i = group.nodes.size() / 2; i < group.nodes.size(); ++i) fuse_options.part[group.nodes[i]] = parts;
        }
      }
      if (!again) break;
    }
    choose_stores();
  }

  // Large results that no later launch reads go past the caches.
  void choose_stores() {
    std::set<ValueId> read_later;
    for (size_t g = out_.groups.size(); g-- > 0;) {
      if (nest_of_[g] >= 0) {
        LoweredNest& lowered = out_.nests[static_cast<size_t>(nest_of_[g])];
        int64_t bytes = 0;
        bool read = false;
        for (const NestMemory& m : lowered.memory)
          if (m.written)
            bytes += ir::extent_of(graph().spec(m.root)) * element_size(graph().spec(m.root).dtype), read |= read_later.contains(m.root);
        for (const Expr& e : lowered.nest.exprs)
          if (e.kind == ExprKind::Load) read |= lowered.memory[static_cast<size_t>(e.access.buffer)].written;
        lowered.nest.nontemporal = !read && ir::choose(bytes >= kLargeResult);
      }
      for (int n : out_.groups[g].nodes)
        for (const ir::Value& v : graph().nodes[static_cast<size_t>(n)].operands)
          if (v.is_tensor()) read_later.insert(memory_->root(v.tensor));
    }
  }

  Pointer pointer(const NestMemory& m, ScalarType type) const {
    Pointer p;
    const Location& at = plan_.of[static_cast<size_t>(m.root)];
    p.byte_offset = m.byte_offset;
    switch (at.kind) {
      case Location::Kind::None: internal_check(false, "a value without memory is used"); break;
      case Location::Kind::Input: p.base = at.index; break;
      case Location::Kind::Output: p.base = out_.inputs + at.index; break;
      case Location::Kind::Arena: p.base = out_.arena_base(), p.place = at.index; break;
      case Location::Kind::Constant: p = constant(at.index), p.byte_offset = m.byte_offset; break;
    }
    if (m.offset_scalar >= 0) {
      p.scalar = scalar_index_[static_cast<size_t>(m.offset_scalar)];
      p.width = static_cast<int>(element_size(type));
    }
    return p;
  }

  Pointer constant(int node) const {
    Pointer p;
    p.base = out_.arena_base() + 1;
    p.place = node;
    return p;
  }

  LibraryLaunch::Argument tensor(ValueId v) const {
    LibraryLaunch::Argument a;
    a.kind = LibraryLaunch::Argument::Kind::Tensor;
    a.spec = graph().spec(v);
    a.pointer = pointer({memory_->root(v), memory_->byte_offset(v), memory_->offset_scalar(v), false}, a.spec.dtype);
    return a;
  }

  void launch() {
    for (ValueId v : plan_.initialized) {
      LibraryLaunch copy = call("copy_");
      LibraryLaunch::Argument source = tensor(v), target = source;
      source.pointer = constant(graph().values[static_cast<size_t>(v)].node);
      copy.operands = {target, source};
      copy.outputs = {target};
      out_.launches.emplace_back(std::move(copy));
    }
    for (size_t g = 0; g < out_.groups.size(); ++g) {
      out_.ahead.resize(out_.launches.size(), false);
      if (out_.groups[g].library)
        out_.launches.emplace_back(library_launch(graph().nodes[static_cast<size_t>(out_.groups[g].nodes[0])]));
      else if (out_.groups[g].anchor >= 0)
        launch_contraction(g);
      else
        launch_nest(static_cast<size_t>(nest_of_[g]));
      out_.ahead.resize(out_.launches.size(), ahead_.contains(out_.groups[g].nodes.front()));
    }
    for (const OutputCopy& c : plan_.copies) {
      LibraryLaunch copy = call("copy_");
      LibraryLaunch::Argument target;
      target.kind = LibraryLaunch::Argument::Kind::Tensor;
      target.spec = graph().spec(c.from);
      target.pointer.base = out_.inputs + c.output;
      copy.operands = {target, tensor(c.from)};
      copy.outputs = {target};
      out_.launches.emplace_back(std::move(copy));
    }
    out_.ahead.resize(out_.launches.size(), false);
  }

  static LibraryLaunch call(std::string_view op) {
    LibraryLaunch launch;
    launch.op = ir::find_op(op);
    internal_check(launch.op != nullptr, "no op ", op);
    launch.kernel = kernels::find_kernel(*launch.op);
    return launch;
  }

  // `in`: a value of the same elements whose memory takes the (only) result.
  LibraryLaunch library_launch(const Node& node, ValueId in = -1) const {
    LibraryLaunch launch;
    launch.op = node.op;
    launch.kernel = kernels::find_kernel(*node.op);
    if (node.source) launch.where = node.source.str();
    launch.attrs = node.attrs;
    launch.refs.assign(launch.attrs.begin(), launch.attrs.end());
    for (const ir::Value& v : node.operands) {
      LibraryLaunch::Argument& a = launch.operands.emplace_back();
      if (v.is_scalar()) {
        a.kind = LibraryLaunch::Argument::Kind::Scalar;
        a.scalar = v.scalar;
      } else if (v.is_tensor() && graph().node_of(v.tensor).kind == NodeKind::Scalar) {
        a.kind = LibraryLaunch::Argument::Kind::Parameter;
        a.scalar = graph().node_of(v.tensor).scalar;
        a.parameter = scalar_index_[static_cast<size_t>(v.tensor)];
      } else if (v.is_tensor()) {
        a = tensor(v.tensor);
      }
    }
    for (ValueId v : node.outputs) {
      LibraryLaunch::Argument& a = launch.outputs.emplace_back(tensor(in >= 0 ? in : v));
      a.spec = graph().spec(v);
    }
    return launch;
  }

  void launch_contraction(size_t group) {
    const LoweredTail& tail = tails_.at(group);
    const Node& node = graph().nodes[static_cast<size_t>(out_.groups[group].anchor)];
    const kernels::Contraction& contraction = *kernels::find_contraction(*node.op);
    ContractionLaunch launch;
    launch.kernel = contraction.kernel;
    launch.call = library_launch(node, tail.result);
    launch.tail = nest_launch(static_cast<size_t>(nest_of_[group]));
    launch.shifts = tail.shifts;
    const kernels::ResultExtents extents = kernels::result_extents(contraction.layout, launch.call.outputs[0].spec.sizes);
    launch.rows = extents.rows;
    launch.columns = extents.columns;
    out_.launches.emplace_back(std::move(launch));
  }

  NestLaunch nest_launch(size_t index) const {
    const LoweredNest& lowered = out_.nests[index];
    NestLaunch launch;
    launch.index = static_cast<int>(index);
    Pointer nothing;
    nothing.base = out_.arena_base() + 1;
    for (size_t b = 0; b < lowered.memory.size(); ++b)
      launch.buffers.push_back(lowered.memory[b].root < 0 ? nothing : pointer(lowered.memory[b], lowered.nest.buffers[b].dtype));
    return launch;
  }

  void launch_nest(size_t index) {
    const LoweredNest& lowered = out_.nests[index];
    const LoopNest& nest = lowered.nest;
    NestLaunch launch = nest_launch(index);
    for (const LoopDim& d : nest.dims)
      if (!d.inner && d.extent.value == 0) return;
    const auto outermost = std::find_if(nest.dims.begin(), nest.dims.end(), [](const LoopDim& d) { return !d.inner; });
    if (outermost != nest.dims.end()) launch.extent = outermost->extent.value;
    launch.work = lowered.work;
    launch.whole_vectors = outermost != nest.dims.end() && outermost - nest.dims.begin() == nest.vector_dim;
    out_.launches.emplace_back(std::move(launch));
  }

  const CompileOptions options_;
  Clock clock_;
  Program out_;
  std::set<int> ahead_;  // nodes that weights are computed by
  MemoryPlan plan_;
  std::optional<MemoryMap> memory_;
  std::vector<int> scalar_index_, nest_of_;
  std::map<size_t, LoweredTail> tails_;  // by group
};

}  // namespace

Program lower_program(const Graph& graph, const CompileOptions& options) { return Lowerer(graph, options).run(); }

void log_program(const Program& program) {
  const std::string& tag = program.graph.name;
  if (log_enabled(LogChannel::Graph)) log_here(LogChannel::Graph, tag, "after passes:\n" + ir::print(program.graph));
  if (log_enabled(LogChannel::Fusion)) {
    for (const Group& g : program.groups) {
      std::string text = g.library ? "library call:" : g.anchor >= 0 ? "contraction:" : "loop nest:";
      for (int n : g.nodes) text += " " + std::string(program.graph.nodes[static_cast<size_t>(n)].op->name);
      log_here(LogChannel::Fusion, tag, text);
    }
  }
  if (!log_enabled(LogChannel::Code)) return;
  std::string text;
  for (const LoweredNest& n : program.nests) text += to_string(n.nest);
  log_here(LogChannel::Code, tag, text);
}

}  // namespace tailor::jit
