#include "jit/executable.h"

#include <array>
#include <chrono>
#include <map>
#include <set>
#include <variant>

#include "ir/host_tensor.h"
#include "ir/interpreter.h"
#include "ir/passes/passes.h"
#include "jit/arena.h"
#include "jit/concatenate.h"
#include "jit/contraction.h"
#include "jit/kernel_cache.h"
#include "jit/launch.h"
#include "jit/lower.h"
#include "jit/memory_plan.h"
#include "kernels/epilogue.h"
#include "runtime/log.h"

namespace tailor::jit {

using ir::Graph;
using ir::MemoryMap;
using ir::Node;
using ir::NodeKind;
using ir::ValueId;

namespace {

/// Work (element operations) that is worth a range of its own on another thread.
constexpr int64_t kWorkPerRange = 32 * 1024;
/// Bytes of results from which on they are stored past the caches.
constexpr int64_t kLargeResult = 8 << 20;
/// Cuts fall on whole vectors and cache lines.
constexpr int64_t kGrainMultiple = 64;

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

using Launch = std::variant<NestLaunch, LibraryLaunch, ContractionLaunch>;

class LaunchList final : public Executable {
 public:
  void run(std::span<void* const> inputs, std::span<const int64_t> scalars, std::span<void* const> outputs) const override {
    constexpr size_t kInline = 48;
    std::array<std::byte*, kInline> few;
    std::vector<std::byte*> many;
    std::byte** bases = few.data();
    const size_t count = inputs.size() + plan_.outputs.size() + 2;
    if (count > kInline) {
      many.resize(count);
      bases = many.data();
    }
    std::byte** base = bases;
    for (void* p : inputs) *base++ = static_cast<std::byte*>(p);
    for (size_t i = 0; i < plan_.outputs.size(); ++i) *base++ = i < outputs.size() ? static_cast<std::byte*>(outputs[i]) : nullptr;
    const ArenaLease arena(static_cast<size_t>(plan_.arena_bytes));
    *base++ = arena.data();
    *base = nullptr;
    for (const Launch& launch : launches_) std::visit([&](const auto& l) { l.run(bases, scalars.data()); }, launch);
  }
  std::span<const OutputPlan> outputs() const override { return plan_.outputs; }
  const CompileReport& report() const override { return report_; }
  std::string dump(std::string_view what) const override {
    if (what == "graph") return ir::print(graph_);
    if (what == "loops") {
      std::string text;
      for (const LoweredNest& n : nests_) text += to_string(n.nest);
      return text;
    }
    check(what == "llvm" || what == "asm", "dump: expected graph, loops, llvm or asm, got ", what);
    std::string text;
    for (const auto& module : modules_) text += module->dump(what == "llvm" ? "ir" : "asm");
    return text;
  }

 private:
  friend class Compiler;
  Graph graph_;
  MemoryPlan plan_;
  std::vector<Launch> launches_;
  std::vector<LoweredNest> nests_;
  std::vector<std::shared_ptr<const CompiledModule>> modules_;
  CompileReport report_;
};

class Compiler {
 public:
  Compiler(const Graph& graph, const CompileOptions& options) : options_(options) {
    const bool eager = options.backend == Backend::Eager;
    exe_->report_.ops = static_cast<int>(graph.nodes.size());
    exe_->graph_ = eager ? ir::decompose(graph, [](const Graph&, const Node& n) { return kernels::find_kernel(*n.op) != nullptr; })
                         : write_parts_in_place(ir::optimize(graph, [](const Graph&, const Node& n) { return is_called_whole(n); }));
    exe_->report_.passes_ms = clock_.lap();
  }

  std::shared_ptr<const Executable> compile() {
    number_inputs();
    lower_groups();
    exe_->plan_ = plan_memory(exe_->graph_, *memory_, groups_, scalar_index_);
    exe_->report_.arena_bytes = exe_->plan_.arena_bytes;
    exe_->report_.lower_ms = clock_.lap();
    emit();
    launch();
    log_steps();
    return exe_;
  }

 private:
  const Graph& graph() const { return exe_->graph_; }

  void number_inputs() {
    memory_.emplace(graph());
    scalar_index_.assign(graph().values.size(), -1);
    int scalars = 0;
    for (const Node& node : graph().nodes) {
      if (node.kind == NodeKind::Scalar) scalar_index_[static_cast<size_t>(node.outputs[0])] = scalars++;
      if (node.kind == NodeKind::Placeholder) ++inputs_;
    }
  }

  // Fuses, and again with a group cut in two while it cannot be lowered.
  void lower_groups() {
    FuseOptions fuse_options;
    fuse_options.alone = options_.backend == Backend::Eager;
    if (fuse_options.alone)
      for (size_t i = 0; i < graph().nodes.size(); ++i) fuse_options.library.insert(static_cast<int>(i));
    int parts = 0;
    std::set<int> plain;
    for (;;) {
      groups_ = fuse(graph(), *memory_, fuse_options);
      if (!fuse_options.alone) attach_tails(graph(), *memory_, plain, groups_);
      exe_->nests_.clear();
      tails_.clear();
      nest_of_.assign(groups_.size(), -1);
      bool again = false;
      for (size_t g = 0; g < groups_.size(); ++g) {
        Group& group = groups_[g];
        if (group.library) continue;
        nest_of_[g] = static_cast<int>(exe_->nests_.size());
        try {
          if (group.anchor < 0) {
            exe_->nests_.push_back(lower(graph(), *memory_, group, scalar_index_));
            continue;
          }
          LoweredTail& tail = tails_[g] = lower_tail(graph(), *memory_, group, scalar_index_);
          exe_->nests_.push_back(std::move(tail.nest));
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
    for (size_t g = groups_.size(); g-- > 0;) {
      if (nest_of_[g] >= 0) {
        LoweredNest& lowered = exe_->nests_[static_cast<size_t>(nest_of_[g])];
        int64_t bytes = 0;
        bool read = false;
        for (const NestMemory& m : lowered.memory)
          if (m.written)
            bytes += ir::extent_of(graph().spec(m.root)) * element_size(graph().spec(m.root).dtype), read |= read_later.contains(m.root);
        for (const Expr& e : lowered.nest.exprs)
          if (e.kind == ExprKind::Load) read |= lowered.memory[static_cast<size_t>(e.access.buffer)].written;
        lowered.nest.nontemporal = bytes >= kLargeResult && !read;
      }
      for (int n : groups_[g].nodes)
        for (const ir::Value& v : graph().nodes[static_cast<size_t>(n)].operands)
          if (v.is_tensor()) read_later.insert(memory_->root(v.tensor));
    }
  }

  void emit() {
    kernels_.resize(exe_->nests_.size(), nullptr);
    if (options_.backend != Backend::Llvm || exe_->nests_.empty()) return;
    std::vector<const LoopNest*> nests;
    for (const LoweredNest& n : exe_->nests_) nests.push_back(&n.nest);
    EmitOptions emit;
    emit.fast_math = options_.fast_math;
    Kernels found = find_or_compile(nests, emit);
    kernels_ = std::move(found.functions);
    exe_->modules_ = std::move(found.modules);
    if (found.fresh == nullptr) return;
    exe_->report_.llvm_ms = found.fresh->times().emit_ms + found.fresh->times().llvm_ms;
    exe_->report_.link_ms = found.fresh->times().link_ms;
    exe_->report_.code_bytes = found.fresh->code_bytes();
  }

  void log_steps() const {
    const std::string& tag = graph().name;
    if (log_enabled(LogChannel::Graph)) log(LogChannel::Graph, tag, "after passes:\n" + ir::print(graph()));
    if (log_enabled(LogChannel::Fusion)) {
      for (const Group& g : groups_) {
        std::string text = g.library ? "library call:" : g.anchor >= 0 ? "contraction:" : "loop nest:";
        for (int n : g.nodes) text += " " + std::string(graph().nodes[static_cast<size_t>(n)].op->name);
        log(LogChannel::Fusion, tag, text);
      }
    }
    if (log_enabled(LogChannel::Code)) log(LogChannel::Code, tag, exe_->dump("loops"));
  }

  Pointer pointer(const NestMemory& m, ScalarType type) const {
    Pointer p;
    const Location& at = exe_->plan_.of[static_cast<size_t>(m.root)];
    const auto outputs = static_cast<int>(exe_->plan_.outputs.size());
    p.byte_offset = m.byte_offset;
    switch (at.kind) {
      case Location::Kind::None: internal_check(false, "a value without memory is used"); break;
      case Location::Kind::Input: p.base = at.index; break;
      case Location::Kind::Output: p.base = inputs_ + at.index; break;
      case Location::Kind::Arena:
        p.base = inputs_ + outputs;
        p.byte_offset += at.byte_offset;
        break;
      case Location::Kind::Constant:
        p.base = inputs_ + outputs + 1;
        p.byte_offset += reinterpret_cast<int64_t>(graph().nodes[static_cast<size_t>(at.index)].constant->bytes.data());
        break;
    }
    if (m.offset_scalar >= 0) {
      p.scalar = scalar_index_[static_cast<size_t>(m.offset_scalar)];
      p.width = element_size(type);
    }
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
    for (ValueId v : exe_->plan_.initialized) {
      LibraryLaunch copy = call("copy_");
      LibraryLaunch::Argument source = tensor(v), target = source;
      source.pointer = {inputs_ + static_cast<int>(exe_->plan_.outputs.size()) + 1,
                        reinterpret_cast<int64_t>(graph().node_of(v).constant->bytes.data()), -1, 0};
      copy.operands = {target, source};
      copy.outputs = {target};
      exe_->launches_.emplace_back(std::move(copy));
    }
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].library)
        exe_->launches_.emplace_back(library_launch(graph().nodes[static_cast<size_t>(groups_[g].nodes[0])]));
      else if (groups_[g].anchor >= 0)
        launch_contraction(g);
      else
        launch_nest(static_cast<size_t>(nest_of_[g]));
    }
    for (const OutputCopy& c : exe_->plan_.copies) {
      LibraryLaunch copy = call("copy_");
      LibraryLaunch::Argument target;
      target.kind = LibraryLaunch::Argument::Kind::Tensor;
      target.spec = graph().spec(c.from);
      target.pointer.base = inputs_ + c.output;
      copy.operands = {target, tensor(c.from)};
      copy.outputs = {target};
      exe_->launches_.emplace_back(std::move(copy));
    }
    exe_->report_.kernels = static_cast<int>(exe_->launches_.size());
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
    const Node& node = graph().nodes[static_cast<size_t>(groups_[group].anchor)];
    const kernels::Contraction& contraction = *kernels::find_contraction(*node.op);
    ContractionLaunch launch;
    launch.kernel = contraction.kernel;
    launch.call = library_launch(node, tail.result);
    launch.tail = nest_launch(static_cast<size_t>(nest_of_[group]));
    launch.shifts = tail.shifts;
    launch.rows = kernels::result_extents(contraction.layout, launch.call.outputs[0].spec.sizes).rows;
    exe_->launches_.emplace_back(std::move(launch));
  }

  NestLaunch nest_launch(size_t index) const {
    const LoweredNest& lowered = exe_->nests_[index];
    NestLaunch launch;
    launch.kernel = kernels_[index];
    launch.nest = &lowered.nest;
    for (size_t b = 0; b < lowered.memory.size(); ++b)
      launch.buffers.push_back(lowered.memory[b].root < 0 ? Pointer{inputs_ + static_cast<int>(exe_->plan_.outputs.size()) + 1, 0, -1, 0}
                                                          : pointer(lowered.memory[b], lowered.nest.buffers[b].dtype));
    return launch;
  }

  void launch_nest(size_t index) {
    const LoweredNest& lowered = exe_->nests_[index];
    NestLaunch launch = nest_launch(index);
    int64_t outer = 1;
    for (const LoopDim& d : lowered.nest.dims)
      if (!d.inner) outer *= d.extent.value;
    if (outer == 0) return;
    for (const LoopDim& d : lowered.nest.dims)
      if (!d.inner) {
        launch.extent = d.extent.value;
        break;
      }
    if (lowered.work >= 2 * kWorkPerRange && launch.extent > 1) {
      const int64_t per_point = std::max<int64_t>(lowered.work / launch.extent, 1);
      launch.grain = std::max<int64_t>(kWorkPerRange / per_point, 1);
      const bool lanes = lowered.nest.vector_dim >= 0 && !lowered.nest.dims[static_cast<size_t>(lowered.nest.vector_dim)].inner;
      if (lanes && &lowered.nest.dims[static_cast<size_t>(lowered.nest.vector_dim)] == &lowered.nest.dims[0])
        launch.grain = (launch.grain + kGrainMultiple - 1) / kGrainMultiple * kGrainMultiple;
    }
    exe_->launches_.emplace_back(std::move(launch));
  }

  const CompileOptions options_;
  Clock clock_;
  std::shared_ptr<LaunchList> exe_ = std::make_shared<LaunchList>();
  std::optional<MemoryMap> memory_;
  std::vector<int> scalar_index_, nest_of_;
  std::vector<Group> groups_;
  std::map<size_t, LoweredTail> tails_;  // by group
  std::vector<KernelFn> kernels_;
  int inputs_ = 0;
};

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
  void run(std::span<void* const> inputs, std::span<const int64_t> scalars, std::span<void* const> outputs) const override {
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

std::shared_ptr<const Executable> compile(const Graph& graph, const CompileOptions& options) {
  if (options.backend == Backend::Interpreter) return std::make_shared<Interpreted>(graph);
  return Compiler(graph, options).compile();
}

}  // namespace tailor::jit
