#include <algorithm>
#include <bit>

#include "jit/llvm/emit.h"

namespace tailor::jit {
namespace {

/// Bytes of the element that fills a vector register: the widest type computed with, where 8-byte types beside 4-byte ones take
/// two registers.
int64_t register_element(const LoopNest& nest) {
  int64_t widest = 1;
  bool four = false;
  auto consider = [&](ScalarType type) {
    const int64_t bytes = element_size(compute_type(type));
    widest = std::max(widest, bytes);
    four = four || bytes == 4;
  };
  for (const Expr& e : nest.exprs) {
    if (e.kind == ExprKind::Index || e.kind == ExprKind::Literal || e.kind == ExprKind::Param) continue;
    consider(e.type);
    if (e.kind == ExprKind::Op) consider(e.compute);
  }
  return four ? 4 : widest;
}

}  // namespace

Schedule choose_schedule(const LoopNest& nest, const Target& target) {
  Schedule s;
  const auto element = register_element(nest);
  s.lanes = static_cast<unsigned>(target.vector_bytes / element);
  const Size& extent = nest.dims[static_cast<size_t>(nest.vector_dim)].extent;
  if (extent.is_static() && extent.value > 0) {
    while (s.lanes > 2 && extent.value <= s.lanes / 2) s.lanes /= 2;
  }
  return s;
}

}  // namespace tailor::jit
