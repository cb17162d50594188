#include "frontend/follow/trace.h"

#include <algorithm>
#include <array>

#include "tailor/tensor_handle.h"

namespace tailor::follow {

bool same_operands(const Step& a, const Step& b) {
  if (a.operands.size() != b.operands.size()) return false;
  for (size_t i = 0; i < a.operands.size(); ++i) {
    const RecordedOperand &x = a.operands[i], &y = b.operands[i];
    if (x.kind != y.kind || x.index != y.index) return false;
    if (x.kind == RecordedOperand::Kind::Scalar && x.scalar.kind() != y.scalar.kind()) return false;
  }
  return true;
}

namespace {

bool same_step(const Step& a, const Step& b) {
  return a.kind == b.kind && a.op == b.op && a.inplace == b.inplace && a.ambient_mask == b.ambient_mask &&
         ((a.ambient ^ b.ambient) & a.ambient_mask) == 0 && same_operands(a, b) && a.reads_leaf == b.reads_leaf &&
         a.leaf_flags == b.leaf_flags && a.external_arguments.size() == b.external_arguments.size();
}

bool same_instance(const Instance& a, const Instance& b) {
  return a.attrs == b.attrs && a.outputs == b.outputs && a.externals == b.externals;
}

Instance* child_like(Instance* parent, const Instance& wanted) {
  for (Instance* child = parent->first_child.load(); child; child = child->next_sibling.load()) {
    if (child->step == wanted.step && same_instance(*child, wanted)) return child;
  }
  return nullptr;
}

void link(Instance* parent, Instance* child) {
  child->prepare();
  child->parent = parent;
  child->next_sibling.store(parent->first_child.load(), std::memory_order_relaxed);
  parent->first_child.store(child, std::memory_order_release);
  parent->hot.store(child, std::memory_order_release);
}

}  // namespace

uint64_t Instance::next_serial() noexcept {
  static constinit std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void Instance::prepare() {
  const Step& s = *step;
  if (s.kind != StepKind::Op || s.outputs != 1 || s.inplace || s.is_view || s.operands.size() > UsualStep::kOperands) return;
  std::array<ir::OperandOf<const void*>, UsualStep::kOperands> operands;
  for (size_t i = 0; i < s.operands.size(); ++i) {
    const RecordedOperand& o = s.operands[i];
    switch (o.kind) {
      case RecordedOperand::Kind::None: break;
      case RecordedOperand::Kind::Scalar:
        operands[i] = o.scalar;
        usual.place[i] = o.index;
        usual.bits[i] = o.scalar.bits();
        break;
      case RecordedOperand::Kind::Slot:
      case RecordedOperand::Kind::External:
        operands[i].kind = ir::OperandOf<const void*>::Kind::Tensor;
        usual.place[i] = o.kind == RecordedOperand::Kind::Slot ? place_of_slot(o.index) : place_of_external(o.index);
        if (o.kind == RecordedOperand::Kind::External && o.index >= s.first_external) usual.binds |= 1u << i;
        break;
    }
  }
  usual.op = s.op;
  usual.signature = UsualStep::signature_of(std::span(operands.data(), s.operands.size()), s.attr_count);
  usual.ambient = static_cast<uint32_t>(s.ambient);
  usual.ambient_mask = static_cast<uint32_t>(s.ambient_mask);
  usual.number = s.number;
  usual.flags = TensorHead::kLazy | TensorHead::kSlot | s.output_flags[0];
  usual.after = {static_cast<int>(s.slots_after), static_cast<int>(s.externals_after)};
  usual.result = place_of_slot(s.first_slot);
  usual.lifted = &s.lifted;
  usual.all_lifted = (uint64_t{1} << s.scalars) - 1;
}

uint32_t TraceTree::steps(Room* room) {
  std::lock_guard lock(mutex_);
  *room = room_;
  return step_count_.load(std::memory_order_relaxed);
}

bool TraceTree::note_other_count() {
  if (other_counts_.fetch_add(1, std::memory_order_relaxed) + 1 < TraceLimits().whole_paths) return false;
  std::lock_guard lock(mutex_);
  if (in_parts_.exchange(true)) return false;
  paths_.store(0, std::memory_order_relaxed);  // the new tree's
  return true;
}

void TraceTree::release_weights() {
  std::lock_guard lock(mutex_);
  for (const auto& [sizes, b] : bindings_) b->release_weights();
}

void Binding::release_weights() const {
  for (const auto& instance : instances) {
    for (const Variant* v = instance->variants.head(); v; v = v->next)
      if (v->weights) v->weights->close();
    for (const std::shared_ptr<Binding>& fork : instance->forks) fork->release_weights();
  }
}

Instance* TraceTree::add(Binding& binding, Instance* parent, std::unique_ptr<Step> step, std::unique_ptr<Instance> instance) {
  std::lock_guard lock(mutex_);
  for (Instance* child = parent->first_child.load(); child; child = child->next_sibling.load()) {
    if (same_step(*child->step, *step) && same_instance(*child, *instance)) return child;
  }
  Step* under = parent->step;
  Step* added = step.get();
  added->parent = under;
  added->depth = under->depth + 1;
  added->attrs = instance->attrs;
  added->output_specs = instance->outputs;
  added->external_specs = instance->externals;
  added->operand_count = static_cast<uint32_t>(added->operands.size());
  added->attr_count = static_cast<uint32_t>(added->attrs.size());
  added->slots_after = static_cast<uint32_t>(added->slot_count());
  added->externals_after = static_cast<uint32_t>(added->external_count());
  added->scalars_after = static_cast<uint32_t>(added->scalar_count());
  room_.slots = std::max<size_t>(room_.slots, added->slots_after);
  room_.externals = std::max<size_t>(room_.externals, added->externals_after);
  room_.scalars = std::max<size_t>(room_.scalars, added->scalars_after);
  added->number = step_count_.load(std::memory_order_relaxed);
  step_count_.store(added->number + 1, std::memory_order_release);
  added->next_sibling.store(under->first_child.load(), std::memory_order_relaxed);
  if (added->kind == StepKind::Return) paths_.fetch_add(1, std::memory_order_relaxed);
  steps_.push_back(std::move(step));
  size_.fetch_add(1, std::memory_order_relaxed);
  instance->step = added;
  link(parent, instance.get());
  binding.instances.push_back(std::move(instance));
  under->first_child.store(added, std::memory_order_release);
  return binding.instances.back().get();
}

Instance* TraceTree::add(Binding& binding, Instance* parent, std::unique_ptr<Instance> instance) {
  std::lock_guard lock(mutex_);
  if (Instance* known = child_like(parent, *instance)) return known;
  link(parent, instance.get());
  binding.instances.push_back(std::move(instance));
  size_.fetch_add(1, std::memory_order_relaxed);
  return binding.instances.back().get();
}

std::shared_ptr<Binding> TraceTree::binding(std::span<const int64_t> sizes) {
  std::lock_guard lock(mutex_);
  ++clock_;
  std::vector<int64_t> key(sizes.begin(), sizes.end());
  if (const auto known = bindings_.find(key); known != bindings_.end()) {
    known->second->last_used = clock_;
    return known->second;
  }
  const TraceLimits limits;
  if (bindings_.size() >= limits.bindings || (size() >= limits.steps && !bindings_.empty())) {
    const auto oldest = std::min_element(bindings_.begin(), bindings_.end(),
                                         [](const auto& a, const auto& b) { return a.second->last_used < b.second->last_used; });
    size_.fetch_sub(oldest->second->instances.size() - 1, std::memory_order_relaxed);
    bindings_.erase(oldest);
  }
  auto root = std::make_unique<Instance>();
  root->step = this->root();
  auto fresh = std::make_shared<Binding>(std::move(root));
  fresh->last_used = clock_;
  bindings_.emplace(std::move(key), fresh);
  binding_count_.store(bindings_.size(), std::memory_order_relaxed);
  return fresh;
}

void TraceTree::sizes_vary(std::span<const int64_t> sizes) {
  std::lock_guard lock(mutex_);
  decltype(bindings_) renamed;
  for (auto& [key, binding] : bindings_) {
    std::vector<int64_t> longer = key;
    longer.insert(longer.end(), sizes.begin(), sizes.end());
    renamed.emplace(std::move(longer), std::move(binding));
  }
  bindings_ = std::move(renamed);
}

std::shared_ptr<Binding> TraceTree::fork(Instance* parent, std::unique_ptr<Instance> instance) {
  std::lock_guard lock(mutex_);
  ++clock_;
  for (const std::shared_ptr<Binding>& b : parent->forks) {
    if (b->first()->step != instance->step || !same_instance(*b->first(), *instance)) continue;
    b->last_used = clock_;
    return b;
  }
  const TraceLimits limits;
  if (parent->forks.size() >= limits.forks || (!parent->forks.empty() && size() >= limits.steps / 2)) {
    const auto oldest = std::min_element(parent->forks.begin(), parent->forks.end(),
                                         [](const auto& a, const auto& b) { return a->last_used < b->last_used; });
    size_.fetch_sub((*oldest)->instances.size(), std::memory_order_relaxed);
    parent->forks.erase(oldest);
  }
  instance->parent = parent;
  instance->prepare();
  auto fresh = std::make_shared<Binding>(std::move(instance));
  fresh->last_used = clock_;
  size_.fetch_add(1, std::memory_order_relaxed);
  parent->forks.push_back(fresh);
  return fresh;
}

}  // namespace tailor::follow
