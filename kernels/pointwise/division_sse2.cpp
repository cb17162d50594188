#include "ir/ops/arithmetic.h"
#include "kernels/pointwise/inner_loops.h"

namespace tailor::kernels {

TAILOR_INNER_ROWS(DivisionOps)

}  // namespace tailor::kernels
