#include "kernels/pointwise/driver.h"

#include <algorithm>
#include <memory>

#include "kernels/copy.h"
#include "kernels/pointwise/strided.h"
#include "runtime/thread_pool.h"

namespace tailor::kernels {
namespace {

constexpr int kMaxOperands = LoopDims::kMaxSides - 1;

/// One array of the loop: side 0 is the output.
struct Side {
  TensorArg arg;                                                            // spec is null for a scalar
  ScalarType memory = ScalarType::Undefined, loop = ScalarType::Undefined;  // its dtype in memory and in the inner loop
  bool constant = false;
};

struct Plan {
  InnerLoop loop = nullptr;
  int count = 0;  // operands
  Side sides[LoopDims::kMaxSides];
  ScalarType rounded = ScalarType::Undefined;  // the result dtype, through which the value passes on its way to memory
  LoopDims dims;
  alignas(kMaxVectorBytes) char constants[LoopDims::kMaxSides][kMaxVectorBytes];
};

/// Storage of one pass: a block of each side in the loop's type, and room to convert.
struct Buffers {
  alignas(kMaxVectorBytes) char sides[LoopDims::kMaxSides][kBlock * 8];
  alignas(kMaxVectorBytes) char spare[kBlock * 8];
  alignas(kMaxVectorBytes) char splats[LoopDims::kMaxSides][kMaxVectorBytes];
};

/// One element, in any dtype, as a splat in the loop's type.
void load_constant(const Side& side, const char* element, char* to) {
  char converted[8];
  if (side.memory != side.loop) {
    convert_loop(side.memory, side.loop)(element, converted, 1);
    element = converted;
  }
  splat(to, element, element_size(side.loop));
}

/// n elements in the loop's type, contiguous; `buffer` is used where memory is not so already.
const char* load_block(const Side& side, const char* from, int64_t stride, int64_t n, char* buffer, char* spare) {
  const int64_t width = element_size(side.memory);
  const bool contiguous = stride == width;
  if (side.memory == side.loop) {
    if (contiguous) return from;
    gather(from, stride, buffer, n, width);
    return buffer;
  }
  if (!contiguous) {
    gather(from, stride, spare, n, width);
    from = spare;
  }
  convert_loop(side.memory, side.loop)(from, buffer, n);
  return buffer;
}

/// Rounds a block of the loop's output to the result dtype, then converts it to the dtype of the memory. Returns where it ended up.
const char* round_block(const Plan& plan, char* block, int64_t n, char* spare) {
  const Side& out = plan.sides[0];
  ScalarType type = out.loop;
  for (const ScalarType next : {plan.rounded, out.memory}) {
    if (type == next) continue;
    convert_loop(type, next)(block, spare, n);
    std::swap(block, spare);
    type = next;
  }
  return block;
}

// A row short enough that calling the inner loop for it alone would cost more than gathering several.
constexpr int64_t kShortRow = 24;

/// Elements [begin, end) of the loop's order.
class Runner {
 public:
  explicit Runner(const Plan& plan) : plan_(plan), sides_(plan.count + 1) {
    converts_output_ = plan.sides[0].loop != plan.rounded || plan.rounded != plan.sides[0].memory;
  }

  void run(int64_t begin, int64_t end) {
    if (plan_.dims.inner() >= kShortRow || plan_.dims.rank <= 1)
      run_rows(begin, end);
    else
      run_blocks(begin, end);
  }

 private:
  void run_rows(int64_t begin, int64_t end) {
    RowCursor cursor(plan_.dims, sides_, begin);
    while (begin < end) {
      const int64_t n = std::min(cursor.left_in_row(), end - begin);
      run_row(cursor, n);
      cursor.advance(n);
      begin += n;
    }
  }

  void run_row(const RowCursor& cursor, int64_t n) {
    char* pointers[LoopDims::kMaxSides];
    bool moves[LoopDims::kMaxSides];
    bool direct = !converts_output_ && plan_.dims.inner_stride(0) == element_size(plan_.sides[0].memory);
    for (int s = 1; s < sides_; ++s) {
      const Side& side = plan_.sides[s];
      if (side.constant) {
        pointers[s] = const_cast<char*>(plan_.constants[s]);
        moves[s] = false;
        continue;
      }
      const char* from = side.arg.as<char>() + cursor.offset(s);
      const int64_t stride = plan_.dims.inner_stride(s);
      moves[s] = stride != 0;
      if (stride == 0) {
        load_constant(side, from, buffers_.splats[s]);
        pointers[s] = buffers_.splats[s];
      } else {
        pointers[s] = const_cast<char*>(from);
        direct &= side.memory == side.loop && stride == element_size(side.memory);
      }
    }
    char* out = plan_.sides[0].arg.as<char>() + cursor.offset(0);
    if (direct) {
      pointers[0] = out;
      plan_.loop(pointers, moves, n);
      return;
    }
    for (int64_t done = 0; done < n; done += kBlock) {
      const int64_t count = std::min(kBlock, n - done);
      char* block[LoopDims::kMaxSides];
      for (int s = 1; s < sides_; ++s)
        block[s] = !moves[s] ? pointers[s]
                             : const_cast<char*>(load_block(plan_.sides[s], pointers[s] + done * plan_.dims.inner_stride(s),
                                                            plan_.dims.inner_stride(s), count, buffers_.sides[s], buffers_.spare));
      compute_block(block, moves, count, out + done * plan_.dims.inner_stride(0), plan_.dims.inner_stride(0));
    }
  }

  void compute_block(char** block, const bool* moves, int64_t n, char* out, int64_t stride) {
    const int64_t width = element_size(plan_.sides[0].memory);
    block[0] = !converts_output_ && stride == width ? out : buffers_.sides[0];
    plan_.loop(block, moves, n);
    if (block[0] == out) return;
    scatter(round_block(plan_, block[0], n, buffers_.spare), out, stride, n, width);
  }

  // Short rows: several of them are gathered into one block.
  void run_blocks(int64_t begin, int64_t end) {
    bool moves[LoopDims::kMaxSides], linear[LoopDims::kMaxSides];
    for (int s = 0; s < sides_; ++s) {
      moves[s] = s == 0 || !plan_.sides[s].constant;
      linear[s] = moves[s] && plan_.dims.is_linear(s, element_size(plan_.sides[s].memory));
    }
    for (; begin < end; begin += kBlock) {
      const int64_t n = std::min(kBlock, end - begin);
      char* block[LoopDims::kMaxSides];
      for (int s = 1; s < sides_; ++s) {
        const Side& side = plan_.sides[s];
        const int64_t width = element_size(side.memory);
        const char* from = side.arg.as<char>() + begin * width;
        if (!moves[s]) {
          block[s] = const_cast<char*>(plan_.constants[s]);
          continue;
        }
        if (!linear[s]) {
          char* to = side.memory == side.loop ? buffers_.sides[s] : buffers_.spare;
          gather_across_rows(plan_.dims, s, side.arg.as<char>(), begin, to, n, width);
          from = to;
        }
        block[s] = const_cast<char*>(load_block(side, from, width, n, buffers_.sides[s], nullptr));
      }
      const int64_t width = element_size(plan_.sides[0].memory);
      char* out = plan_.sides[0].arg.as<char>();
      if (linear[0]) {
        compute_block(block, moves, n, out + begin * width, width);
      } else {
        block[0] = buffers_.sides[0];
        plan_.loop(block, moves, n);
        scatter_across_rows(plan_.dims, 0, round_block(plan_, block[0], n, buffers_.spare), begin, out, n, width);
      }
    }
  }

  const Plan& plan_;
  int sides_;
  bool converts_output_;
  Buffers buffers_;
};

bool holds_zero(const char* data, int64_t n, int64_t width) {
  const auto any_zero = [&]<class T>() {
    bool found = false;
    for (int64_t i = 0; i < n; ++i) {
      T element;
      std::memcpy(&element, data + i * width, sizeof(T));
      found |= element == 0;
    }
    return found;
  };
  switch (width) {
    case 1: return any_zero.template operator()<uint8_t>();
    case 2: return any_zero.template operator()<uint16_t>();
    case 4: return any_zero.template operator()<uint32_t>();
    default: return any_zero.template operator()<uint64_t>();
  }
}

/// Looks at the real elements of the last operand, never at padding.
void check_divisor(const ir::OpDef& op, const Side& divisor, const char* constant) {
  bool zero = false;
  const int64_t width = element_size(divisor.loop);
  if (divisor.constant) {
    zero = holds_zero(constant, 1, width);
  } else {
    const LoopDims dims = loop_dims(&divisor.arg, 1);
    alignas(kMaxVectorBytes) char buffer[kBlock * 8], spare[kBlock * 8];
    RowCursor cursor(dims, 1, 0);
    for (int64_t done = 0; done < dims.numel && !zero;) {
      const int64_t n = std::min({cursor.left_in_row(), dims.numel - done, kBlock});
      const int64_t stride = dims.rank > 0 ? dims.inner_stride(0) : element_size(divisor.memory);
      zero = holds_zero(load_block(divisor, divisor.arg.as<char>() + cursor.offset(0), stride, n, buffer, spare), n, width);
      cursor.advance(n);
      done += n;
    }
  }
  check(!zero, op.name, ": ", ir::kZeroDivisionText);
}

[[gnu::noinline]] void run_parallel(const Plan& plan, int64_t numel) {
  parallel_for(0, numel, kGrain, [&plan](int64_t begin, int64_t end) { Runner(plan).run(begin, end); });
}

/// Whether the side runs along another dimension than the output: read in the output's order, each element costs a cache line.
bool lies_across(const Plan& plan, int side) {
  const LoopDims& dims = plan.dims;
  const int last = dims.rank - 1;
  const int64_t width = element_size(plan.sides[side].memory);
  if (last < 1 || dims.sizes[last] < 16 || std::abs(dims.strides[side][last]) < 64 || dims.strides[0][last] > 64) return false;
  for (int d = 0; d < last; ++d)
    if (dims.strides[side][d] == width && dims.sizes[d] >= 16) return true;
  return false;
}

void run_planned(const Plan& plan, int64_t numel) {
  if (numel >= 2 * kGrain && !in_parallel_region())
    run_parallel(plan, numel);
  else
    Runner(plan).run(0, numel);
}

/// Operands that lie across are turned first, in tiles, and take the loop's dtype on the way.
[[gnu::noinline]] void run_turned(Plan& plan, TensorArg* args, int64_t numel) {
  std::unique_ptr<char[]> turned[LoopDims::kMaxSides];
  ir::TensorSpec specs[LoopDims::kMaxSides];
  const ir::TensorSpec& out = *plan.sides[0].arg.spec;
  for (int s = 1; s <= plan.count; ++s) {
    Side& side = plan.sides[s];
    if (side.constant || !lies_across(plan, s) || side.arg.spec->sizes != out.sizes) continue;
    specs[s] = ir::TensorSpec(side.loop, out.sizes, out.is_non_overlapping_and_dense() ? out.strides : contiguous_strides(out.sizes), {});
    turned[s] = std::make_unique_for_overwrite<char[]>(static_cast<size_t>(numel * element_size(side.loop)));
    const TensorArg arg{turned[s].get(), &specs[s]};
    copy(arg, side.arg);
    args[s] = side.arg = arg;
    side.memory = side.loop;
  }
  plan.dims = loop_dims(args, plan.count + 1);
  run_planned(plan, numel);
}

[[gnu::noinline]] void run_general(Plan& plan, int64_t numel) {
  TensorArg args[LoopDims::kMaxSides];
  for (int s = 0; s <= plan.count; ++s) args[s] = plan.sides[s].arg;
  plan.dims = loop_dims(args, plan.count + 1);
  bool across = false;
  for (int s = 1; s <= plan.count; ++s) {
    Side& side = plan.sides[s];
    if (side.constant) continue;
    if (plan.dims.is_constant(s)) {
      load_constant(side, side.arg.as<char>(), plan.constants[s]);
      side.constant = true;
    } else {
      across |= numel >= 4096 && lies_across(plan, s);
    }
  }
  if (across)
    run_turned(plan, args, numel);
  else
    run_planned(plan, numel);
}

/// Dense operands in one order: the inner loop over all of it.
void run_dense(InnerLoop loop, int count, char* const* pointers, const bool* moves, const int64_t* widths, int64_t numel) {
  if (numel < 2 * kGrain || in_parallel_region()) {
    loop(pointers, moves, numel);
    return;
  }
  parallel_for(0, numel, kGrain, [&](int64_t begin, int64_t end) {
    char* part[LoopDims::kMaxSides];
    for (int s = 0; s <= count; ++s) part[s] = moves[s] ? pointers[s] + begin * widths[s] : pointers[s];
    loop(part, moves, end - begin);
  });
}

bool same_layout(const ir::TensorSpec& a, const ir::TensorSpec& b) {
  const size_t rank = a.sizes.size();
  if (b.sizes.size() != rank) return false;
  for (size_t d = 0; d < rank; ++d)
    if (a.sizes[d] != b.sizes[d] || (a.strides[d] != b.strides[d] && a.sizes[d] != 1)) return false;
  return true;
}

/// The common case, where the work around the loop must cost nothing: tensors of one dtype, dense and laid out alike, and scalars that
/// promote nothing. Returns false, with nothing done, for every other call.
bool run_alike(const Call& call, const InnerRow& row) {
  const ir::PointwiseTraits& traits = call.op.pointwise;
  const ir::TensorSpec& out = *call.outputs[0].spec;
  int64_t numel = 1;
  for (size_t d = out.sizes.size(); d-- > 0;) {
    if (out.strides[d] != numel && out.sizes[d] != 1) return false;
    numel *= out.sizes[d];
  }
  char* pointers[LoopDims::kMaxSides];
  bool moves[LoopDims::kMaxSides];
  ScalarType type = ScalarType::Undefined;
  int count = 0;
  bool scalars = false;
  for (const Operand& operand : call.operands) {
    if (operand.is_none()) break;
    ++count;
    moves[count] = operand.is_tensor();
    if (operand.is_scalar()) {
      scalars = true;
      continue;
    }
    const ScalarType dtype = operand.tensor.spec->dtype;
    if (traits.first_is_mask && count == 1) {
      if (dtype != kBool) return false;
    } else if (type == ScalarType::Undefined) {
      type = dtype;
    } else if (type != dtype) {
      return false;
    }
    if (!same_layout(*operand.tensor.spec, out)) return false;
    pointers[count] = operand.tensor.as<char>();
  }
  if (type == ScalarType::Undefined || is_half_type(type) || numel == 0 || out.dtype != (row.truth ? kBool : type)) return false;
  const InnerLoop loop = (count == traits.arity ? row.full : row.reduced)[static_cast<int>(type)];
  if (loop == nullptr || ir::pointwise_can_fail(call.op, type)) return false;

  alignas(kMaxVectorBytes) char constants[LoopDims::kMaxSides][kMaxVectorBytes];
  for (int i = 0; scalars && i < count; ++i) {
    if (moves[i + 1]) continue;
    const Scalar& scalar = call.operands[static_cast<size_t>(i)].scalar;
    const bool truth = traits.first_is_mask && i == 0;
    if (!truth && (traits.promotes >> i & 1)) {
      if (scalar.is_floating_point() ? !is_floating_point(type) : scalar.is_integral() && type == kBool) return false;
    }
    const ScalarType as = truth ? kBool : type;
    const uint64_t bits = scalar_bits(scalar, as);
    splat(constants[i], reinterpret_cast<const char*>(&bits), element_size(as));
    pointers[i + 1] = constants[i];
  }
  pointers[0] = call.outputs[0].as<char>();
  moves[0] = true;
  if (numel < 2 * kGrain) {
    loop(pointers, moves, numel);
    return true;
  }
  int64_t widths[LoopDims::kMaxSides];
  for (int s = 0; s <= count; ++s) widths[s] = element_size(s == 0 ? out.dtype : traits.first_is_mask && s == 1 ? kBool : type);
  run_dense(loop, count, pointers, moves, widths, numel);
  return true;
}

[[gnu::noinline]] void run_any(const Call& call, const InnerRow& row) {
  const ir::OpDef& op = call.op;
  const ir::PointwiseTraits& traits = op.pointwise;
  const int count = ir::formula_arity(call.operands);
  internal_check(count <= kMaxOperands && count >= traits.min_arity, op.name, ": called with ", count, " operands");

  const ScalarType default_dtype = get_default_dtype();
  ir::Promotion promotion;
  for (int i = traits.first_is_mask ? 1 : 0; i < count; ++i) {
    if (!(traits.promotes >> i & 1)) continue;
    const Operand& operand = call.operands[static_cast<size_t>(i)];
    if (operand.is_tensor())
      promotion.add_tensor(operand.tensor.spec->dtype, !operand.tensor.spec->sizes.empty());
    else
      promotion.add_scalar(operand.scalar.kind(), default_dtype);
  }
  const ir::PointwiseTypes types = ir::pointwise_types(op, promotion.result(), ScalarType::Undefined, default_dtype);
  const InnerLoop loop = (count == traits.arity ? row.full : row.reduced)[static_cast<int>(types.compute)];
  internal_check(loop != nullptr, op.name, ": no kernel for ", types.compute);

  const TensorArg& out = call.outputs[0];
  const int64_t numel = out.spec->numel();
  if (numel == 0) return;

  Plan plan;
  plan.loop = loop;
  plan.count = count;
  plan.rounded = types.result;
  plan.sides[0] = {out, out.spec->dtype, row.truth ? kBool : types.compute, false};
  bool dense = plan.sides[0].loop == plan.rounded && plan.rounded == out.spec->dtype;
  char* pointers[LoopDims::kMaxSides] = {out.as<char>()};
  bool moves[LoopDims::kMaxSides] = {true};
  int64_t widths[LoopDims::kMaxSides] = {element_size(out.spec->dtype)};
  for (int i = 0; i < count; ++i) {
    const Operand& operand = call.operands[static_cast<size_t>(i)];
    Side& side = plan.sides[i + 1];
    const bool truth = traits.rule == ir::DTypeRule::Logical || (traits.first_is_mask && i == 0);
    side.loop = truth ? kBool : types.compute;
    moves[i + 1] = false;
    widths[i + 1] = element_size(side.loop);
    pointers[i + 1] = plan.constants[i + 1];
    if (operand.is_scalar()) {
      const uint64_t bits = scalar_bits(operand.scalar, side.loop);
      splat(plan.constants[i + 1], reinterpret_cast<const char*>(&bits), element_size(side.loop));
      side.memory = side.loop;
      side.constant = true;
      continue;
    }
    side.arg = operand.tensor;
    side.memory = operand.tensor.spec->dtype;
    if (operand.tensor.spec->sizes.empty()) {
      load_constant(side, operand.tensor.as<char>(), plan.constants[i + 1]);
      side.constant = true;
      continue;
    }
    moves[i + 1] = true;
    pointers[i + 1] = operand.tensor.as<char>();
    dense &= side.memory == side.loop && same_layout(*operand.tensor.spec, *out.spec);
  }
  for (int i = 0; i < count; ++i)
    if (plan.sides[i + 1].constant) plan.sides[i + 1].arg.spec = nullptr;

  if (ir::pointwise_can_fail(op, types.compute)) check_divisor(op, plan.sides[count], plan.constants[count]);
  if (dense && (out.spec->is_contiguous() || out.spec->is_non_overlapping_and_dense()))
    run_dense(loop, count, pointers, moves, widths, numel);
  else
    run_general(plan, numel);
}

}  // namespace

void run_pointwise(const Call& call, const InnerRow& row) {
  if (!run_alike(call, row)) run_any(call, row);
}

}  // namespace tailor::kernels
