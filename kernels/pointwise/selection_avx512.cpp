#include "ir/ops/rounding.h"
#include "kernels/pointwise/inner_loops.h"

namespace tailor::kernels {

TAILOR_INNER_ROWS(RoundingOps)
TAILOR_INNER_ROWS(SelectionOps)

}  // namespace tailor::kernels
