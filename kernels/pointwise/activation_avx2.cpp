#include "ir/ops/activation.h"
#include "kernels/pointwise/inner_loops.h"

namespace tailor::kernels {

TAILOR_INNER_ROWS(RectifierOps)
TAILOR_INNER_ROWS(SmoothActivationOps)

}  // namespace tailor::kernels
