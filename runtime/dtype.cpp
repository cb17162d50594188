#include "runtime/dtype.h"

namespace tailor {

// Within a category the wider type wins; u8 with a signed integer needs a signed type that holds both; the two half types have
// only float32 in common.
ScalarType promote_types(ScalarType a, ScalarType b) {
  internal_check(a != ScalarType::Undefined && b != ScalarType::Undefined, "promote_types of an undefined dtype");
  if (a == b) return a;
  if (a == kBool) return b;
  if (b == kBool) return a;
  const bool float_a = is_floating_point(a), float_b = is_floating_point(b);
  if (float_a != float_b) return float_a ? a : b;
  if (float_a) {
    if (is_half_type(a) && is_half_type(b)) return kFloat32;
    return element_size(a) > element_size(b) ? a : b;
  }
  if ((a == kUInt8 && b == kInt8) || (a == kInt8 && b == kUInt8)) return kInt16;
  return element_size(a) > element_size(b) ? a : b;
}

}  // namespace tailor
