#include "ir/ops/activation.h"
#include "jit/llvm/formulas.h"

namespace tailor::jit {
[[maybe_unused]] static const bool registered = register_llvm_formulas<ir::Join<ir::RectifierOps, ir::SmoothActivationOps>>();
}
