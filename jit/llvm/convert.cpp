#include "jit/llvm/convert.h"

namespace tailor::jit {

using llvm::Value;

llvm::Type* memory_llvm_type(llvm::LLVMContext& context, ScalarType type) {
  if (is_half_type(type)) return llvm::Type::getInt16Ty(context);
  return compute_llvm_type(context, type);
}

Datum Converter::from_memory(Value* raw, ScalarType type, unsigned lanes) {
  Datum d{.lanes = lanes};
  if (is_half_type(type))
    d.bits = raw, d.value = from_half_bits(raw, type, lanes);
  else if (type == kBool)
    d.mask = b_.CreateIsNotNull(raw);
  else
    d.value = raw;
  return d;
}

Value* Converter::to_memory(Datum& d, ScalarType type) {
  if (is_half_type(type)) {
    if (d.bits == nullptr) d.bits = half_bits_of(d.value, type, d.lanes);
    return d.bits;
  }
  if (type == kBool) return b_.CreateZExt(as_mask(d, type), with_lanes(b_.getInt8Ty(), d.lanes));
  return d.value;
}

Value* Converter::as_value(Datum& d) {
  if (d.value == nullptr) d.value = b_.CreateZExt(d.mask, with_lanes(b_.getInt8Ty(), d.lanes));
  return d.value;
}

Value* Converter::as_mask(Datum& d, ScalarType type) {
  if (d.mask == nullptr) {
    Value* zero = llvm::Constant::getNullValue(d.value->getType());
    d.mask = is_floating_point(type) ? b_.CreateFCmpUNE(d.value, zero) : b_.CreateICmpNE(d.value, zero);
  }
  return d.mask;
}

Datum Converter::splat(const Datum& d, unsigned lanes) {
  if (d.lanes == lanes) return d;
  Datum wide{.lanes = lanes};
  if (d.value != nullptr) wide.value = b_.CreateVectorSplat(lanes, d.value);
  if (d.mask != nullptr) wide.mask = b_.CreateVectorSplat(lanes, d.mask);
  if (d.bits != nullptr) wide.bits = b_.CreateVectorSplat(lanes, d.bits);
  return wide;
}

Datum Converter::round(Value* value, ScalarType half, unsigned lanes) {
  Datum d{.lanes = lanes};
  if (half == kBFloat16) {
    d.value = round_to_bfloat16(value, lanes);
  } else {
    d.bits = to_half_bits(value, lanes);
    d.value = from_half_bits(d.bits, half, lanes);
  }
  return d;
}

Datum Converter::literal(const Scalar& scalar, ScalarType type, unsigned lanes) {
  LlvmAlgebra a(b_, compute_type(type), lanes);
  Datum d{.lanes = lanes};
  switch (type) {
    case kFloat32: d.value = a.lit(scalar.to<float>()).v; break;
    case kFloat16: d.value = a.lit(static_cast<float>(scalar.to<Half>())).v; break;
    case kBFloat16: d.value = a.lit(static_cast<float>(scalar.to<BFloat16>())).v; break;
    case kFloat64: d.value = a.lit(scalar.to<double>()).v; break;
    case kBool: d.mask = a.mask_lit(scalar.to_bool()).v; break;
    case kUInt8:
    case kInt8:
    case kInt16:
    case kInt32:
    case kInt64: d.value = a.lit_int(scalar.to_int()).v; break;
    case ScalarType::Undefined: internal_check(false, "literal of undefined dtype");
  }
  return d;
}

llvm::Constant* Converter::memory_literal(const Scalar& scalar, ScalarType type) {
  if (type == kFloat16) return b_.getInt16(scalar.to<Half>().bits);
  if (type == kBFloat16) return b_.getInt16(scalar.to<BFloat16>().bits);
  if (type == kBool) return b_.getInt8(scalar.to_bool());
  return llvm::cast<llvm::Constant>(literal(scalar, type, 1).value);
}

Value* Converter::float_to_int(Value* v, ScalarType to, unsigned lanes) {
  llvm::Type* i64 = with_lanes(b_.getInt64Ty(), lanes);
  Value* inside = b_.CreateAnd(b_.CreateFCmpOGE(v, llvm::ConstantFP::get(v->getType(), -0x1p63)),
                               b_.CreateFCmpOLT(v, llvm::ConstantFP::get(v->getType(), 0x1p63)));
  Value* safe = b_.CreateSelect(inside, v, llvm::Constant::getNullValue(v->getType()));
  Value* result = b_.CreateSelect(inside, b_.CreateFPToSI(safe, i64), llvm::ConstantInt::get(i64, static_cast<uint64_t>(INT64_MIN)));
  return b_.CreateTrunc(result, with_lanes(compute_llvm_type(b_.getContext(), to), lanes));
}

Datum Converter::cast(Datum& d, ScalarType from, ScalarType to) {
  if (from == to) return d;
  Datum out{.lanes = d.lanes};
  if (to == kBool) {
    out.mask = as_mask(d, from);
    return out;
  }
  llvm::Type* type = with_lanes(compute_llvm_type(b_.getContext(), to), d.lanes);
  Value* v = from == kBool ? nullptr : d.value;
  if (is_floating_point(to)) {
    if (from == kBool)
      v = b_.CreateUIToFP(as_mask(d, from), type);
    else if (!is_floating_point(from))
      v = is_signed(from) ? b_.CreateSIToFP(v, type) : b_.CreateUIToFP(v, type);
    else
      v = b_.CreateFPCast(v, type);
    if (is_half_type(to)) return round(v, to, d.lanes);
    out.value = v;
    return out;
  }
  if (from == kBool)
    out.value = b_.CreateZExt(as_mask(d, from), type);
  else if (is_floating_point(from))
    out.value = float_to_int(v, to, d.lanes);
  else
    out.value = b_.CreateIntCast(v, type, is_signed(from));
  return out;
}

// ---- half types ----------------------------------------------------------------------------------------------------

/// The stored form of a value that is already rounded.
Value* Converter::half_bits_of(Value* v, ScalarType half, unsigned lanes) {
  if (half == kFloat16) return to_half_bits(v, lanes);
  llvm::Type* i32 = with_lanes(b_.getInt32Ty(), lanes);
  return b_.CreateTrunc(b_.CreateLShr(b_.CreateBitCast(v, i32), llvm::ConstantInt::get(i32, 16)), with_lanes(b_.getInt16Ty(), lanes));
}

/// In integers: the hardware's conversion flushes denormals.
Value* Converter::round_to_bfloat16(Value* v, unsigned lanes) {
  llvm::Type* i32 = with_lanes(b_.getInt32Ty(), lanes);
  auto constant = [&](uint32_t x) { return llvm::ConstantInt::get(i32, x); };
  Value* x = b_.CreateBitCast(v, i32);
  Value* odd = b_.CreateAnd(b_.CreateLShr(x, constant(16)), constant(1));
  Value* rounded = b_.CreateAnd(b_.CreateAdd(b_.CreateAdd(x, constant(0x7fff)), odd), constant(0xffff0000));
  Value* quiet = b_.CreateOr(x, constant(0x400000));
  return b_.CreateBitCast(b_.CreateSelect(b_.CreateFCmpUNO(v, v), quiet, rounded), v->getType());
}

Value* Converter::to_half_bits(Value* v, unsigned lanes) {
  llvm::Type* i32 = with_lanes(b_.getInt32Ty(), lanes);
  llvm::Type* i16 = with_lanes(b_.getInt16Ty(), lanes);
  auto constant = [&](uint32_t x) { return llvm::ConstantInt::get(i32, x); };
  if (target_.f16c) return b_.CreateBitCast(b_.CreateFPTrunc(v, with_lanes(b_.getHalfTy(), lanes)), i16);
  Value* x = b_.CreateBitCast(v, i32);
  // As float_to_half_bits in runtime/dtype.h, but a denormal result is rounded by adding 0.5, whose last place is that of f16's denormals.
  Value* sign = b_.CreateAnd(b_.CreateLShr(x, constant(16)), constant(0x8000));
  Value* magnitude = b_.CreateAnd(x, constant(0x7fffffff));
  Value* odd = b_.CreateAnd(b_.CreateLShr(magnitude, constant(13)), constant(1));
  Value* normal =
      b_.CreateLShr(b_.CreateSub(b_.CreateAdd(b_.CreateAdd(magnitude, constant(0xfff)), odd), constant(0x38000000)), constant(13));
  Value* half_one = llvm::ConstantFP::get(v->getType(), 0.5);
  Value* small =
      b_.CreateSub(b_.CreateBitCast(b_.CreateFAdd(b_.CreateBitCast(magnitude, v->getType()), half_one), i32), constant(0x3f000000));
  Value* result = b_.CreateSelect(b_.CreateICmpULT(magnitude, constant(0x38800000)), small, normal);
  result = b_.CreateSelect(b_.CreateICmpUGE(magnitude, constant(0x47800000)), constant(0x7c00), result);
  result = b_.CreateSelect(b_.CreateICmpUGT(magnitude, constant(0x7f800000)), constant(0x7e00), result);
  return b_.CreateTrunc(b_.CreateOr(result, sign), i16);
}

Value* Converter::from_half_bits(Value* bits, ScalarType half, unsigned lanes) {
  llvm::Type* i32 = with_lanes(b_.getInt32Ty(), lanes);
  llvm::Type* real = with_lanes(b_.getFloatTy(), lanes);
  auto constant = [&](uint32_t x) { return llvm::ConstantInt::get(i32, x); };
  if (half == kFloat16 && target_.f16c) return b_.CreateFPExt(b_.CreateBitCast(bits, with_lanes(b_.getHalfTy(), lanes)), real);
  Value* x = b_.CreateZExt(bits, i32);
  if (half == kBFloat16) return b_.CreateBitCast(b_.CreateShl(x, constant(16)), real);
  Value* sign = b_.CreateShl(b_.CreateAnd(x, constant(0x8000)), constant(16));
  Value* magnitude = b_.CreateAnd(x, constant(0x7fff));
  Value* normal = b_.CreateAdd(b_.CreateShl(magnitude, constant(13)), constant(0x38000000));
  Value* special = b_.CreateOr(b_.CreateShl(magnitude, constant(13)), constant(0x7f800000));
  Value* small = b_.CreateBitCast(b_.CreateFMul(b_.CreateUIToFP(magnitude, real), llvm::ConstantFP::get(real, 0x1p-24)), i32);
  Value* result = b_.CreateSelect(b_.CreateICmpULT(magnitude, constant(0x400)), small, normal);
  result = b_.CreateSelect(b_.CreateICmpUGE(magnitude, constant(0x7c00)), special, result);
  return b_.CreateBitCast(b_.CreateOr(result, sign), real);
}

}  // namespace tailor::jit
