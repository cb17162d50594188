#include "ir/ops/transcendental.h"
#include "kernels/pointwise/inner_loops.h"

namespace tailor::kernels {

TAILOR_INNER_ROWS(ExponentialOps)

}  // namespace tailor::kernels
