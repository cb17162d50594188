#pragma once
// Values and writes that a compiled call under way has promised but not yet computed, asked for from elsewhere: another thread, or
// eager code on memory that the call will write.

namespace tailor {
class Invocation;
}

namespace tailor::follow {

/// Invocations say when they come and go, so that a promise is only redeemed from one that exists.
void register_invocation(Invocation* invocation);
void unregister_invocation(Invocation* invocation) noexcept;

/// The invocation whose steps this thread runs op by op right now: its own pending marks do not hold it up.
Invocation*& executing_invocation() noexcept;

}  // namespace tailor::follow
