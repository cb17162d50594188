// Compiling the segment that has just ended: for the sizes of this call, or for all sizes.

#include <algorithm>
#include <chrono>

#include "frontend/follow/invocation.h"
#include "frontend/size_marks.h"
#include "runtime/trace.h"

namespace tailor {

using follow::Instance;
using follow::Step;
using follow::Variant;

namespace {

/// Specs of everything numbered along a path.
struct PathSpecs {
  std::vector<const ir::TensorSpec*> externals, slots;
  explicit PathSpecs(std::span<Instance* const> path) {
    for (const Instance* instance : path) {
      for (const ir::TensorSpec& spec : instance->externals) externals.push_back(&spec);
      for (const ir::TensorSpec& spec : instance->outputs) slots.push_back(&spec);
    }
  }
};

bool writes_and_may_fail_later(const ir::Graph& graph, bool writes_outside) {
  bool written = false;
  for (const ir::Node& node : graph.nodes) {
    if (node.kind != ir::NodeKind::CallOp) continue;
    if (written && (node.op->can_fail_on_data || node.op->pointwise.can_fail)) return true;
    written = written || (writes_outside && node.inplace);
  }
  return false;
}

/// What a variant says of the sizes of its call and of the outputs' memory.
void complete(Variant& variant, std::vector<ir::TensorSpec> output_specs, std::shared_ptr<const follow::Weights> before = nullptr) {
  variant.output_specs = std::move(output_specs);
  for (const jit::OutputPlan& plan : variant.executable->outputs())
    variant.output_bytes.push_back(plan.kind == jit::OutputPlan::Kind::Fresh ? plan.storage_bytes() : 0);
  if (!variant.executable->weights().empty()) variant.weights = std::make_shared<follow::Weights>(variant.executable, std::move(before));
}

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

std::span<Instance* const> Invocation::segment() const { return {path_.begin() + segment_begin_, path_.end()}; }

follow::SegmentFacts Invocation::segment_facts() const {
  const PathSpecs specs(path_);
  return follow::facts_of(segment(), segment_first_slot_, specs.externals, specs.slots);
}

std::vector<follow::SegmentFacts> Invocation::facts_of_earlier_calls(const Instance& end) const {
  std::vector<follow::SegmentFacts> all;
  for (const auto& seen : end.step->symbolic.seen) {
    if (seen.end == &end) continue;
    std::vector<Instance*> path;
    for (Instance* i = seen.end->parent; i->parent != nullptr; i = i->parent) path.push_back(i);
    std::reverse(path.begin(), path.end());
    if (path.size() != path_.size()) continue;
    const PathSpecs specs(path);
    all.push_back(follow::facts_of(std::span(path).subspan(segment_begin_), segment_first_slot_, specs.externals, specs.slots));
  }
  return all;
}

std::vector<std::string> Invocation::external_names() const {
  std::vector<std::string> names;
  for (const Instance* instance : path_) {
    for (int argument : instance->step->external_arguments)
      names.push_back(argument >= 0 ? host_.argument_path(argument) : "captured" + std::to_string(names.size()));
  }
  return names;
}

std::vector<follow::SizeMark> Invocation::size_marks(const follow::SegmentFacts& facts) const {
  std::vector<follow::SizeMark> marks;
  for (size_t i = 0; i < facts.inputs.size(); ++i) {
    const follow::InputRef& input = facts.inputs[i];
    if (input.slot) continue;
    const TensorImpl& tensor = external(input.index);
    const bool argument = std::find(arguments_.begin(), arguments_.end(), &tensor) != arguments_.end();
    for (int d = 0; d < static_cast<int>(tensor.spec.rank()); ++d) {
      const int64_t size = facts.input_specs[i].sizes[static_cast<size_t>(d)];
      const DimMark* mark = mark_of(tensor, d);
      if (size < 2 || (mark && mark->kind == DimMark::Kind::Static)) continue;
      if (mark)
        marks.push_back({input, d, mark->min, mark->max, mark->kind == DimMark::Kind::Dynamic});
      else if (argument && host_.all_dynamic())
        marks.push_back({input, d});
    }
  }
  return marks;
}

// Registered parameters, and what the body reaches by itself. Arguments are expected to differ from call to call.
std::vector<int> Invocation::lasting_inputs(const Variant& variant) const {
  std::vector<int> lasting;
  for (size_t i = 0; i < variant.inputs.size(); ++i) {
    const follow::InputRef& ref = variant.inputs[i];
    if (ref.slot) continue;
    const TensorImpl* tensor = &external(ref.index);
    const bool registered = original_of(*tensor).flags.load(std::memory_order_relaxed) & TensorHead::kRegistered;
    if (registered || std::find(arguments_.begin(), arguments_.end(), tensor) == arguments_.end()) lasting.push_back(static_cast<int>(i));
  }
  return lasting;
}

std::vector<int> Invocation::wanted_outputs(const Instance& end) {
  std::vector<int> outputs = alive_slots();
  // What an earlier variant keeps is kept here too, so that one variant serves survivors that come and go.
  const auto keep = [&](const std::vector<int>& earlier) {
    std::vector<int> both;
    std::set_union(outputs.begin(), outputs.end(), earlier.begin(), earlier.end(), std::back_inserter(both));
    outputs = std::move(both);
  };
  if (const Variant* earlier = end.variants.head()) keep(earlier->outputs);
  std::lock_guard lock(tree_.mutex());
  if (!end.step->symbolic.forms.empty()) keep(end.step->symbolic.forms.back()->form->outputs);
  return outputs;
}

std::vector<ir::TensorSpec> Invocation::output_specs(std::span<const int> outputs) const {
  const PathSpecs specs(path_);
  std::vector<ir::TensorSpec> all;
  for (int slot : outputs) all.push_back(*specs.slots[static_cast<size_t>(slot)]);
  return all;
}

// Which outputs there are, for the check whether a variant serves.
static void note_outputs(Variant& variant, int first_slot, int end_slot) {
  variant.is_output.assign(static_cast<size_t>(end_slot - first_slot), false);
  for (int output : variant.outputs) variant.is_output[static_cast<size_t>(output - first_slot)] = true;
}

/// A form for all sizes that serves this call gives it its variant: no compiling.
const Variant* Invocation::bind_symbolic(Instance& end) {
  std::vector<const follow::SymbolicForm*> forms;
  follow::SegmentFacts facts;
  {
    std::lock_guard lock(tree_.mutex());
    for (const auto& form : end.step->symbolic.forms) forms.push_back(form.get());
    if (forms.empty()) return nullptr;
    facts = segment_facts();
  }
  const std::vector<int64_t> numbers = follow::numbers_of(facts);
  for (auto form = forms.rbegin(); form != forms.rend(); ++form) {
    if (!serves(*(*form)->form)) continue;
    std::unique_ptr<Variant> variant = (*form)->bind(numbers);
    if (!variant) continue;
    std::vector<ir::TensorSpec> specs = output_specs(variant->outputs);
    std::lock_guard lock(tree_.mutex());
    complete(*variant, std::move(specs), (*form)->weights);
    (*form)->weights = variant->weights;
    const Variant* added = variant.get();
    end.variants.push(std::move(variant));
    return added;
  }
  return nullptr;
}

namespace {

/// All that compiling a segment takes: it may be done on another thread, after the call.
struct Job {
  follow::TraceTree& tree;
  follow::EntryHost& host;
  std::vector<std::shared_ptr<follow::Binding>> bindings;  // keep the instances
  Instance* end;
  std::vector<Instance*> segment;
  int first_slot, end_slot;
  std::vector<int> outputs;
  std::vector<ir::TensorSpec> output_specs;
  std::vector<follow::SegmentFacts> calls;  // the last one is this; earlier ones in other sizes
  std::vector<follow::SizeMark> marks;
  std::vector<std::string> names;
  std::unique_ptr<Variant> variant;  // for the sizes of this call; without code
  jit::CompileOptions options;
  bool symbolic, first;

  std::unique_ptr<Variant> compile_for_all_sizes();
  void run();
};

std::unique_ptr<Variant> Job::compile_for_all_sizes() {
  const auto begin = std::chrono::steady_clock::now();
  const TraceSpan span("compile", "compile for all sizes");
  const follow::SymbolicForm* before = nullptr;
  {
    std::lock_guard lock(tree.mutex());
    if (!end->step->symbolic.forms.empty()) before = end->step->symbolic.forms.back().get();
  }
  std::unique_ptr<follow::SymbolicForm> form =
      follow::compile_symbolic(segment, first_slot, outputs, calls, marks, names, host.function_name(), options, before, bindings);
  if (!form) {
    host.on_symbolic_given_up("its sizes have no explanation that one program could be compiled for");
    return nullptr;
  }
  form->form->compile_ms = milliseconds_since(begin);
  form->form->lifts_seen = variant->lifts_seen;
  note_outputs(*form->form, first_slot, end_slot);
  std::unique_ptr<Variant> bound = form->bind(follow::numbers_of(calls.back()));
  host.on_symbolic_compiled(*form);
  std::lock_guard lock(tree.mutex());
  end->step->symbolic.forms.push_back(std::move(form));
  return bound;
}

void Job::run() {
  follow::SymbolicSegment& segment_of_all_sizes = end->step->symbolic;
  std::unique_ptr<Variant> done;
  if (symbolic) done = compile_for_all_sizes();
  if (!done) {
    if (end->variants.count() == 0 && segment_of_all_sizes.single_sizes >= follow::TraceLimits().single_sizes) {
      end->variants.failed = true;
      host.on_symbolic_given_up("it has been compiled for too many single sizes; other sizes run op by op");
      return;
    }
    done = std::move(variant);
    const auto begin = std::chrono::steady_clock::now();
    {
      const TraceSpan span("compile", "compile");
      done->executable = jit::compile(done->graph, options);
    }
    done->compile_ms = milliseconds_since(begin);
    ++segment_of_all_sizes.single_sizes;
    host.on_variant_compiled(*done, first);
  }
  complete(*done, std::move(output_specs));
  std::lock_guard lock(tree.mutex());
  end->variants.push(std::move(done));
}

}  // namespace

/// Notes the sizes of this call; true when the segment is worth compiling for all sizes.
bool Invocation::sizes_vary(Instance& end, std::vector<follow::SegmentFacts>& calls, std::span<const follow::SizeMark> marks) {
  follow::SymbolicSegment& symbolic = end.step->symbolic;
  if (!host_.dynamic()) return false;
  std::lock_guard lock(tree_.mutex());
  std::vector<follow::SegmentFacts> earlier = facts_of_earlier_calls(end);
  calls.insert(calls.begin(), std::make_move_iterator(earlier.begin()), std::make_move_iterator(earlier.end()));
  const bool known = std::any_of(symbolic.seen.begin(), symbolic.seen.end(), [&](const auto& s) { return s.end == &end; });
  constexpr size_t kSeen = 6;
  if (!known) {
    if (symbolic.seen.size() >= kSeen) symbolic.seen.erase(symbolic.seen.begin() + 1);
    symbolic.seen.push_back({bindings_, &end});
  }
  if ((calls.size() < 2 && marks.empty()) || symbolic.attempts >= symbolic.attempts_allowed()) return false;
  ++symbolic.attempts;
  return true;
}

/// What a compiled form takes and gives is there in this call.
void Invocation::check_numbers(const Variant& variant) const {
  for (const follow::InputRef& input : variant.inputs) {
    internal_check(input.index >= 0 && input.index < (input.slot ? segment_first_slot_ : numbered_.externals), "a segment takes ",
                   input.slot ? "value " : "external ", input.index, ", which the call has not met");
  }
  for (int output : variant.outputs)
    internal_check(output >= segment_first_slot_ && output < numbered_.slots, "a segment gives value ", output,
                   ", which is none of its own");
}

void Invocation::compile_variant(Instance& end) {
  // Whoever compiles in this tree meanwhile may be at the very same segment. This call has its values already, but the thread's next one
  // would run op by op as well: where calls wait, it waits here.
  std::unique_lock lock(tree_.compiling(), std::try_to_lock);
  if (!lock && host_.wait_for_compile()) lock.lock();
  follow::VariantList& variants = end.variants;
  if (!lock || variants.failed || variants.waiting || variants.count() >= follow::TraceLimits().variants) return;
  if (is_served(end)) return;  // compiled meanwhile, or it is served but not by compiled code: what it writes is shared
  const std::vector<int> outputs = wanted_outputs(end);
  if (const Variant* before = variants.head(); before && before->lifts_seen == tree_.lifts.load(std::memory_order_acquire)) {
    host_.on_difference({follow::Difference::Kind::Kept, end.step->depth, "values that outlive the call",
                         std::to_string(before->outputs.size()), std::to_string(outputs.size()), end.step->where});
  }
  if (!host_.may_compile()) return;
  const bool first = variants.count() == 0 && end.step->symbolic.single_sizes == 0;
  try {
    std::vector<follow::SegmentFacts> calls;
    uint64_t lifts_seen = 0;
    {
      std::lock_guard seen_together(tree_.mutex());
      lifts_seen = tree_.lifts.load(std::memory_order_relaxed);
      calls.push_back(segment_facts());
    }
    std::vector<follow::SizeMark> marks = size_marks(calls.back());
    auto variant = follow::build_segment(segment(), segment_first_slot_, outputs, calls.back(), external_names(), host_.function_name());
    check_numbers(*variant);
    variant->lifts_seen = lifts_seen;
    note_outputs(*variant, segment_first_slot_, numbered_.slots);
    if (writes_and_may_fail_later(variant->graph, !variant->written.empty())) {
      variants.failed = true;
      host_.on_op_by_op("an op that can fail on data comes after a write that is visible outside");
      return;
    }
    jit::CompileOptions options = host_.compile_options();
    options.lasting = lasting_inputs(*variant);
    const bool symbolic = sizes_vary(end, calls, marks);
    if (!symbolic && calls.size() > 1 && end.step->symbolic.attempts >= end.step->symbolic.attempts_allowed())
      follow::numbers_choose(segment());
    auto job = std::make_shared<Job>(Job{tree_,
                                         host_,
                                         bindings_,
                                         &end,
                                         {segment().begin(), segment().end()},
                                         segment_first_slot_,
                                         numbered_.slots,
                                         outputs,
                                         output_specs(outputs),
                                         std::move(calls),
                                         std::move(marks),
                                         external_names(),
                                         std::move(variant),
                                         std::move(options),
                                         symbolic,
                                         first});
    const auto later = [job, &variants] {
      try {
        job->run();
      } catch (const follow::MarkError&) {
        if (!variants.waiting) throw;
        variants.failed = true;
      } catch (const std::exception& error) {
        variants.failed = true;
        job->host.on_compile_failure(error.what());
        if (!variants.waiting && !job->host.suppress_errors()) throw;
      }
      variants.waiting = false;
    };
    variants.waiting = true;
    if (host_.compile_later(later)) return;
    variants.waiting = false;
    later();
  } catch (const follow::MarkError&) { throw; } catch (const std::exception& error) {
    if (variants.failed) throw;
    variants.failed = true;
    host_.on_compile_failure(error.what());
    if (!host_.suppress_errors()) throw;
  }
}

}  // namespace tailor
