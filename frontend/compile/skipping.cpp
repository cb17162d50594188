// Skipping: plans that pure functions are served by without their bodies.

#include <algorithm>
#include <utility>

#include "frontend/captured.h"
#include "frontend/compile/entry.h"
#include "frontend/compile/facts.h"
#include "frontend/compile/symbolic_plan.h"
#include "runtime/log.h"

namespace tailor::detail {

bool SkipPlan::holds_captured() const {
  size_t next = 0;
  return std::all_of(captured_ids.begin(), captured_ids.end(), [&](uint64_t id) {
    return id == 0 || lives[next++]->word.load(std::memory_order_acquire) == id;  // alive, and described as it was
  });
}

bool SkipPlan::captures_the_same(const SkipPlan& other) const {
  return variant == other.variant && scalars == other.scalars && arguments == other.arguments && captured_ids == other.captured_ids &&
         results == other.results;
}

namespace {

uint64_t size_hash(const guards::CallDescriptor& call) {
  uint64_t hash = 1;
  for (const guards::TensorFact& t : call.tensors) {
    hash = (hash ^ (t.spec ? t.spec->sizes.size() : 99)) * 0x9E3779B97F4A7C15u;
    for (size_t d = 0; t.spec && d < t.spec->sizes.size(); ++d)
      hash = (hash ^ (hash >> 32) ^ static_cast<uint64_t>(t.spec->sizes[d])) * 0x9E3779B97F4A7C15u;
  }
  return hash | 1;
}

}  // namespace

/// The newest first; until `visit` says true.
template <class Visit>
void Entry::each_plan_for(const guards::CallDescriptor& call, const Visit& visit) const {  // mutex_ is held
  for (const uint64_t key : {size_hash(call), uint64_t{0}}) {
    const auto known = plans_by_size_.find(key);
    if (known == plans_by_size_.end()) continue;
    for (auto plan = known->second.rbegin(); plan != known->second.rend(); ++plan) {
      if ((*plan)->guards.check(call) && visit(**plan)) return;
    }
  }
}

// Old plans may be in use by other threads: they go when the entry dies.
bool Entry::set_skip_plan(std::unique_ptr<const SkipPlan> plan, const guards::CallDescriptor& call) {
  constexpr size_t kMostPlans = 1024, kMostOfOneKind = 64;
  std::lock_guard lock(mutex_);
  const SkipPlan* known = nullptr;
  size_t alike = 0;
  each_plan_for(call, [&](const SkipPlan& old) {  // modes and numbers that go back and forth
    ++alike;
    if (old.end == plan->end && old.captures_the_same(*plan)) known = &old;
    return known != nullptr;
  });
  if (known) {
    known->module_epoch.store(call.module_epoch, std::memory_order_release);
    skip_.store(known, std::memory_order_release);
    return true;
  }
  if (const SkipPlan* current = skip_.load(std::memory_order_relaxed); current && !current->holds_captured()) {
    record_.plans_voided.fetch_add(1, std::memory_order_relaxed);
    if (log_enabled(LogChannel::Recompiles))
      log(LogChannel::Recompiles, tag(), "the plan for skipping is void: a tensor that it captures is gone or was described anew");
  }
  if (plans_.size() >= kMostPlans || alike >= kMostOfOneKind) return false;
  tell(plan->changes);
  skip_.store(plan.get(), std::memory_order_release);
  plans_by_size_[plan->changes.dropped + plan->changes.relaxed ? 0 : size_hash(call)].push_back(plan.get());
  plans_.push_back(std::move(plan));
  return true;
}

void Entry::note_not_skipped(const std::string& why) {
  {
    std::lock_guard lock(record_.mutex);
    record_.not_skipped = why;
  }
  {
    std::lock_guard lock(mutex_);
    if (why.empty() || why == told_not_skipped_) return;
    told_not_skipped_ = why;
  }
  log(LogChannel::Recompiles, tag(), "declared pure, but the body ran: " + why);
}

const SkipPlan* Entry::skip_plan_for(const guards::CallDescriptor& call) {
  const SkipPlan* last = skip_plan();
  if (!last || last->guards.check(call)) return last;
  std::lock_guard lock(mutex_);
  const SkipPlan* found = nullptr;
  each_plan_for(call, [&](const SkipPlan& plan) { return found = &plan, true; });
  if (!found) return last;
  skip_.store(found, std::memory_order_release);
  return found;
}

namespace {

/// The number of a tensor among the arguments, or -1.
int argument_number(std::span<TensorHead* const> arguments, const TensorHead* head) {
  const auto it = std::find(arguments.begin(), arguments.end(), head);
  return it == arguments.end() ? -1 : static_cast<int>(it - arguments.begin());
}

}  // namespace

std::optional<PureCall> Entry::look_at(const Invocation& invocation, const CallOps& ops, std::span<TensorHead* const> arguments,
                                       std::string* why_not) const {
  const auto refuse = [&](std::string why) {
    *why_not = std::move(why);
    return std::nullopt;
  };
  PureCall call;
  call.end = invocation.path().empty() ? nullptr : invocation.path().back();
  if (!call.end || call.end->step->kind != follow::StepKind::Return) return refuse("the call did not return");
  for (const HostRead& read : invocation.reads()) {
    if (read.what == HostRead::What::Random) return refuse("random numbers are drawn");
    if (read.what == HostRead::What::Version) return refuse("it asks how often a tensor was written");
    if (read.what == HostRead::What::Unseen && argument_number(arguments, read.tensor) >= 0)
      return refuse("it asks for the gradient of an argument, or whether that is a leaf");
    if (read.what == HostRead::What::Identity) return refuse("it asks whether an argument is, or shares memory with, another tensor");
  }
  for (int i = 0; i < invocation.external_count(); ++i) call.externals.push_back(argument_number(arguments, &invocation.external(i)));
  for (const follow::Instance* instance : invocation.path()) {
    const follow::Step& step = *instance->step;
    if (step.kind == follow::StepKind::Escape) return refuse("host code reads a tensor's data");
    if (step.reads_leaf && call.externals[static_cast<size_t>(step.operands[0].index)] >= 0)
      return refuse("whether an argument that requires gradients is a leaf matters");
    if (step.spreads_grad) return refuse("a write changes which tensors require gradients");
  }
  FlatValue result;
  ops.flatten_result(ops.frame, result);
  for (TensorHead* head : result.tensors) {
    SkipPlan::ResultTensor from;
    if (head) {
      const auto ref = invocation.describe(static_cast<const TensorImpl&>(*head));
      const int argument = argument_number(arguments, head);
      if (argument >= 0)
        from = {SkipPlan::ResultTensor::From::Argument, argument};
      else if (ref.slot)
        from = {SkipPlan::ResultTensor::From::Output, ref.index};
      else
        return refuse("a tensor that is neither computed nor an argument is returned");
    }
    call.results.push_back(from);
  }
  std::vector<int> returned;
  for (const SkipPlan::ResultTensor& r : call.results)
    if (r.from == SkipPlan::ResultTensor::From::Output) returned.push_back(r.index);
  if (!invocation.keeps_only(returned)) return refuse("a value outlives the call without being returned");
  call.prototype = ops.copy_result(ops.frame);
  if (!call.prototype.has_value()) return refuse("the result cannot be copied");
  return call;
}

/// Where a tensor that the body takes from elsewhere is an argument as well, what the body reaches it by may be made to point to other
/// tensors (a pointer does that unseen): such calls are followed.
bool Entry::captures_an_argument(const Invocation& invocation, const PureCall& seen, const PureArguments& given) {
  for (size_t e = 0; e < seen.externals.size(); ++e) {
    TensorImpl& tensor = invocation.external(static_cast<int>(e));
    // From now on its death, and what happens to handles to it, bump the epoch, registered in a module or not.
    if (seen.externals[e] < 0 && invocation.is_held_elsewhere(tensor)) record_.captured.add(tensor);
  }
  const bool both = record_.captured.any_of(given.by_caller);
  if (both) look_again();
  return both;
}

std::unique_ptr<const SkipPlan> Entry::plan_skip(const Invocation& invocation, const CallOps& ops, const guards::CallDescriptor& call,
                                                 const PureArguments& given, std::string* why_not, const SymbolicPlan* bound_by) {
  std::lock_guard lock(mutex_);
  const std::span<TensorHead* const> arguments = given.to_body;
  const auto refuse = [&](std::string why) {
    *why_not = std::move(why);
    return nullptr;
  };
  std::optional<PureCall> seen = look_at(invocation, ops, arguments, why_not);
  if (!seen) return nullptr;
  if (!given.apart) return refuse("an argument cannot be copied");
  if (!bound_by && captures_an_argument(invocation, *seen, given))
    return refuse("an argument is a tensor that it takes from elsewhere as well");
  const follow::Variant* variant = invocation.last_variant();
  if (!variant) return refuse("the segment is not compiled for this call");

  auto plan = std::make_unique<SkipPlan>();
  plan->end = seen->end;
  plan->variant = variant;
  plan->bindings = invocation.bindings();
  plan->scalars = invocation.scalars_of(*variant);
  for (const follow::InputRef& ref : variant->inputs) {
    if (ref.slot) return refuse("a value of an earlier segment is used");
    const auto number = static_cast<size_t>(ref.index);
    const int argument = bound_by ? bound_by->path.externals[number] : seen->externals[number];
    plan->arguments.push_back(argument);
    if (argument >= 0 || bound_by) {
      plan->captured.push_back(argument < 0 ? bound_by->captured[number] : nullptr);
      plan->captured_ids.push_back(argument < 0 ? bound_by->captured_ids[number] : 0);
      if (argument < 0) plan->lives.push_back(bound_by->lives[number]);
      continue;
    }
    TensorImpl& tensor = invocation.external(static_cast<int>(number));
    if (!invocation.is_held_elsewhere(tensor))
      return refuse(
          "a tensor takes part that the body makes of host data (tensor(), from_blob(), a file): it would have to be an argument");
    plan->captured.push_back(&tensor);
    plan->captured_ids.push_back(tensor.id);
    plan->lives.push_back(watch_life(tensor));
  }
  for (const SkipPlan::ResultTensor& value : seen->results) {
    SkipPlan::ResultTensor from = value;
    if (from.from == SkipPlan::ResultTensor::From::Output) {
      const auto at = std::find(variant->outputs.begin(), variant->outputs.end(), value.index);
      if (at == variant->outputs.end()) return refuse("a result is not an output of the compiled segment");
      from.index = static_cast<int>(at - variant->outputs.begin());
    }
    plan->results.push_back(from);
  }
  for (size_t i = 0; i < variant->outputs.size(); ++i) {
    const auto used = [&](const SkipPlan::ResultTensor& r) {
      return r.from == SkipPlan::ResultTensor::From::Output && r.index == static_cast<int>(i);
    };
    if (std::none_of(plan->results.begin(), plan->results.end(), used)) return refuse("a value outlives the call without being returned");
  }
  plan->prototype = std::move(seen->prototype);

  for (size_t i = 0; i < call.tensors.size(); ++i)
    plan->guards.require_spec(static_cast<int>(i), call.tensors[i].spec, argument_path(static_cast<int>(i)), "");
  require_scalars(plan->guards, call.scalars, names);
  require_structure(plan->guards, call.structure, names);
  plan->guards.require_ambient(call.ambient);
  plan->module_epoch = call.module_epoch;
  // Which arguments are the same tensor decides which input each of them is; shared memory matters where it is written.
  if (call.tensors.size() > 1) {
    plan->guards.require_identity(call.tensors);
    if (!variant->written.empty()) plan->guards.require_aliasing(call.tensors);
  }
  const std::vector<HostRead> of_body = bound_by ? reads_of(*bound_by, arguments) : std::vector<HostRead>();
  require_reads(plan->guards, bound_by ? of_body : invocation.reads(), call, arguments, names);
  plan->changes = seal_as_asked(plan->guards, options_, true);
  return plan;
}

}  // namespace tailor::detail
