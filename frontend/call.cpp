#include "frontend/call.h"

#include "ir/graph.h"
#include "ir/ops/movement.h"

namespace tailor {

const ir::OpDef& require_op(std::string_view name) {
  const ir::OpDef* op = ir::find_op(name);
  check<NotImplementedError>(op != nullptr, name, ": this build has no such op");
  return *op;
}

std::string at(const Where& where) {
  return where.line() == 0 ? "" : ", at " + ir::SourceLocation{where.file_name(), static_cast<int>(where.line())}.str();
}

void raise_undefined(Where where) {
  detail::raise("expected a defined tensor, got one that holds nothing (a default-constructed Tensor)", at(where));
}

SymSizes broadcast_sizes(const SymSizes& a, const SymSizes& b) {
  {
    const UnnotedReads checked;
    Dims plain[2];
    for (const SymInt& size : a) plain[0].push_back(size.unguarded());
    for (const SymInt& size : b) plain[1].push_back(size.unguarded());
    ir::broadcast_shapes(plain[0], plain[1]);
  }
  const SymSizes &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
  SymSizes result = longer;
  for (size_t i = 0; i < shorter.size(); ++i) {
    SymInt& size = result[longer.size() - shorter.size() + i];
    if (size != shorter[i] && size == 1) size = shorter[i];
  }
  return result;
}

Operand symbolic_operand(const TensorOrScalar& x) {
  const SymInt number = x.sym_int();
  if (SizeReads* reads = current_size_reads; reads && reads->owns(number))
    reads->operand_noted(number);
  else
    SizeReads::give_up_of(number);
  return Scalar(number.unguarded());
}

std::vector<Operand> operand_list(Where where, TensorList tensors) {
  std::vector<Operand> list;
  list.reserve(tensors.size());
  for (const Tensor& t : tensors) list.push_back(operand(where, t));
  return list;
}

}  // namespace tailor
