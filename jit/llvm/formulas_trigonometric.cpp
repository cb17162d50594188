#include "ir/ops/transcendental.h"
#include "jit/llvm/formulas.h"

namespace tailor::jit {
[[maybe_unused]] static const bool registered = register_llvm_formulas<ir::Join<ir::TrigonometricOps, ir::SpecialOps>>();
}
