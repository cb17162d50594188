// A call of a pure function in a size that none of its plans is for: where what was recorded holds for it, the body does not run.

#include <algorithm>

#include "frontend/captured.h"
#include "frontend/compile/compiled_function.h"
#include "frontend/compile/outcome.h"
#include "frontend/compile/symbolic_plan.h"
#include "runtime/log.h"
#include "runtime/trace.h"

namespace tailor::detail {
namespace {

/// Stand-ins for the captured tensors of a plan: the same memory, description and identity. Empty where one of them is gone or was
/// described anew. The tensors themselves may be on the point of going, so that nothing may hold them.
bool stand_in(const SymbolicPlan& plan, std::vector<IntrusivePtr<TensorHead>>& all) {
  std::optional<CapturedRegion> region;
  for (size_t e = 0; e < plan.captured.size(); ++e) {
    const TensorImpl* captured = plan.captured[e];
    if (!captured) {
      all.emplace_back();
      continue;
    }
    if (!region && region.emplace().epoch() != plan.module_epoch) return false;
    if (plan.lives[e]->word.load(std::memory_order_acquire) != plan.captured_ids[e]) return false;
    IntrusivePtr<TensorHead> head = make_tensor(captured->spec, captured->storage, captured->offset);
    TensorImpl& impl = impl_of(*head);
    impl.id = captured->id;
    impl.size_marks = captured->size_marks;
    head->flags.store(captured->flags.load(std::memory_order_relaxed) &
                          (TensorHead::kRegistered | TensorHead::kNonLeaf | TensorHead::kLeafView | TensorHead::kLazy),
                      std::memory_order_relaxed);
    if (head->flags.load(std::memory_order_relaxed) & TensorHead::kLazy || !captured->storage) return false;
    all.push_back(std::move(head));
  }
  return true;
}

bool about_sizes(const guards::Guard& g) {
  using guards::GuardKind;
  return g.kind == GuardKind::Size || g.kind == GuardKind::SizeRange || g.kind == GuardKind::Predicate;
}

/// The fact that keeps a plan from serving a call, where the call differs from the plan's in sizes only.
std::optional<MissRecord> size_miss(const guards::GuardSet& set, const guards::CallDescriptor& call, int entry) {
  const guards::Guard* failed = nullptr;
  for (const guards::Guard& g : set.facts()) {
    if (g.holds(call)) continue;
    if (!about_sizes(g)) {
      if (g.kind == guards::GuardKind::Layout || g.kind == guards::GuardKind::Stride || g.kind == guards::GuardKind::Watched) continue;
      return std::nullopt;
    }
    if (!failed) failed = &g;
  }
  if (!failed) return std::nullopt;
  return MissRecord{
      entry, failed->condition(), failed->actual(call), failed->source, failed->suggestion(), failed->subject(), failed->condition()};
}

}  // namespace

void CompiledFunction::note_other_sizes(Entry& entry, const Invocation& invocation, const CallOps& ops, const PureArguments& given,
                                        const guards::CallDescriptor& call, uint64_t module_epoch, const SizeReads& reads) {
  // A body that describes its arguments anew is not what it promised to be.
  for (size_t i = 0; i < given.by_caller.size(); ++i) {
    if (given.by_caller[i] && impl_of(*given.by_caller[i]).id != call.tensors[i].id) return;
  }
  guards::CallDescriptor at_begin = call;
  at_begin.module_epoch = module_epoch;
  entry.plan_other_sizes(invocation, ops, at_begin, given, reads);
}

bool CompiledFunction::serve_new_size(Entry& entry, const CallOps& ops, const FlatValue& arguments, const guards::CallDescriptor& call,
                                      const CallState& state) {
  const auto plans = entry.symbolic_plans();
  if (!plans.empty() && record_.captured.any_of(arguments.tensors)) return false;
  std::vector<MissRecord> misses;
  for (auto plan = plans.rbegin(); plan != plans.rend(); ++plan) {
    if ((*plan)->module_epoch != call.module_epoch) continue;
    if (!(*plan)->guards.check(call)) continue;
    const Bound bound = bind_size(entry, **plan, ops, arguments, call, state, misses);
    if (bound == Bound::No) continue;
    record_.bound.fetch_add(1, std::memory_order_relaxed);
    if (bound == Bound::Yes) record_.counts.skipped(state.slot);
    note_outcome(
        [&] {
          return bound == Bound::Yes ? "skipped: the guards hold for this size too, the body did not run"
                                     : "the guards hold for this size too: compiled again, the body did not run";
        },
        entry.number);
    return true;
  }
  constexpr ptrdiff_t kTold = 8;
  for (auto plan = plans.rbegin(); plan != plans.rend() && plan - plans.rbegin() < kTold; ++plan) {
    if ((*plan)->module_epoch != call.module_epoch) continue;
    if (auto miss = size_miss((*plan)->guards, call, entry.number)) misses.push_back(std::move(*miss));
  }
  if (!misses.empty()) note_misses(misses, std::nullopt, entry.number);
  return false;
}

CompiledFunction::Bound CompiledFunction::bind_size(Entry& entry, const SymbolicPlan& plan, const CallOps& ops, const FlatValue& arguments,
                                                    const guards::CallDescriptor& call, const CallState& state,
                                                    std::vector<MissRecord>& misses) {
  std::vector<IntrusivePtr<TensorHead>> captured;
  if (!stand_in(plan, captured)) return Bound::No;
  std::vector<TensorImpl*> stand_ins;
  std::vector<IntrusivePtr<TensorHead>> held;
  for (TensorHead* head : arguments.tensors) held.emplace_back(head);
  for (const auto& head : captured) stand_ins.push_back(static_cast<TensorImpl*>(head.get()));
  const TraceSpan span("follow", "bind a new size");
  const LogTag tag(&entry, tag_of_entry);
  std::vector<int64_t> sizes;
  state.guards->sizes_of(call, sizes);
  Invocation* const invocation = entry.take(state.slot);
  invocation->begin(arguments.tensors, sizes);
  std::string why_not;
  std::optional<SizeValues::Difference> difference;
  const InterceptorScope scope(invocation);
  std::vector<Tensor> results;
  try {
    if (!invocation->follow_path(plan.path, stand_ins, &why_not, &difference, plan.names)) {
      invocation->unfollow();
      entry.give_back(state.slot, invocation);
      if (difference)
        misses.push_back({entry.number, difference->fact, difference->actual, difference->source,
                          "a branch on sizes goes another way: each way is a specialization", difference->fact, difference->fact});
      else if (log_enabled(LogChannel::Recompiles))
        log(LogChannel::Recompiles, entry.tag(), "the body runs for this size: " + why_not, LogLevel::Debug);
      return Bound::No;
    }
    std::vector<int> slots;
    for (const SkipPlan::ResultTensor& r : plan.results) slots.push_back(r.from == SkipPlan::ResultTensor::From::Output ? r.index : -1);
    results = invocation->slots_by_number(slots);
    for (size_t i = 0; i < results.size(); ++i) {
      if (plan.results[i].from == SkipPlan::ResultTensor::From::Argument)
        results[i] = Tensor(held[static_cast<size_t>(plan.results[i].index)]);
    }
    invocation->finish();
  } catch (...) {
    const std::exception_ptr earlier = invocation->abandon();
    entry.give_back(state.slot, invocation);
    if (earlier) std::rethrow_exception(earlier);
    throw;
  }
  ops.restore_result(ops.frame, plan.prototype, results.data());
  results.clear();
  const bool hit = invocation->hit_return() != nullptr;
  std::string why_no_plan;
  if (auto fresh = entry.plan_skip(*invocation, ops, call, {arguments.tensors, arguments.tensors, true}, &why_no_plan, &plan))
    entry.set_skip_plan(std::move(fresh), call);
  invocation->end();
  entry.give_back(state.slot, invocation);
  return hit ? Bound::Yes : Bound::Compiled;
}

}  // namespace tailor::detail
