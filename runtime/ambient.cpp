#include "runtime/ambient.h"

#include "runtime/ambient_hook.h"

namespace tailor {

void (*before_process_mode_change)() = nullptr;

namespace detail {
constinit thread_local uint64_t thread_ambient = 0;
constinit std::atomic<uint64_t> process_ambient{static_cast<uint64_t>(kFloat32) << kDefaultDtypeShift};

static void set_process_bits(uint64_t mask, uint64_t value) {
  uint64_t old = process_ambient.load();
  if ((old & mask) == value) return;
  if (before_process_mode_change != nullptr) before_process_mode_change();
  while (!process_ambient.compare_exchange_weak(old, (old & ~mask) | value)) {}
}
}  // namespace detail

void set_default_dtype(ScalarType type) {
  check(is_floating_point(type), "only floating-point types are supported as the default type, got ", type);
  detail::set_process_bits(uint64_t{15} << detail::kDefaultDtypeShift, static_cast<uint64_t>(type) << detail::kDefaultDtypeShift);
}

bool deterministic_algorithms() { return ((detail::process_ambient.load() >> detail::kDeterministicShift) & 1u) != 0; }
void set_deterministic_algorithms(bool on) {
  detail::set_process_bits(uint64_t{1} << detail::kDeterministicShift, static_cast<uint64_t>(on) << detail::kDeterministicShift);
}

}  // namespace tailor
