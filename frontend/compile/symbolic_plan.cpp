#include "frontend/compile/symbolic_plan.h"

#include <algorithm>

#include "frontend/captured.h"
#include "frontend/compile/facts.h"
#include "runtime/log.h"

namespace tailor::detail {
namespace {

/// The expression over arguments' sizes; nothing where it takes a value that the call computes.
std::optional<guards::SizeExpr> over_arguments(const SizeFacts& facts, int node) {
  const SizeFacts::Node& n = facts.nodes[static_cast<size_t>(node)];
  if (n.code == SymCode::Constant) return guards::SizeExpr(n.a);
  if (n.code == SymCode::Size) {
    if (n.tensor.kind != SizedTensor::Kind::Argument) return std::nullopt;
    return guards::SizeExpr::size(n.tensor.index, static_cast<int>(n.b));
  }
  const auto a = over_arguments(facts, static_cast<int>(n.a)), b = over_arguments(facts, static_cast<int>(n.b));
  if (!a || !b) return std::nullopt;
  switch (n.code) {
    case SymCode::Add: return *a + *b;
    case SymCode::Subtract: return *a - *b;
    case SymCode::Multiply: return *a * *b;
    case SymCode::FloorDivide: return *a / *b;
    case SymCode::Modulo: return *a % *b;
    case SymCode::Max: return max(*a, *b);
    case SymCode::Min: return min(*a, *b);
    case SymCode::Constant:
    case SymCode::Size: break;
  }
  return std::nullopt;
}

/// The dimension of an argument that a fact fixes by value; null for other facts.
const SizeFacts::Node* fixed_dim(const SizeFacts& facts, const SizeFacts::Predicate& p) {
  const SizeFacts::Node &left = facts.nodes[static_cast<size_t>(p.left)], &right = facts.nodes[static_cast<size_t>(p.right)];
  const bool fixes = p.comparison == SymComparison::Equal && left.code == SymCode::Size && right.code == SymCode::Constant &&
                     left.tensor.kind == SizedTensor::Kind::Argument;
  return fixes ? &left : nullptr;
}

guards::Comparison comparison_of(SymComparison comparison) { return static_cast<guards::Comparison>(comparison); }
static_assert(static_cast<int>(guards::Comparison::Equal) == static_cast<int>(SymComparison::Equal) &&
              static_cast<int>(guards::Comparison::NotEqual) == static_cast<int>(SymComparison::NotEqual) &&
              static_cast<int>(guards::Comparison::Less) == static_cast<int>(SymComparison::Less) &&
              static_cast<int>(guards::Comparison::LessEqual) == static_cast<int>(SymComparison::LessEqual) &&
              static_cast<int>(guards::Comparison::Greater) == static_cast<int>(SymComparison::Greater) &&
              static_cast<int>(guards::Comparison::GreaterEqual) == static_cast<int>(SymComparison::GreaterEqual));

}  // namespace

bool SymbolicPlan::says_the_same(const SymbolicPlan& other, const guards::CallDescriptor& call) const {
  return path.end == other.path.end && path.externals == other.path.externals && path.sizes == other.path.sizes &&
         results == other.results && guards.check(call) && other.guards.check(call);
}

std::vector<HostRead> reads_of(const SymbolicPlan& plan, std::span<TensorHead* const> arguments) {
  std::vector<HostRead> reads = plan.reads;
  for (size_t i = 0; i < reads.size(); ++i) {
    const int argument = plan.read_arguments[i];
    reads[i].tensor = argument < 0 ? nullptr : static_cast<const TensorImpl*>(arguments[static_cast<size_t>(argument)]);
  }
  return reads;
}

std::vector<std::shared_ptr<const SymbolicPlan>> Entry::symbolic_plans() const {
  std::lock_guard lock(mutex_);
  return symbolic_;
}

void Entry::plan_other_sizes(const Invocation& invocation, const CallOps& ops, const guards::CallDescriptor& call,
                             const PureArguments& given, const SizeReads& reads) {
  constexpr size_t kMostPlans = 64;
  plans_in_vain_.fetch_add(1, std::memory_order_relaxed);  // until there is one
  const SizeFacts* facts = reads.facts();
  if (!facts) return;
  std::lock_guard lock(mutex_);
  std::string why_not;
  const std::span<TensorHead* const> arguments = given.to_body;
  std::optional<PureCall> seen = look_at(invocation, ops, arguments, &why_not);
  if (!seen || captures_an_argument(invocation, *seen, given)) return;

  auto plan = std::make_shared<SymbolicPlan>();
  std::vector<std::vector<guards::DimRange>> ranges(arguments.size());
  bool some_vary = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!call.tensors[i].spec) continue;
    for (int d = 0; d < static_cast<int>(call.tensors[i].spec->rank()); ++d) {
      const auto fixes = [&](const SizeFacts::Predicate& p) {
        const SizeFacts::Node* dim = fixed_dim(*facts, p);
        return dim && dim->tensor.index == static_cast<int>(i) && dim->b == d;
      };
      if (std::any_of(facts->predicates.begin(), facts->predicates.end(), fixes)) continue;
      const auto range = symbolic_range(arguments[i], d, call.tensors[i].spec->sizes[static_cast<size_t>(d)], true);
      if (range) ranges[i].push_back(*range);
      some_vary = some_vary || range;
    }
  }
  if (!some_vary) return;

  plan->path.end = seen->end->step;
  for (const follow::Instance* instance : invocation.path()) {
    if (instance->step->kind != follow::StepKind::Op) continue;
    plan->path.steps.push_back(instance->step);
    plan->path.attrs.push_back(instance->attrs);
  }
  plan->path.scalars = invocation.numbers();
  plan->path.scalars.resize(static_cast<size_t>(seen->end->step->scalar_count()));
  plan->path.externals = seen->externals;
  plan->path.sizes = *facts;
  for (size_t e = 0; e < seen->externals.size(); ++e) {
    const int argument = seen->externals[e];
    TensorImpl& tensor = invocation.external(static_cast<int>(e));
    if (argument < 0 && !invocation.is_held_elsewhere(tensor)) return;  // it makes a tensor by other means than ops
    plan->captured.push_back(argument < 0 ? &tensor : nullptr);
    plan->captured_ids.push_back(argument < 0 ? tensor.id : 0);
    plan->lives.push_back(argument < 0 ? watch_life(tensor) : IntrusivePtr<tailor::Cell>());
  }
  plan->results = std::move(seen->results);
  plan->prototype = std::move(seen->prototype);
  for (const HostRead& read : invocation.reads()) {
    plan->reads.push_back(read);
    const auto at = std::find(arguments.begin(), arguments.end(), read.tensor);
    plan->read_arguments.push_back(!read.tensor || at == arguments.end() ? -1 : static_cast<int>(at - arguments.begin()));
  }
  plan->names = names.tensors;
  plan->module_epoch = call.module_epoch;

  guards::GuardSet& set = plan->guards;
  for (size_t i = 0; i < call.tensors.size(); ++i)
    set.require_spec(static_cast<int>(i), call.tensors[i].spec, argument_path(static_cast<int>(i)), "", ranges[i]);
  // The lines that made a size a fact.
  set.review([&](const guards::Guard& g) {
    guards::Guard with_line = g;
    for (const SizeFacts::Predicate& p : facts->predicates) {
      const SizeFacts::Node* dim = g.kind == guards::GuardKind::Size ? fixed_dim(*facts, p) : nullptr;
      if (dim && dim->tensor.index == g.index && dim->b == g.dim) with_line.source = p.source;
    }
    return std::optional(with_line);
  });
  for (const SizeFacts::Predicate& p : facts->predicates) {
    const auto left = over_arguments(*facts, p.left), right = over_arguments(*facts, p.right);
    if (left && right && !fixed_dim(*facts, p)) set.require_predicate(*left, comparison_of(p.comparison), *right, p.source, names.tensors);
  }
  require_scalars(set, call.scalars, names);
  require_structure(set, call.structure, names);
  set.require_ambient(call.ambient);
  const bool writes = std::any_of(plan->path.steps.begin(), plan->path.steps.end(), [](const auto* s) { return s->written_external >= 0; });
  if (call.tensors.size() > 1) {
    set.require_identity(call.tensors);
    if (writes) set.require_aliasing(call.tensors);
  }
  require_reads(set, invocation.reads(), call, arguments, names);
  plan->changes = seal_as_asked(set, options_, true);
  tell(plan->changes);
  if (log_enabled(LogChannel::Guards)) {
    for (const guards::Guard& g : set.guards()) {
      if (g.kind == guards::GuardKind::Predicate)
        log(LogChannel::Guards, tag(),
            "for sizes that the body was not run in: " + g.condition() + (g.source.empty() ? "" : "  # " + g.source));
    }
  }
  std::erase_if(symbolic_, [&](const auto& old) { return plan->says_the_same(*old, call); });
  if (symbolic_.size() >= kMostPlans) symbolic_.erase(symbolic_.begin());
  symbolic_.push_back(std::move(plan));
  plans_in_vain_.store(0, std::memory_order_relaxed);
}

}  // namespace tailor::detail
