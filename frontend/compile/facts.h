#pragma once
// From what arguments are called in C++ to guards.

#include "frontend/dispatch.h"
#include "guards/guard_set.h"
#include "tailor/arguments.h"

namespace tailor::detail {

/// Every number, enumerator and text of a call.
void require_scalars(guards::GuardSet& guards, std::span<const Scalar> scalars, const ArgumentNames& names);
/// Every length, presence, alternative and set of keys.
void require_structure(guards::GuardSet& guards, std::span<const int64_t> words, const ArgumentNames& names);
/// What user code has read of the surroundings of the call.
void require_reads(guards::GuardSet& guards, std::span<const HostRead> reads, const guards::CallDescriptor& call,
                   std::span<TensorHead* const> arguments, const ArgumentNames& names);

}  // namespace tailor::detail
