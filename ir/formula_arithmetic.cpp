#include "ir/formula_table.h"
#include "ir/ops/arithmetic.h"

namespace tailor::ir {
[[maybe_unused]] static const bool registered =
    register_formulas<Join<ArithmeticUnaryOps, ArithmeticBinaryOps, DivisionOps, PowerOps, ArithmeticTernaryOps>>();
}
