#include "frontend/follow/trace.h"

namespace tailor::follow {
namespace {

bool same_operands(const Step& a, const Step& b) {
  if (a.operands.size() != b.operands.size()) return false;
  for (size_t i = 0; i < a.operands.size(); ++i) {
    const RecordedOperand &x = a.operands[i], &y = b.operands[i];
    if (x.kind != y.kind || x.index != y.index) return false;
    if (x.kind == RecordedOperand::Kind::Scalar && x.scalar.kind() != y.scalar.kind()) return false;
  }
  return true;
}

bool same_step(const Step& a, const Step& b) {
  if (a.kind != b.kind || a.op != b.op || a.inplace != b.inplace || !same_operands(a, b)) return false;
  if (a.ambient_mask != b.ambient_mask || ((a.ambient ^ b.ambient) & a.ambient_mask) != 0) return false;
  if (a.reads_leaf != b.reads_leaf || a.leaf_flags != b.leaf_flags) return false;
  if (a.attrs != b.attrs || a.outputs != b.outputs || a.new_externals.size() != b.new_externals.size()) return false;
  for (size_t i = 0; i < a.new_externals.size(); ++i) {
    if (!(a.new_externals[i].spec == b.new_externals[i].spec)) return false;
  }
  return true;
}

}  // namespace

void TraceTree::release_weights() {
  std::lock_guard lock(mutex_);
  for (const auto& step : steps_)
    for (const Variant* v = step->variants.head(); v; v = v->next)
      if (v->weights) v->weights->close();
}

Step* TraceTree::add(Step* parent, std::unique_ptr<Step> step) {
  std::lock_guard lock(mutex_);
  for (Step* child = parent->first_child.load(); child; child = child->next_sibling.load()) {
    if (same_step(*child, *step)) return child;
  }
  Step* added = step.get();
  added->parent = parent;
  added->depth = parent->depth + 1;
  added->next_sibling.store(parent->first_child.load(), std::memory_order_relaxed);
  if (added->kind == StepKind::Return) paths_.fetch_add(1, std::memory_order_relaxed);
  steps_.push_back(std::move(step));
  size_.fetch_add(1, std::memory_order_relaxed);
  parent->first_child.store(added, std::memory_order_release);
  parent->hot.store(added, std::memory_order_release);
  return added;
}

}  // namespace tailor::follow
