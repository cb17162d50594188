#include "frontend/nn/epoch.h"

#include "tailor/tensor_handle.h"

namespace tailor::detail {

std::atomic<uint64_t> module_epoch_counter{1};

void bump_module_epoch() noexcept { module_epoch_counter.fetch_add(1, std::memory_order_acq_rel); }
void registered_handle_changed() noexcept { bump_module_epoch(); }

}  // namespace tailor::detail
