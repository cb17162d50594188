// tailor::fence(): an end of a segment that no tensor is asked for.

#include "tailor/fence.h"

#include "frontend/follow/invocation.h"

namespace tailor {

void fence(std::source_location where) {
  if (auto* invocation = dynamic_cast<Invocation*>(current_interceptor())) invocation->fence(where);
}

void Invocation::fence(std::source_location where) {
  if (mode_ == Mode::Eager || path_.size() == segment_begin_) return;  // nothing is pending
  check(!host_.fullgraph(), "fullgraph: ", host_.function_name(), " has a fence, at ",
        ir::SourceLocation{where.file_name(), static_cast<int>(where.line())}.str());
  end_segment(follow::StepKind::Escape, where, "the body has a fence");
}

}  // namespace tailor
