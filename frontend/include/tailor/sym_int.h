#pragma once
// SymInt: a size that knows where it comes from. libtorch: c10::SymInt, c10::SymIntArrayRef.
//
// In a compiled function that is `pure`, sizes read as plain integers hold for the size that was read; what is computed from
// `sym_size()` holds for every size for which the comparisons made on the way come out as they did. Such a function is skipped in
// sizes that it was never run in. Anywhere else a SymInt is a plain number.
//
//   auto f = compile([](const Tensor& x) {
//     const SymInt n = x.sym_size(0);
//     return n > 16 ? x.view({n / 2, -1}).sum(1) : x.sum(1);    // two ways to go, each of them for all its sizes
//   }, {.pure = true});

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <source_location>
#include <vector>

#include "tailor/array_ref.h"

namespace tailor {

class SymInt;
class SymIntOperand;

namespace detail {

enum class SymCode : uint8_t { Constant, Size, Add, Subtract, Multiply, FloorDivide, Modulo, Max, Min };
enum class SymComparison : uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };
/// Of plain numbers. Division and remainder round down, as Python's; by zero they throw Error.
int64_t sym_value(SymCode code, int64_t a, int64_t b);
bool sym_value(SymComparison comparison, int64_t a, int64_t b);
/// Where one of the operands is an expression.
SymInt sym_expression(SymCode code, const SymInt& a, const SymInt& b);
bool sym_predicate(SymComparison comparison, const SymInt& a, const SymInt& b, std::source_location where);

}  // namespace detail

/// An integer, and what it is in terms of the sizes of the arguments. Made implicitly of integers. Arithmetic rounds down where it
/// divides, as torch's does (-7 / 2 == -4, -7 % 2 == 1).
class SymInt {
 public:
  constexpr SymInt() = default;
  template <std::integral T>
  requires(!std::same_as<T, bool>) constexpr SymInt(T value) : value_(static_cast<int64_t>(value)) {}

  /// The value; the function holds for this value only from here on. `file`, `line`: for messages, __FILE__ and __LINE__.
  int64_t guard_int(const char* file, int64_t line) const;
  /// The same. In libtorch it throws for an expression.
  int64_t expect_int(std::source_location where = std::source_location::current()) const;
  /// Whether it is an expression over sizes, so that its value may be another one in the next call.
  constexpr bool is_symbolic() const { return symbol_ != 0; }
  SymInt max(const SymInt& o) const { return combined(detail::SymCode::Max, *this, o); }
  SymInt min(const SymInt& o) const { return combined(detail::SymCode::Min, *this, o); }

  friend SymInt operator+(const SymInt& a, const SymInt& b) { return combined(detail::SymCode::Add, a, b); }
  friend SymInt operator-(const SymInt& a, const SymInt& b) { return combined(detail::SymCode::Subtract, a, b); }
  friend SymInt operator*(const SymInt& a, const SymInt& b) { return combined(detail::SymCode::Multiply, a, b); }
  /// Throws Error for a divisor of 0, as operator% does.
  friend SymInt operator/(const SymInt& a, const SymInt& b) { return combined(detail::SymCode::FloorDivide, a, b); }
  friend SymInt operator%(const SymInt& a, const SymInt& b) { return combined(detail::SymCode::Modulo, a, b); }
  friend SymInt operator-(const SymInt& a) { return combined(detail::SymCode::Subtract, SymInt(0), a); }
  friend SymInt max(const SymInt& a, const SymInt& b) { return a.max(b); }
  friend SymInt min(const SymInt& a, const SymInt& b) { return a.min(b); }
  SymInt& operator+=(const SymInt& o) { return *this = *this + o; }
  SymInt& operator-=(const SymInt& o) { return *this = *this - o; }
  SymInt& operator*=(const SymInt& o) { return *this = *this * o; }
  SymInt& operator/=(const SymInt& o) { return *this = *this / o; }
  SymInt& operator%=(const SymInt& o) { return *this = *this % o; }
  SymInt& operator++() { return *this += 1; }
  SymInt& operator--() { return *this -= 1; }

  // A comparison holds for every size that it comes out the same for: a guard of the recorded call.
  friend bool operator==(const SymIntOperand& a, const SymIntOperand& b);
  friend bool operator!=(const SymIntOperand& a, const SymIntOperand& b);
  friend bool operator<(const SymIntOperand& a, const SymIntOperand& b);
  friend bool operator<=(const SymIntOperand& a, const SymIntOperand& b);
  friend bool operator>(const SymIntOperand& a, const SymIntOperand& b);
  friend bool operator>=(const SymIntOperand& a, const SymIntOperand& b);
  /// Not zero.
  explicit operator bool() const;
  /// Prints the value, which then is a fact, as with guard_int.
  friend std::ostream& operator<<(std::ostream& out, const SymInt& value);

  /// For the library: the value without a guard, and the expression's number.
  constexpr int64_t unguarded() const { return value_; }
  constexpr uint64_t symbol() const { return symbol_; }
  static constexpr SymInt of(int64_t value, uint64_t symbol) {
    SymInt s(value);
    s.symbol_ = symbol;
    return s;
  }

 private:
  static SymInt combined(detail::SymCode code, const SymInt& a, const SymInt& b) {
    if ((a.symbol_ | b.symbol_) == 0) [[likely]]
      return detail::sym_value(code, a.value_, b.value_);
    return detail::sym_expression(code, a, b);
  }
  int64_t value_ = 0;
  uint64_t symbol_ = 0;  // 0: a plain number
};

/// An operand of a comparison, which notes the line it is on.
class SymIntOperand {
 public:
  template <std::integral T>
  requires(!std::same_as<T, bool>) SymIntOperand(T value, std::source_location where = std::source_location::current())
      : value_(value), where_(where) {}
  SymIntOperand(const SymInt& value, std::source_location where = std::source_location::current()) : value_(value), where_(where) {}
  const SymInt& value() const { return value_; }
  std::source_location where() const { return where_; }

 private:
  SymInt value_;
  std::source_location where_;
};

#define TAILOR_COMPARISON(sign, name)                                                           \
  inline bool operator sign(const SymIntOperand& a, const SymIntOperand& b) {                   \
    if ((a.value().symbol() | b.value().symbol()) == 0) [[likely]]                              \
      return a.value().unguarded() sign b.value().unguarded();                                  \
    return detail::sym_predicate(detail::SymComparison::name, a.value(), b.value(), a.where()); \
  }
TAILOR_COMPARISON(==, Equal)
TAILOR_COMPARISON(!=, NotEqual)
TAILOR_COMPARISON(<, Less)
TAILOR_COMPARISON(<=, LessEqual)
TAILOR_COMPARISON(>, Greater)
TAILOR_COMPARISON(>=, GreaterEqual)
#undef TAILOR_COMPARISON

/// The sizes of a tensor as SymInts. What Tensor::sym_sizes() returns; a list like any other.
class SymSizes {
 public:
  SymSizes() {}
  SymSizes(const SymSizes& o) { *this = o; }
  SymSizes& operator=(const SymSizes& o) {
    size_ = o.size_;
    for (size_t i = 0; i < size_; ++i) list_[i] = o.list_[i];
    return *this;
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const SymInt* data() const { return list_; }
  const SymInt* begin() const { return list_; }
  const SymInt* end() const { return list_ + size_; }
  SymInt* begin() { return list_; }
  SymInt* end() { return list_ + size_; }
  const SymInt& operator[](size_t i) const { return list_[i]; }
  SymInt& operator[](size_t i) { return list_[i]; }
  const SymInt& back() const { return list_[size_ - 1]; }
  void push_back(const SymInt& value) {
    check(size_ < Dims::kMaxDims, "a tensor may have at most ", Dims::kMaxDims, " dimensions");
    list_[size_++] = value;
  }
  std::vector<SymInt> vec() const { return {begin(), end()}; }

 private:
  size_t size_ = 0;
  union {
    SymInt list_[Dims::kMaxDims];  // as many are alive as there are dimensions
  };
};

/// A non-owning list of sizes, for arguments: integers or SymInts, in braces, vectors, arrays; one counts as a list of one.
class SymIntArrayRef {
 public:
  constexpr SymIntArrayRef() = default;
  constexpr SymIntArrayRef(std::initializer_list<int64_t> list) : ints_(std::data(list)), size_(list.size()) {}
  constexpr SymIntArrayRef(std::initializer_list<SymInt> list) : symbols_(std::data(list)), size_(list.size()) {}
  template <class T>
  requires(!std::is_arithmetic_v<T> && std::convertible_to<const T&, IntArrayRef>) SymIntArrayRef(const T& list) {
    const IntArrayRef ints = list;
    ints_ = ints.data();
    size_ = ints.size();
  }
  SymIntArrayRef(const std::vector<SymInt>& list) : symbols_(list.data()), size_(list.size()) {}
  SymIntArrayRef(const SymSizes& list) : symbols_(list.data()), size_(list.size()) {}
  template <size_t N>
  SymIntArrayRef(const std::array<SymInt, N>& list) : symbols_(list.data()), size_(N) {}
  constexpr SymIntArrayRef(const SymInt* data, size_t size) : symbols_(data), size_(size) {}
  constexpr SymIntArrayRef(const int64_t& one) : ints_(&one), size_(1) {}
  constexpr SymIntArrayRef(const SymInt& one) : symbols_(&one), size_(1) {}

  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr SymInt operator[](size_t i) const { return symbols_ ? symbols_[i] : SymInt(ints_[i]); }
  std::vector<SymInt> vec() const {
    std::vector<SymInt> all;
    for (size_t i = 0; i < size_; ++i) all.push_back((*this)[i]);
    return all;
  }
  /// For the library: the list where all of it are integers; null where it is one of SymInts.
  constexpr const int64_t* ints() const { return ints_; }
  constexpr bool of_symbols() const { return symbols_ != nullptr; }

 private:
  const int64_t* ints_ = nullptr;
  const SymInt* symbols_ = nullptr;
  size_t size_ = 0;
};

/// As in messages: "[2, 3]"; no guard.
std::ostream& operator<<(std::ostream& out, const SymIntArrayRef& list);

}  // namespace tailor
