#pragma once
// The seam between the modes of the process and compiled calls under way.

namespace tailor {

/// Called before a mode of the process changes, on the thread that changes it: what a compiled call has promised under the old mode
/// is computed first. Set once, by frontend/follow.
extern void (*before_process_mode_change)();

}  // namespace tailor
