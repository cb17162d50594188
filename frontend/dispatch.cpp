#include "frontend/dispatch.h"

namespace tailor {

static constinit thread_local OpInterceptor* interceptor = nullptr;
void (*pending_hook)(TensorImpl&, bool, std::source_location) = nullptr;

OpInterceptor*& current_interceptor() { return interceptor; }

Tensor dispatch(const OpCall& call) {
  if (interceptor != nullptr) return interceptor->op(call);
  return run_eager(call);
}

std::vector<Tensor> dispatch_many(const OpCall& call) {
  if (interceptor != nullptr) return interceptor->op_many(call);
  return run_eager_many(call);
}

void prepare_host_access(TensorImpl& impl, bool write, std::source_location where) {
  if (interceptor != nullptr) interceptor->host_access(impl, write, where);
  await_pending(impl, write, where);
}

}  // namespace tailor
