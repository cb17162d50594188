// Following a call of new sizes: the ops' shape rules say what each recorded step is in it.

#include <algorithm>

#include "frontend/follow/invocation.h"
#include "runtime/ambient.h"

namespace tailor {

using follow::Instance;
using follow::RecordedOperand;
using follow::Step;
using follow::StepKind;
using Kind = RecordedOperand::Kind;

namespace {

/// 0 and 1 mean something of their own where sizes come from them.
bool is_special(const ir::AttrRef& number) { return number.kind == ir::AttrRef::Kind::Int && number.as_int() < 2; }

}  // namespace

/// Whether the call may be `step` in other sizes; `exactly`: with the attributes recorded.
bool Invocation::is_instance_of(const Step& step, const OpCall& call, bool exactly) const {
  if (step.kind != StepKind::Op || step.op != &call.op || step.inplace != call.inplace) return false;
  if (((step.ambient ^ ambient_word()) & step.ambient_mask) != 0) return false;
  if (step.operands.size() != call.operands.size() || step.attrs.size() != call.attrs.size()) return false;
  int bound = numbered_.externals;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const RecordedOperand& recorded = step.operands[i];
    const Operand& got = call.operands[i];
    switch (recorded.kind) {
      case Kind::None:
        if (!got.is_none()) return false;
        break;
      case Kind::Scalar:
        if (!got.is_scalar() || got.scalar.kind() != recorded.scalar.kind()) return false;
        break;
      case Kind::Slot:
        if (!got.is_tensor() || recorded.index >= numbered_.slots || got.tensor != values_.slot(recorded.index).tensor ||
            got.tensor->id != values_.slot(recorded.index).id)
          return false;
        break;
      case Kind::External:
        if (!got.is_tensor()) return false;
        if (recorded.index < numbered_.externals) {
          const follow::Value& known = values_.external(recorded.index);
          if (got.tensor != known.tensor || got.tensor->id != known.id) return false;
        } else if (recorded.index < bound) {  // touched by this very step before
          const auto first = std::find_if(step.operands.begin(), step.operands.end(),
                                          [&](const RecordedOperand& o) { return o.kind == Kind::External && o.index == recorded.index; });
          if (got.tensor != call.operands[static_cast<size_t>(first - step.operands.begin())].tensor) return false;
        } else {
          if (is_own_slot(*got.tensor)) return false;
          if (!follow::differs_in_size_only(step.external_specs[static_cast<size_t>(recorded.index - step.first_external)],
                                            got.tensor->spec))
            return false;
          bound = recorded.index + 1;
        }
        break;
    }
  }
  if (step.reads_leaf && leaf_flags(*call.operands[0].tensor) != step.leaf_flags) return false;
  for (size_t i = 0; i < call.attrs.size(); ++i) {
    const ir::AttrRef recorded = step.attrs[i].ref();
    if (exactly ? !(recorded == call.attrs[i]) : !follow::may_be_another_number(recorded, call.attrs[i])) return false;
    if (!exactly && follow::is_no_size(step, i) && !(recorded == call.attrs[i]) && (is_special(recorded) || is_special(call.attrs[i])))
      return false;
  }
  return true;
}

/// What the step is in this call; null where the op's rules refuse it (recording will throw that where it belongs).
std::unique_ptr<Instance> Invocation::infer_instance(Step& step, const OpCall& call) const {
  auto instance = std::make_unique<Instance>();
  instance->step = &step;
  instance->attrs.assign(call.attrs.begin(), call.attrs.end());
  std::vector<ir::SpecOperand> operands;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Operand& o = call.operands[i];
    if (o.is_tensor()) {
      operands.emplace_back(&o.tensor->spec);
      const RecordedOperand& recorded = step.operands[i];
      if (recorded.kind == Kind::External && recorded.index == numbered_.externals + static_cast<int>(instance->externals.size()))
        instance->externals.push_back(o.tensor->spec);
    } else if (o.is_scalar()) {
      operands.emplace_back(o.scalar);
    } else {
      operands.emplace_back();
    }
  }
  try {
    if (step.is_view) {
      instance->view = call.op.view(*operands[0].tensor, call.attrs);
      ir::TensorSpec spec = step.output_specs.at(0);
      spec.sizes = instance->view->sizes;
      spec.strides = instance->view->strides;
      instance->outputs.push_back(std::move(spec));
      return instance;
    }
    std::vector<ir::TensorSpec> inferred = call.op.infer(call.op, ir::SpecCall{operands, call.attrs});
    if (step.inplace) return inferred.at(0).sizes == operands[0].tensor->sizes ? std::move(instance) : nullptr;
    if (inferred.size() != step.output_specs.size()) return nullptr;
    for (size_t j = 0; j < inferred.size(); ++j) {
      const ir::TensorSpec& seen = step.output_specs[j];
      if (inferred[j].dtype != seen.dtype || inferred[j].rank() != seen.rank()) return nullptr;
      inferred[j].device = seen.device;
      inferred[j].requires_grad = seen.requires_grad;
    }
    instance->outputs = std::move(inferred);
    return instance;
  } catch (const Error&) { return nullptr; }
}

// All sizes before it are the same: only tensors touched here for the first time can have made the difference. Integers that differ for
// another reason make another step.
bool Invocation::is_in_other_sizes(const Step& step, const Instance& seen, const OpCall& call) const {
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const RecordedOperand& o = step.operands[i];
    if (o.kind != Kind::External || o.index < numbered_.externals) continue;
    const auto number = static_cast<size_t>(o.index - step.first_external);
    if (call.operands[i].tensor->spec.sizes != seen.externals[number].sizes) return true;
  }
  return false;
}

/// A recorded step that this op is in the sizes of this call, which it was not seen in so far.
Step* Invocation::step_in_other_sizes(const OpCall& call, bool* fork) const {
  if (!host_.dynamic()) return nullptr;
  for (const bool exactly : {true, false}) {
    for (Step* step = cursor_->step->first_child.load(std::memory_order_acquire); step;
         step = step->next_sibling.load(std::memory_order_acquire)) {
      if (!is_instance_of(*step, call, exactly)) continue;
      const Instance* seen = cursor_->first_child.load(std::memory_order_acquire);
      while (seen && seen->step != step) seen = seen->next_sibling.load(std::memory_order_acquire);
      *fork = seen != nullptr;
      if (!seen) return step;
      if (is_in_other_sizes(*step, *seen, call) || (!exactly && is_in_other_numbers(*step, *seen, call))) return step;
    }
  }
  return nullptr;
}

Instance* Invocation::instantiate(const OpCall& call) {
  bool fork = false;
  Step* step = step_in_other_sizes(call, &fork);
  if (!step) return nullptr;
  internal_check(step->first_slot == numbered_.slots && step->first_external == numbered_.externals, call.op.name,
                 " is a step of paths that have numbered other tensors");
  std::unique_ptr<Instance> fresh = infer_instance(*step, call);
  if (!fresh) return nullptr;
  return add_instance(std::move(fresh), fork);
}

// What joins the tree from here on belongs to what this path began with, or to the last fork that it has taken.
void Invocation::leave_forks() noexcept {
  while (bindings_.size() > 1 && std::find(path_.begin(), path_.end(), binding().first()) == path_.end()) bindings_.pop_back();
}

follow::Binding& Invocation::binding_to_join() {
  internal_check(bindings_.size() == 1 || std::find(path_.begin(), path_.end(), binding().first()) != path_.end(),
                 "what is recorded would go with sizes that the call has not come by");
  return binding();
}

Instance* Invocation::add_instance(std::unique_ptr<Instance> fresh, bool fork) {
  if (!fork) return tree_.add(binding_to_join(), cursor_, std::move(fresh));
  bindings_.push_back(tree_.fork(cursor_, std::move(fresh)));
  return binding().first();
}

}  // namespace tailor
