#include "ir/formula_table.h"
#include "ir/ops/activation.h"
#include "ir/ops/transcendental.h"

namespace tailor::ir {
[[maybe_unused]] static const bool registered =
    register_formulas<Join<ExponentialOps, TrigonometricOps, SpecialOps, RectifierOps, SmoothActivationOps>>();
}
