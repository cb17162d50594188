// Following a path in other sizes without user code: its steps are dispatched as user code would have done.

#include "frontend/follow/replay.h"

#include <algorithm>

#include "frontend/follow/invocation.h"
#include "runtime/ambient.h"

namespace tailor {

using follow::Instance;
using follow::RecordedOperand;
using follow::Step;
using Kind = RecordedOperand::Kind;

std::optional<SizedTensor> Invocation::find(const TensorImpl& tensor) const {
  if (is_own_slot(tensor)) return SizedTensor{SizedTensor::Kind::Slot, tensor.slot};
  const auto argument = std::find(arguments_.begin(), arguments_.end(), &tensor);
  if (argument == arguments_.end()) return std::nullopt;
  return SizedTensor{SizedTensor::Kind::Argument, static_cast<int>(argument - arguments_.begin())};
}

// The rules of the op's own read sizes, but are asked again in every size.
template <class Dispatch>
auto Invocation::noting_uses(const OpCall& call, Dispatch&& dispatch) {
  struct Noting {
    Invocation& self;
    SizeReads* reads;
    bool done = false;
    explicit Noting(Invocation& invocation) : self(invocation), reads(std::exchange(invocation.size_reads_, nullptr)) {
      current_size_reads = nullptr;
    }
    ~Noting() {
      self.size_reads_ = current_size_reads = reads;
      self.aim();
      if (!done) reads->give_up();  // user code may catch the error, and it may be one of these sizes only
    }
  } noting(*this);
  auto results = dispatch();
  if (mode_ != Mode::Eager) noting.reads->dispatched(call, call.symbols, path_.size() - 1);
  noting.done = true;
  return results;
}

Tensor Invocation::op_noting_uses(const OpCall& call) {
  return noting_uses(call, [&] { return op(call); });
}
std::vector<Tensor> Invocation::op_many_noting_uses(const OpCall& call) {
  return noting_uses(call, [&] { return op_many(call); });
}

/// What `step` is in this call, known or by the op's rules; null where it is something else.
Instance* Invocation::instance_of(Step& step, const OpCall& call, Match* how) {
  const Instance* seen = nullptr;
  for (Instance* child = cursor_->first_child.load(std::memory_order_acquire); child;
       child = child->next_sibling.load(std::memory_order_acquire)) {
    if (child->step != &step) continue;
    if ((*how = matches(*child, call)) != Match::No) return child;
    seen = child;
  }
  if (!is_instance_of(step, call, false)) return nullptr;
  if (seen && !is_in_other_sizes(step, *seen, call) && !is_in_other_numbers(step, *seen, call)) return nullptr;
  std::unique_ptr<Instance> fresh = infer_instance(step, call);
  if (!fresh) return nullptr;
  for (size_t i = 0; i < fresh->outputs.size(); ++i) {
    if (fresh->outputs[i].rank() != step.output_specs[i].rank()) return nullptr;  // user code may have looked
  }
  Instance* instance = add_instance(std::move(fresh), seen != nullptr);
  return (*how = matches(*instance, call)) != Match::No ? instance : nullptr;
}

bool Invocation::follow_path(const follow::SymbolicPath& path, std::span<TensorImpl* const> captured, std::string* why_not,
                             std::optional<SizeValues::Difference>* difference, const std::vector<std::string>& names) {
  struct Context {
    const Invocation& self;
    static const ir::TensorSpec* spec_of(const void* context, SizedTensor tensor) {
      const Invocation& self = static_cast<const Context*>(context)->self;
      const auto index = static_cast<size_t>(tensor.index);
      if (tensor.kind == SizedTensor::Kind::Argument)
        return index < self.arguments_.size() && self.arguments_[index] ? &impl_of(*self.arguments_[index]).spec : nullptr;
      return tensor.index < self.numbered_.slots ? &self.slot(tensor.index).spec : nullptr;
    }
  } context{*this};
  SizeValues values(path.sizes, Context::spec_of, &context);
  struct Modes {
    uint64_t before = detail::thread_ambient;
    ~Modes() { detail::thread_ambient = before; }
  } modes;
  const auto refuse = [&](std::string why) {
    *why_not = std::move(why);
    return false;
  };
  size_t use = 0;
  for (size_t s = 0; s < path.steps.size(); ++s) {
    Step& step = *path.steps[s];
    std::vector<Operand> operands;
    for (const RecordedOperand& o : step.operands) {
      switch (o.kind) {
        case Kind::None: operands.emplace_back(); break;
        case Kind::Slot: operands.emplace_back(&slot(o.index)); break;
        case Kind::External: {
          const int argument = path.externals[static_cast<size_t>(o.index)];
          TensorImpl* tensor =
              argument >= 0 ? static_cast<TensorImpl*>(arguments_[static_cast<size_t>(argument)]) : captured[static_cast<size_t>(o.index)];
          if (!tensor) return refuse("an argument is not there");
          operands.emplace_back(tensor);
          break;
        }
        case Kind::Scalar: operands.emplace_back(Scalar::from_bits(o.scalar.kind(), path.scalars[static_cast<size_t>(o.index)])); break;
      }
    }
    std::vector<ir::Attr> attrs = path.attrs[s];
    std::vector<std::vector<int64_t>> lists(attrs.size());
    for (; use < path.sizes.uses.size() && path.sizes.uses[use].step == s; ++use) {
      const SizeFacts::Use& u = path.sizes.uses[use];
      const auto value = values(u.node);
      if (!value) return refuse("a number of " + std::string(step.op->name) + " cannot be computed");
      if (u.operand >= 0) {
        operands[static_cast<size_t>(u.operand)] = Scalar(*value);
      } else if (u.element < 0) {
        attrs[static_cast<size_t>(u.attribute)] = ir::Attr(ir::AttrRef(*value));
      } else {
        std::vector<int64_t>& list = lists[static_cast<size_t>(u.attribute)];
        if (list.empty()) list = attrs[static_cast<size_t>(u.attribute)].ref().as_ints().vec();
        list[static_cast<size_t>(u.element)] = *value;
      }
    }
    for (size_t a = 0; a < lists.size(); ++a) {
      if (!lists[a].empty()) attrs[a] = ir::Attr(ir::AttrRef(lists[a]));
    }
    const std::vector<ir::AttrRef> refs(attrs.begin(), attrs.end());
    detail::thread_ambient = step.ambient & 0xff;
    const OpCall call{*step.op, operands, refs, step.inplace, step.where};
    Match how = Match::No;
    Instance* instance = instance_of(step, call, &how);
    if (!instance) return refuse(std::string(step.op->name) + " is something else in these sizes");
    step_to(*instance, call, how);
  }
  *difference = values.difference(names);
  if (*difference) return refuse("a fact about sizes does not hold");
  return true;
}

std::vector<Tensor> Invocation::slots_by_number(std::span<const int> numbers) {
  std::vector<Tensor> all;
  for (int number : numbers) {
    if (number < 0) {
      all.emplace_back();
    } else if (TensorImpl& value = slot(number); has_handles(value)) {
      all.emplace_back(IntrusivePtr<TensorHead>(&value));
    } else {
      value.slot = number;
      ++values_held;
      all.emplace_back(IntrusivePtr<TensorHead>::first(&value));
    }
  }
  return all;
}

void Invocation::unfollow() noexcept {
  drop_unexecuted();
  end();
}

}  // namespace tailor
