#include "ir/ops/compare.h"
#include "kernels/pointwise/inner_loops.h"

namespace tailor::kernels {

TAILOR_INNER_ROWS(CompareOps)
TAILOR_INNER_ROWS(LogicalOps)
TAILOR_INNER_ROWS(BitwiseOps)

}  // namespace tailor::kernels
