#pragma once
// Element types: libtorch's names, sizes, categories, and the C++ type of each.

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ostream>
#include <string_view>
#include <type_traits>

#include "runtime/error.h"

namespace tailor {

enum class ScalarType : int8_t { Byte, Char, Short, Int, Long, Half, Float, Double, Bool, BFloat16, Undefined };
using Dtype = ScalarType;
inline constexpr int kScalarTypeCount = 10;

inline constexpr ScalarType kUInt8 = ScalarType::Byte, kByte = kUInt8, kU8 = kUInt8;
inline constexpr ScalarType kInt8 = ScalarType::Char, kChar = kInt8, kI8 = kInt8;
inline constexpr ScalarType kInt16 = ScalarType::Short, kShort = kInt16, kI16 = kInt16;
inline constexpr ScalarType kInt32 = ScalarType::Int, kInt = kInt32, kI32 = kInt32;
inline constexpr ScalarType kInt64 = ScalarType::Long, kLong = kInt64, kI64 = kInt64;
inline constexpr ScalarType kFloat16 = ScalarType::Half, kHalf = kFloat16, kF16 = kFloat16;
inline constexpr ScalarType kFloat32 = ScalarType::Float, kFloat = kFloat32, kF32 = kFloat32;
inline constexpr ScalarType kFloat64 = ScalarType::Double, kDouble = kFloat64, kF64 = kFloat64;
inline constexpr ScalarType kBool = ScalarType::Bool;
inline constexpr ScalarType kBFloat16 = ScalarType::BFloat16;

/// IEEE binary16 to and from float; round to nearest even, denormals kept, NaN stays NaN. Integer code: exact on every machine.
constexpr uint16_t float_to_half_bits(float value) {
  const uint32_t x = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (x >> 16) & 0x8000u;
  uint32_t magnitude = x & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65536 and up
  if (magnitude < 0x38800000u) {                                               // below 2^-14: denormal or zero
    if (magnitude < 0x33000000u) return static_cast<uint16_t>(sign);           // below 2^-25: zero
    const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    const uint32_t shift = 126u - (magnitude >> 23);
    const uint32_t rest = mantissa & ((1u << shift) - 1u), half = 1u << (shift - 1u);
    uint32_t result = mantissa >> shift;
    result += (rest > half || (rest == half && (result & 1u))) ? 1u : 0u;
    return static_cast<uint16_t>(sign | result);
  }
  magnitude += 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u) >> 13));
}

constexpr float half_bits_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  uint32_t exponent = (bits >> 10) & 0x1fu, mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    if (mantissa == 0) return std::bit_cast<float>(sign);
    exponent = 1;
    while (!(mantissa & 0x400u)) mantissa <<= 1, --exponent;
    mantissa &= 0x3ffu;
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

/// bfloat16: the upper half of a float, rounded to nearest even.
constexpr uint16_t float_to_bfloat16_bits(float value) {
  const uint32_t x = std::bit_cast<uint32_t>(value);
  if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((x >> 16) | 0x40u);
  return static_cast<uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
}
constexpr float bfloat16_bits_to_float(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

/// IEEE binary16. Arithmetic happens in float; storing rounds.
struct Half {
  uint16_t bits = 0;
  constexpr Half() = default;
  constexpr Half(float value) : bits(float_to_half_bits(value)) {}
  constexpr operator float() const { return half_bits_to_float(bits); }
};

struct BFloat16 {
  uint16_t bits = 0;
  constexpr BFloat16() = default;
  constexpr BFloat16(float value) : bits(float_to_bfloat16_bits(value)) {}
  constexpr operator float() const { return bfloat16_bits_to_float(bits); }
};

template <ScalarType>
struct CppTypeOf;
template <>
struct CppTypeOf<kUInt8> {
  using type = uint8_t;
};
template <>
struct CppTypeOf<kInt8> {
  using type = int8_t;
};
template <>
struct CppTypeOf<kInt16> {
  using type = int16_t;
};
template <>
struct CppTypeOf<kInt32> {
  using type = int32_t;
};
template <>
struct CppTypeOf<kInt64> {
  using type = int64_t;
};
template <>
struct CppTypeOf<kFloat16> {
  using type = Half;
};
template <>
struct CppTypeOf<kFloat32> {
  using type = float;
};
template <>
struct CppTypeOf<kFloat64> {
  using type = double;
};
template <>
struct CppTypeOf<kBool> {
  using type = bool;
};
template <>
struct CppTypeOf<kBFloat16> {
  using type = BFloat16;
};
template <ScalarType S>
using cpp_type = typename CppTypeOf<S>::type;

template <class T>
inline constexpr ScalarType scalar_type_of = ScalarType::Undefined;
template <>
inline constexpr ScalarType scalar_type_of<uint8_t> = kUInt8;
template <>
inline constexpr ScalarType scalar_type_of<int8_t> = kInt8;
template <>
inline constexpr ScalarType scalar_type_of<int16_t> = kInt16;
template <>
inline constexpr ScalarType scalar_type_of<int32_t> = kInt32;
template <>
inline constexpr ScalarType scalar_type_of<int64_t> = kInt64;
template <>
inline constexpr ScalarType scalar_type_of<long long> = kInt64;
template <>
inline constexpr ScalarType scalar_type_of<Half> = kFloat16;
template <>
inline constexpr ScalarType scalar_type_of<float> = kFloat32;
template <>
inline constexpr ScalarType scalar_type_of<double> = kFloat64;
template <>
inline constexpr ScalarType scalar_type_of<bool> = kBool;
template <>
inline constexpr ScalarType scalar_type_of<BFloat16> = kBFloat16;

/// Bytes of one element.
constexpr int64_t element_size(ScalarType type) {
  constexpr int8_t sizes[] = {1, 1, 2, 4, 8, 2, 4, 8, 1, 2, 0};
  return sizes[static_cast<int>(type)];
}
constexpr bool is_half_type(ScalarType t) { return t == kFloat16 || t == kBFloat16; }
constexpr bool is_floating_point(ScalarType t) { return t == kFloat32 || t == kFloat64 || is_half_type(t); }
constexpr bool is_integral(ScalarType t, bool include_bool = false) {
  return static_cast<int>(t) <= static_cast<int>(kInt64) || (include_bool && t == kBool);
}
constexpr bool is_signed(ScalarType t) { return t != kUInt8 && t != kBool; }

/// The type in which arithmetic on `t` is done: float for the half types, `t` itself otherwise.
constexpr ScalarType compute_type(ScalarType t) { return is_half_type(t) ? kFloat32 : t; }

/// "f32", "i64", "bool" ... : the names of the IR's text form.
constexpr std::string_view short_name(ScalarType t) {
  constexpr std::string_view names[] = {"u8", "i8", "i16", "i32", "i64", "f16", "f32", "f64", "bool", "bf16", "undefined"};
  return names[static_cast<int>(t)];
}
/// "Float", "Long" ... : libtorch's names.
constexpr std::string_view to_string(ScalarType t) {
  constexpr std::string_view names[] = {"Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double", "Bool", "BFloat16", "Undefined"};
  return names[static_cast<int>(t)];
}
inline std::ostream& operator<<(std::ostream& out, ScalarType t) { return out << to_string(t); }

/// Calls `f.template operator()<T>()` with the C++ type of `type`.
///
///   visit_dtype(t, [&]<class T>() { fill<T>(...); });
template <class F>
decltype(auto) visit_dtype(ScalarType type, F&& f) {
  switch (type) {
    case kUInt8: return f.template operator()<uint8_t>();
    case kInt8: return f.template operator()<int8_t>();
    case kInt16: return f.template operator()<int16_t>();
    case kInt32: return f.template operator()<int32_t>();
    case kInt64: return f.template operator()<int64_t>();
    case kFloat16: return f.template operator()<Half>();
    case kFloat32: return f.template operator()<float>();
    case kFloat64: return f.template operator()<double>();
    case kBool: return f.template operator()<bool>();
    case kBFloat16: return f.template operator()<BFloat16>();
    case ScalarType::Undefined: break;
  }
  detail::raise<InternalError>("internal error, please report: visit_dtype of an undefined dtype");
}

/// The dtype of an op between two tensors of these dtypes (torch.promote_types).
ScalarType promote_types(ScalarType a, ScalarType b);

}  // namespace tailor
