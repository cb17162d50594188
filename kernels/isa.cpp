#include <algorithm>
#include <atomic>

#include "kernels/kernels.h"
#include "runtime/config.h"
#include "runtime/cpu.h"

namespace tailor::kernels {

static Isa highest() {
  const CpuFeatures& f = cpu_features();
  return f.avx512 ? Isa::Avx512 : f.avx2 ? Isa::Avx2 : Isa::Sse2;
}

static Isa initial() {
  const std::string& wanted = config().isa;
  const Isa limit = wanted == "sse2" ? Isa::Sse2 : wanted == "avx2" ? Isa::Avx2 : Isa::Avx512;
  return std::min(limit, highest());
}

static std::atomic<Isa>& current() {
  static std::atomic<Isa> isa{initial()};
  return isa;
}

Isa isa() { return current().load(std::memory_order_relaxed); }

Isa set_isa(Isa isa) {
  static constexpr const char* names[] = {"sse2", "avx2", "avx512"};
  check(isa <= highest(), "set_isa: this machine has no ", names[static_cast<int>(isa)]);
  return current().exchange(isa);
}

}  // namespace tailor::kernels
