// Makes every pointwise op's kernel known.

#include "ir/ops/pointwise.h"
#include "ir/ops/pointwise_checks.h"
#include "ir/promotion.h"
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

template <class Op>
constexpr bool checks_scalars() {
  return std::is_same_v<Op, ir::Add> || std::is_same_v<Op, ir::Sub> || std::is_same_v<Op, ir::Rsub> || std::is_same_v<Op, ir::Pow> ||
         std::is_same_v<Op, ir::Celu> || std::is_same_v<Op, ir::Hardtanh>;
}

[[gnu::noinline]] void check_scalars(const Call& call) {
  ir::Promotion promotion;
  const Scalar* scalars[4] = {};
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Operand& operand = call.operands[i];
    if (operand.is_scalar()) scalars[i] = &operand.scalar;
    if (!(call.op.pointwise.promotes >> i & 1)) continue;
    if (operand.is_tensor()) promotion.add_tensor(operand.tensor.spec->dtype, !operand.tensor.spec->sizes.empty());
    if (operand.is_scalar()) promotion.add_scalar(operand.scalar.kind(), get_default_dtype());
  }
  ir::check_scalar_operands(call.op, promotion.result(), {scalars, call.operands.size()});
}

template <class List, int Index, class Op>
void kernel(const Call& call) {
  if constexpr (checks_scalars<Op>())
    if (call.operands.back().is_scalar() && (Op::arity == Op::min_arity || call.operands.size() == Op::arity)) check_scalars(call);
  run_pointwise(call, rows_now<List>()[Index]);
}

template <class... Ops>
void register_family(ir::OpList<Ops...>) {
  using List = ir::OpList<Ops...>;
  [&]<int... I>(std::integer_sequence<int, I...>) { (register_kernel(Ops::name, kernel<List, I, Ops>), ...); }
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
