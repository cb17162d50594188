#include "frontend/follow/segment.h"

#include <algorithm>
#include <map>
#include <set>

#include "frontend/follow/trace.h"
#include "ir/ops/view_at.h"

namespace tailor::follow {

VariantList::~VariantList() {
  const Variant* v = head_.load();
  while (v) {
    const Variant* next = v->next;
    delete v;
    v = next;
  }
}

void VariantList::push(std::unique_ptr<Variant> variant) {
  variant->next = head_.load(std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
  head_.store(variant.release(), std::memory_order_release);
}

namespace {

class SegmentBuilder {
 public:
  SegmentBuilder(int first_slot, const SegmentFacts& facts, std::span<const std::string> external_names, std::string name)
      : first_slot_(first_slot), facts_(facts), external_names_(external_names), builder_(std::move(name)) {}

  void step(const Instance& instance, uint64_t lifted, const std::vector<ir::Attr>& attrs,
            const std::optional<ir::ViewResult>& lifted_view);
  std::unique_ptr<Variant> finish(std::vector<int> outputs);

 private:
  ir::ValueId input(bool slot, int index);
  ir::ValueId tensor_value(const RecordedOperand& operand);
  ir::ValueId scalar_node(Scalar seen, int number);

  int first_slot_;
  const SegmentFacts& facts_;
  std::span<const std::string> external_names_;
  ir::GraphBuilder builder_;
  std::map<int, ir::ValueId> slots_, externals_;  // the value that stands for each now
  std::unique_ptr<Variant> variant_ = std::make_unique<Variant>();
  std::vector<bool> lifted_;
  std::vector<std::pair<bool, int>> written_;
  std::map<int, uint32_t> slot_flags_;
  std::map<int, int> root_of_slot_;  // a slot that is a view of another value: which slot or ~external it looks at
};

ir::ValueId SegmentBuilder::input(bool slot, int index) {
  auto& known = slot ? slots_ : externals_;
  if (auto it = known.find(index); it != known.end()) return it->second;
  const InputRef& expected = facts_.inputs.at(variant_->inputs.size());
  internal_check(expected.slot == slot && expected.index == index, "the facts of a segment list its inputs in another order");
  const ir::TensorSpec& spec = facts_.input_specs[variant_->inputs.size()];
  const ir::ValueId value = builder_.placeholder(spec, slot ? "slot" + std::to_string(index) : external_names_[static_cast<size_t>(index)]);
  variant_->inputs.push_back({slot, index});
  return known[index] = value;
}

ir::ValueId SegmentBuilder::tensor_value(const RecordedOperand& operand) {
  return input(operand.kind == RecordedOperand::Kind::Slot, operand.index);
}

ir::ValueId SegmentBuilder::scalar_node(Scalar seen, int number) {
  variant_->scalars.push_back(number);
  lifted_[static_cast<size_t>(number - variant_->first_scalar)] = true;
  return builder_.scalar(seen, "s" + std::to_string(number));
}

void SegmentBuilder::step(const Instance& instance, uint64_t lifted, const std::vector<ir::Attr>& recorded,
                          const std::optional<ir::ViewResult>& lifted_view) {
  const Step& s = *instance.step;
  if (lifted_.empty()) variant_->first_scalar = s.first_scalar;
  lifted_.resize(static_cast<size_t>(s.scalar_count() - variant_->first_scalar), false);
  builder_.set_source({s.where.file_name(), static_cast<int>(s.where.line())});
  for (int i = 0; i < s.outputs; ++i) slot_flags_[s.first_slot + i] = s.output_flags[static_cast<size_t>(i)];

  std::vector<ir::Value> operands;
  int scalar = 0;
  for (const RecordedOperand& o : s.operands) {
    switch (o.kind) {
      case RecordedOperand::Kind::None: operands.emplace_back(); break;
      case RecordedOperand::Kind::Slot:
      case RecordedOperand::Kind::External: operands.emplace_back(tensor_value(o)); break;
      case RecordedOperand::Kind::Scalar:
        if (lifted >> scalar & 1)
          operands.emplace_back(scalar_node(o.scalar, o.index));
        else
          operands.emplace_back(o.scalar);
        ++scalar;
        break;
    }
  }

  const auto note_view = [&](int slot) {
    const RecordedOperand& base = s.operands[0];
    const int key = base.kind == RecordedOperand::Kind::Slot ? base.index : ~base.index;
    const auto it = base.kind == RecordedOperand::Kind::Slot ? root_of_slot_.find(base.index) : root_of_slot_.end();
    root_of_slot_[slot] = it == root_of_slot_.end() ? key : it->second;
  };

  if (lifted_view) {
    const ir::ValueId offset = scalar_node(Scalar(lifted_view->offset), s.scalar_count() - 1);
    const ir::Value base = operands[0];
    const ir::Value view_operands[] = {base, ir::Value(offset)};
    const ir::AttrRef attrs[] = {ir::AttrRef(lifted_view->sizes), ir::AttrRef(lifted_view->strides)};
    slots_[s.first_slot] = builder_.call_many(ir::view_at(), view_operands, attrs).at(0);
    note_view(s.first_slot);
    return;
  }

  const std::vector<ir::AttrRef> attrs(recorded.begin(), recorded.end());
  if (s.inplace) {
    const ir::ValueId result = builder_.call_inplace(*s.op, operands, attrs);
    const RecordedOperand& self = s.operands[0];
    (self.kind == RecordedOperand::Kind::Slot ? slots_ : externals_)[self.index] = result;
    // Which memory from outside was written: the value itself, or what it is a view of.
    int root = self.kind == RecordedOperand::Kind::Slot ? self.index : ~self.index;
    if (auto it = root_of_slot_.find(self.index); self.kind == RecordedOperand::Kind::Slot && it != root_of_slot_.end()) root = it->second;
    if (root < 0)
      written_.emplace_back(false, ~root);
    else if (root < first_slot_)
      written_.emplace_back(true, root);
    return;
  }
  const std::vector<int> results = builder_.call_many(*s.op, operands, attrs);
  for (int i = 0; i < s.outputs; ++i) slots_[s.first_slot + i] = results.at(static_cast<size_t>(i));
  if (s.op->kind == ir::OpKind::View) note_view(s.first_slot);
}

std::unique_ptr<Variant> SegmentBuilder::finish(std::vector<int> outputs) {
  std::vector<ir::ValueId> values;
  for (int slot : outputs) {
    values.push_back(slots_.at(slot));
    variant_->output_flags.push_back(slot_flags_.at(slot));
  }
  variant_->graph = builder_.finish(std::move(values));
  variant_->outputs = std::move(outputs);
  variant_->lifted = std::move(lifted_);
  for (const auto& [slot, index] : written_) {
    for (size_t i = 0; i < variant_->inputs.size(); ++i) {
      if (variant_->inputs[i].slot != slot || variant_->inputs[i].index != index) continue;
      const auto known = std::find(variant_->written.begin(), variant_->written.end(), static_cast<int>(i));
      if (known == variant_->written.end()) {
        variant_->written.push_back(static_cast<int>(i));
        variant_->write_counts.push_back(1);
      } else {
        ++variant_->write_counts[static_cast<size_t>(known - variant_->written.begin())];
      }
    }
  }
  return std::move(variant_);
}

}  // namespace

SegmentFacts facts_of(std::span<Instance* const> segment, int first_slot, std::span<const ir::TensorSpec* const> external_specs,
                      std::span<const ir::TensorSpec* const> slot_specs) {
  SegmentFacts facts;
  std::set<std::pair<bool, int>> known;
  for (const Instance* instance : segment) {
    const Step& step = *instance->step;
    for (const RecordedOperand& o : step.operands) {
      const bool slot = o.kind == RecordedOperand::Kind::Slot;
      if (!slot && o.kind != RecordedOperand::Kind::External) continue;
      if ((slot && o.index >= first_slot) || !known.insert({slot, o.index}).second) continue;
      facts.inputs.push_back({slot, o.index});
      facts.input_specs.push_back(*(slot ? slot_specs : external_specs)[static_cast<size_t>(o.index)]);
    }
    facts.attrs.push_back(instance->attrs);
    const uint64_t lifted = step.lifted.load(std::memory_order_relaxed);
    facts.lifted.push_back(lifted);
    facts.lifted_views.push_back(step.is_view && (lifted >> Step::kViewOffsetBit & 1) ? instance->view : std::nullopt);
  }
  return facts;
}

std::unique_ptr<Variant> build_segment(std::span<Instance* const> segment, int first_slot, std::vector<int> outputs,
                                       const SegmentFacts& facts, std::span<const std::string> external_names, std::string name) {
  SegmentBuilder builder(first_slot, facts, external_names, std::move(name));
  for (size_t i = 0; i < segment.size(); ++i) builder.step(*segment[i], facts.lifted[i], facts.attrs[i], facts.lifted_views[i]);
  return builder.finish(std::move(outputs));
}

}  // namespace tailor::follow
