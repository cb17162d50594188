#pragma once
// Calls of pure functions in sizes that their bodies were never run in. SymbolicPlan is in entry.h.

#include "frontend/compile/entry.h"
#include "frontend/dispatch.h"

namespace tailor::detail {

/// What the body has read of the surroundings, for a call with these arguments.
std::vector<HostRead> reads_of(const SymbolicPlan& plan, std::span<TensorHead* const> arguments);

/// Sets the thread's interceptor for a scope.
class InterceptorScope {
 public:
  explicit InterceptorScope(OpInterceptor* interceptor) { current_interceptor() = interceptor; }
  InterceptorScope(const InterceptorScope&) = delete;
  InterceptorScope& operator=(const InterceptorScope&) = delete;
  ~InterceptorScope() { current_interceptor() = nullptr; }
};

}  // namespace tailor::detail
