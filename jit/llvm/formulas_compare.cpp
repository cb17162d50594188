#include "ir/ops/compare.h"
#include "jit/llvm/formulas.h"

namespace tailor::jit {
[[maybe_unused]] static const bool registered = register_llvm_formulas<ir::Join<ir::CompareOps, ir::LogicalOps, ir::BitwiseOps>>();
}
