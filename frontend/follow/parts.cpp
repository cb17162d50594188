// Paths that share what they begin with.
//
// A segment is a path between two ends, compiled as a whole. Where the ways through the body are many, whole paths are many programs that
// say mostly the same. Past a number of paths, a call that leaves the recorded ones makes the way up to there a segment of its own, and
// only the rest is compiled for it. A loop whose trip count varies makes a path of each count: once that is seen, the body is recorded anew
// in parts, which end where the loop goes round, so that a count is a number of parts that are there.

#include <algorithm>

#include "frontend/follow/invocation.h"

namespace tailor {

using follow::Instance;
using follow::Step;
using follow::StepKind;

namespace {

bool same_place(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && a.column() == b.column() && std::string_view(a.file_name()) == b.file_name();
}

}  // namespace

bool Invocation::has_come_by(const ir::OpDef& op, const std::source_location& where, size_t since) const {
  return std::any_of(path_.begin() + since, path_.end(),
                     [&](const Instance* i) { return i->step->op == &op && same_place(i->step->where, where); });
}

// The op of the loop's first round comes again.
bool Invocation::goes_round(const OpCall& call) const {
  return tree_.is_in_parts() && path_.size() - segment_begin_ >= follow::TraceLimits().part &&
         has_come_by(call.op, call.where, segment_begin_);
}

// Whether the way on is that of other paths that have left here; found out when no recorded op is the one at hand.
bool Invocation::part_ends_here() {
  if (!tree_.has_parts() || path_.size() == segment_begin_) return false;
  const Instance* const end = find_end(StepKind::Escape);
  return end != nullptr && end->step->is_part.load(std::memory_order_relaxed);
}

// Whether there is no other way on.
bool Invocation::only_part_ends_here() const {
  if (!tree_.has_parts() || path_.size() == segment_begin_) return false;
  const Instance* only = cursor_->first_child.load(std::memory_order_acquire);
  return only != nullptr && !only->next_sibling.load(std::memory_order_relaxed) && only->step->is_part.load(std::memory_order_relaxed);
}

/// The call has left the recorded paths with this op (null: by coming to its end, instead of what was expected). What was followed has been
/// run op by op.
void Invocation::note_new_path(const Step* expected, const OpCall* call) {
  const bool full = tree_.is_full();
  if (!full && !host_.shares_parts()) return;
  const Step* other = call == nullptr ? expected : nullptr;
  const bool other_count = call != nullptr ? has_come_by(call->op, call->where, 0)
                                           : other != nullptr && other->op != nullptr && has_come_by(*other->op, other->where, 0);
  if (!full && other_count && tree_.note_other_count())
    host_.on_parts("the trip count of a loop varies", call != nullptr ? call->where : other->where);
  if (call == nullptr || path_.size() == segment_begin_) return;
  if ((full || tree_.paths() >= follow::TraceLimits().whole_paths) && tree_.may_begin_part()) {
    if (!full) host_.on_parts("it has many paths", call->where);
    end_part(call->where);
  }
}

void Invocation::end_part(std::source_location where) {
  end_segment(StepKind::Escape, where, "many paths go on from here");
  cursor_->step->is_part.store(true, std::memory_order_relaxed);
}

// A tree beside the one of whole paths: below an end of nothing.
void Invocation::begin_in_parts() {
  Instance* end = find_end(StepKind::Escape);
  if (end == nullptr) {
    auto step = std::make_unique<Step>();
    step->kind = StepKind::Escape;
    end = tree_.add(binding_to_join(), cursor_, std::move(step), std::make_unique<Instance>());
  }
  go_on_to(*end);
  start_next_segment();
}

}  // namespace tailor
