// Numbers that no tensor's size explains: lengths that user code counts, sizes of arguments that no op takes.
//
// A step whose integers shape its result may come with others: the same step in other numbers, as it may come in other sizes. The call is
// followed from there as one of new sizes, and the number is a symbol of its own where its segment is compiled. Integers that choose (a
// dim) or that change no size make paths.

#include <algorithm>

#include "frontend/follow/invocation.h"

namespace tailor {

using follow::Instance;
using follow::Step;
using follow::StepKind;

namespace {

bool names_dims(std::string_view attribute) { return attribute.find("dim") != std::string_view::npos; }

bool other_sizes_only(const std::vector<ir::TensorSpec>& seen, const std::vector<ir::TensorSpec>& got) {
  bool some = false;
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i].rank() != got[i].rank()) return false;
    for (size_t d = 0; d < seen[i].sizes.size(); ++d) {
      if (seen[i].sizes[d] == got[i].sizes[d]) continue;
      if (seen[i].sizes[d] < 2 || got[i].sizes[d] < 2) return false;
      some = true;
    }
  }
  return some;
}

}  // namespace

bool Invocation::is_in_other_numbers(Step& step, const Instance& seen, const OpCall& call) const {
  if (step.kind != StepKind::Op || step.inplace || step.numbers.load(std::memory_order_relaxed) == Step::Numbers::Choose) return false;
  for (size_t i = 0; i < call.attrs.size(); ++i) {
    if (seen.attrs[i].ref() == call.attrs[i]) continue;
    if (i >= step.op->attr_names.size() || names_dims(step.op->attr_names[i])) return false;
  }
  const std::unique_ptr<Instance> got = infer_instance(step, call);
  if (!got || got->outputs.size() != seen.outputs.size() || !other_sizes_only(seen.outputs, got->outputs)) return false;
  Step::Numbers before = Step::Numbers::Unknown;
  if (step.numbers.compare_exchange_strong(before, Step::Numbers::Vary))
    host_.on_difference(follow::number_of_step_that_varies(seen, call));
  return true;
}

}  // namespace tailor

namespace tailor::follow {

bool is_no_size(const Step& step, size_t attribute) {
  return step.numbers.load(std::memory_order_relaxed) == Step::Numbers::Vary ||
         (attribute < step.op->attr_names.size() && step.op->attr_names[attribute] == "count");
}

bool in_same_numbers(const Instance* a, const Instance* b) {
  for (; a != nullptr && b != nullptr && a != b; a = a->parent, b = b->parent) {
    if (a->step != b->step) return false;
    if (a->step->numbers.load(std::memory_order_relaxed) != Step::Numbers::Vary) continue;
    if (a->step->is_view ? a->view->sizes != b->view->sizes : a->attrs != b->attrs) return false;
  }
  return a == b || (a == nullptr) == (b == nullptr);
}

void numbers_choose(std::span<Instance* const> segment) {
  for (const Instance* instance : segment) {
    Step::Numbers before = Step::Numbers::Vary;
    instance->step->numbers.compare_exchange_strong(before, Step::Numbers::Choose);
  }
}

}  // namespace tailor::follow
