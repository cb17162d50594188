#include "frontend/dispatch.h"

namespace tailor {

constinit thread_local OpInterceptor* detail::thread_interceptor = nullptr;
void (*pending_hook)(TensorImpl&, bool, std::source_location) = nullptr;

void prepare_host_access(TensorImpl& impl, bool write, std::source_location where) {
  if (OpInterceptor* const interceptor = current_interceptor()) interceptor->host_access(impl, write, where);
  await_pending(impl, write, where);
}

void prepare_place(TensorImpl& impl, std::source_location where) {
  const OpInterceptor* const call = current_interceptor();
  if (impl.is_lazy() || (call != nullptr && call->computes(impl))) prepare_host_access(impl, false, where);
}

}  // namespace tailor
