#include "ir/ops/arithmetic.h"
#include "jit/llvm/formulas.h"

namespace tailor::jit {
[[maybe_unused]] static const bool registered = register_llvm_formulas<
    ir::Join<ir::ArithmeticUnaryOps, ir::ArithmeticBinaryOps, ir::DivisionOps, ir::ArithmeticTernaryOps, ir::PowerOps>>();
}
