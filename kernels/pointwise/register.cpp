// Makes every pointwise op's kernel known.

#include "ir/ops/pointwise.h"
#include "kernels/pointwise/driver.h"

namespace tailor::kernels {
namespace {

template <class List>
const InnerRow* rows_now() {
  switch (isa()) {
    case Isa::Avx512: return inner_rows<Isa::Avx512, List>();
    case Isa::Avx2: return inner_rows<Isa::Avx2, List>();
    case Isa::Sse2: return inner_rows<Isa::Sse2, List>();
  }
  return nullptr;
}

template <class List, int Index>
void kernel(const Call& call) {
  run_pointwise(call, rows_now<List>()[Index]);
}

template <class... Ops>
void register_family(ir::OpList<Ops...>) {
  using List = ir::OpList<Ops...>;
  [&]<int... I>(std::integer_sequence<int, I...>) { (register_kernel(Ops::name, kernel<List, I>), ...); }
  (std::make_integer_sequence<int, sizeof...(Ops)>());
}

const bool registered = [] {
  register_family(ir::ArithmeticUnaryOps{});
  register_family(ir::ArithmeticBinaryOps{});
  register_family(ir::ArithmeticTernaryOps{});
  register_family(ir::DivisionOps{});
  register_family(ir::PowerOps{});
  register_family(ir::RoundingOps{});
  register_family(ir::SelectionOps{});
  register_family(ir::CompareOps{});
  register_family(ir::LogicalOps{});
  register_family(ir::BitwiseOps{});
  register_family(ir::ExponentialOps{});
  register_family(ir::TrigonometricOps{});
  register_family(ir::SpecialOps{});
  register_family(ir::RectifierOps{});
  register_family(ir::SmoothActivationOps{});
  return true;
}();

}  // namespace
}  // namespace tailor::kernels
