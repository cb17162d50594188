#pragma once
// Running one compiled segment over tensors: memory for its outputs, the aliasing check, versions.

#include <span>

#include "frontend/follow/segment.h"
#include "frontend/tensor_impl.h"
#include "runtime/own_vector.h"

namespace tailor::follow {

enum class RunResult : uint8_t {
  Done,
  Aliased,    // nothing ran: an input that is written shares its storage with another one
  DataError,  // nothing visible happened: an op found data it cannot work on
};

/// Adds the microseconds that compiled code takes on this thread to `*us` until the end of the scope; null: to none.
class RunTimer {
 public:
  explicit RunTimer(double* us) noexcept;
  RunTimer(const RunTimer&) = delete;
  RunTimer& operator=(const RunTimer&) = delete;
  ~RunTimer();

 private:
  double* before_;
};

/// Room that running needs, kept by whoever runs often.
struct RunScratch {
  OwnVector<void*> in, out;
  OwnVector<IntrusivePtr<Storage>> fresh;
};

/// `inputs` and `outputs` as the variant lists them; outputs get storage; who has shown them to others as lazy says that they are not.
RunResult run_variant(const Variant& variant, std::span<TensorImpl* const> inputs, std::span<const int64_t> scalars,
                      std::span<TensorImpl* const> outputs, RunScratch& scratch);

}  // namespace tailor::follow
