#include "frontend/follow/difference.h"

#include "frontend/follow/trace.h"
#include "guards/kinds/number.h"
#include "guards/kinds/state.h"
#include "ir/text.h"
#include "runtime/ambient.h"

namespace tailor::follow {
namespace {

using Kind = RecordedOperand::Kind;

std::string place(const std::source_location& where) {
  return where.line() == 0 ? std::string() : " at " + ir::SourceLocation{where.file_name(), static_cast<int>(where.line())}.str();
}

/// "other of mul"
std::string operand_name(const ir::OpDef& op, size_t i) {
  const std::string name = i < op.operand_names.size() ? std::string(op.operand_names[i]) : "operand " + std::to_string(i);
  return name + " of " + std::string(op.name);
}

std::string kind_of(const RecordedOperand& o) {
  switch (o.kind) {
    case Kind::None: return "nothing";
    case Kind::Scalar: return "a number";
    case Kind::Slot:
    case Kind::External: return "a tensor";
  }
  return "?";
}
std::string kind_of(const Operand& o) { return o.is_tensor() ? "a tensor" : o.is_scalar() ? "a number" : "nothing"; }

std::string op_name(const ir::OpDef& op, bool inplace) { return std::string(op.name) + (inplace ? "_" : ""); }

Difference at(const Step& step) {
  Difference d;
  d.step = step.depth;
  d.where = step.where;
  return d;
}

std::string expected_of(const Step& step) {
  switch (step.kind) {
    case StepKind::Op: return op_name(*step.op, step.inplace);
    case StepKind::Return: return "the end";
    case StepKind::Escape: return "a read on the host";
    case StepKind::Root: break;
  }
  return "?";
}

/// Where the ops are the same: what else it is that differs. Sizes, and integers that may follow from them, are what they were in these
/// sizes only.
bool same_op_differs(Difference& d, const Way& expected, const OpCall& got) {
  const Step& step = *expected.step;
  const bool in_other_sizes = expected.in_these_sizes == nullptr;
  const std::vector<ir::Attr>& attrs = in_other_sizes ? step.attrs : expected.in_these_sizes->attrs;
  const std::vector<ir::TensorSpec>& externals = in_other_sizes ? step.external_specs : expected.in_these_sizes->externals;
  const auto say = [&](std::string what, std::string was, std::string is) {
    d.what = std::move(what);
    d.expected = std::move(was);
    d.actual = std::move(is) + place(got.where);
    return true;
  };
  if ((step.ambient ^ ambient_word()) & step.ambient_mask)
    return say("modes", guards::kinds::modes_text(step.ambient), guards::kinds::modes_text(ambient_word()));
  if (step.operands.size() != got.operands.size())
    return say("operands of " + std::string(step.op->name), std::to_string(step.operands.size()), std::to_string(got.operands.size()));
  for (size_t i = 0; i < got.operands.size(); ++i) {
    const RecordedOperand& was = step.operands[i];
    const Operand& is = got.operands[i];
    if (kind_of(was) != kind_of(is)) return say(operand_name(*step.op, i), kind_of(was), kind_of(is));
    if (was.kind == Kind::Scalar && was.scalar.kind() != is.scalar.kind())
      return say(operand_name(*step.op, i), guards::kinds::number_text(was.scalar), guards::kinds::number_text(is.scalar));
    const auto number = static_cast<size_t>(was.index - step.first_external);
    if (was.kind != Kind::External || was.index < step.first_external || number >= externals.size()) continue;
    const ir::TensorSpec& recorded = externals[number];
    if (in_other_sizes ? !differs_in_size_only(recorded, is.tensor->spec) : !(recorded == is.tensor->spec))
      return say(operand_name(*step.op, i), ir::to_string(recorded), ir::to_string(is.tensor->spec));
  }
  for (size_t i = 0; i < got.attrs.size() && i < attrs.size(); ++i) {
    if (in_other_sizes ? may_be_another_number(attrs[i].ref(), got.attrs[i]) : attrs[i].ref() == got.attrs[i]) continue;
    d.attribute = ir::to_string(got.attrs[i]);
    const std::string name = i < step.op->attr_names.size() ? std::string(step.op->attr_names[i]) : "attribute " + std::to_string(i);
    return say(name + " of " + std::string(step.op->name), ir::to_string(attrs[i].ref()), ir::to_string(got.attrs[i]));
  }
  return say("operands of " + std::string(step.op->name), "those recorded", "other tensors");
}

}  // namespace

Difference number_that_varies(const Step& step, int bit, const Scalar& recorded, const Scalar& got) {
  Difference d = at(step);
  d.kind = Difference::Kind::Lift;
  d.expected = guards::kinds::number_text(recorded);
  d.actual = guards::kinds::number_text(got);
  if (bit == Step::kViewOffsetBit) {
    d.what = "offset of " + std::string(step.op->name);
    return d;
  }
  for (size_t i = 0; i < step.operands.size(); ++i) {
    if (step.operands[i].kind == Kind::Scalar && bit-- == 0) d.what = operand_name(*step.op, i);
  }
  return d;
}

Way most_like(const Instance& here, const OpCall* got) {
  const auto is_like = [&](const Step* step) { return step != nullptr && step->kind == StepKind::Op && step->op == &got->op; };
  const Instance* const last = here.hot.load(std::memory_order_acquire);
  Way most{last ? last->step : nullptr, last};
  if (got == nullptr) return most;
  for (const Instance* child = here.first_child.load(); child && !is_like(most.step); child = child->next_sibling.load())
    if (is_like(child->step)) most = {child->step, child};
  for (const Step* step = here.step->first_child.load(); step && !is_like(most.step); step = step->next_sibling.load())
    if (is_like(step) || most.step == nullptr) most = {step, nullptr};
  return most;
}

Difference number_of_step_that_varies(const Instance& seen, const OpCall& got) {
  Difference d = at(*seen.step);
  d.kind = Difference::Kind::Lift;
  same_op_differs(d, {seen.step, &seen}, got);
  d.attribute.clear();
  return d;
}

Difference other_path(const Way& expected, const OpCall& got) {
  const Step& step = *expected.step;
  Difference d = at(step);
  if (step.kind == StepKind::Op && step.op == &got.op && step.inplace == got.inplace && same_op_differs(d, expected, got)) return d;
  d.what = "op";
  d.expected = expected_of(step);
  d.actual = op_name(got.op, got.inplace) + place(got.where);
  return d;
}

Difference other_path(const Way& expected, bool returns, std::source_location where) {
  Difference d = at(*expected.step);
  d.what = "op";
  d.expected = expected_of(*expected.step);
  d.actual = (returns ? "the end" : "a read on the host") + place(where);
  return d;
}

bool differs_in_size_only(const ir::TensorSpec& seen, const ir::TensorSpec& got) {
  if (seen.dtype != got.dtype || seen.device != got.device || seen.requires_grad != got.requires_grad || seen.rank() != got.rank())
    return false;
  for (size_t d = 0; d < seen.sizes.size(); ++d) {
    if (seen.sizes[d] != got.sizes[d] && (seen.sizes[d] < 2 || got.sizes[d] < 2)) return false;
  }
  return true;
}

bool may_be_another_number(const ir::AttrRef& seen, const ir::AttrRef& got) {
  if (seen.kind != got.kind) return false;
  switch (seen.kind) {
    case ir::AttrRef::Kind::Int: return true;
    case ir::AttrRef::Kind::Ints: return seen.count == got.count;
    default: return seen == got;
  }
}

}  // namespace tailor::follow
