#include "ir/formula_table.h"
#include "ir/ops/compare.h"
#include "ir/ops/rounding.h"

namespace tailor::ir {
[[maybe_unused]] static const bool registered =
    register_formulas<Join<RoundingOps, SelectionOps, CastOps, CompareOps, LogicalOps, BitwiseOps>>();
}
