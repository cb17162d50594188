#pragma once
// Random numbers for ops: nobody draws from the generator but by this.

#include "frontend/dispatch.h"
#include "runtime/philox.h"

namespace tailor {

/// The generator's next numbers. A call that draws is never skipped: it would draw the same ones again.
inline PhiloxState draw_numbers(int64_t elements) {
  if (OpInterceptor* const call = current_interceptor()) call->host_read({.what = HostRead::What::Random});
  return default_generator().draw(elements);
}

}  // namespace tailor
