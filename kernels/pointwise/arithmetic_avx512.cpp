#include "ir/ops/arithmetic.h"
#include "kernels/pointwise/inner_loops.h"

namespace tailor::kernels {

TAILOR_INNER_ROWS(ArithmeticUnaryOps)
TAILOR_INNER_ROWS(ArithmeticBinaryOps)
TAILOR_INNER_ROWS(ArithmeticTernaryOps)

}  // namespace tailor::kernels
