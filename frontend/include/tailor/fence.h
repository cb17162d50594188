#pragma once
// Order between what a compiled call has to do and memory that host code reaches behind its back.

#include <source_location>

namespace tailor {

/// Inside a call of a compiled function: everything that the body has asked for so far is computed, in-place writes included, before it
/// returns. Ops of a followed call run when their segment ends, which the library arranges wherever host code asks a tensor for its data;
/// it does not see raw pointers taken earlier, nor what other threads write to tensors that the call has read. Fence before using such a
/// pointer, and before telling another thread that it may write. Ends a segment, so that a pure function that fences is not skipped.
/// Outside of compiled calls ops have run when they return, and it does nothing. Throws Error in a `fullgraph` function where something is
/// pending, and what the pending ops throw.
///
///   float* p = x.data_ptr<float>();
///   auto f = tailor::compile([&](const Tensor& x) { Tensor y = x + 1; tailor::fence(); p[0] = 5; return y + x; });
void fence(std::source_location where = std::source_location::current());

}  // namespace tailor
