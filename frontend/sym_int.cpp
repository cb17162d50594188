// SymInt where it is an expression. tailor/sym_int.h has the plain numbers.

#include "tailor/sym_int.h"

#include <algorithm>
#include <ostream>

#include "frontend/size_reads.h"

namespace tailor {
namespace detail {

int64_t sym_value(SymCode code, int64_t a, int64_t b) {
  const auto wrapped = [&](auto f) { return static_cast<int64_t>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b))); };
  switch (code) {
    case SymCode::Add: return wrapped(std::plus<uint64_t>());
    case SymCode::Subtract: return wrapped(std::minus<uint64_t>());
    case SymCode::Multiply: return wrapped(std::multiplies<uint64_t>());
    case SymCode::FloorDivide:
    case SymCode::Modulo: {
      check(b != 0, "SymInt: division by zero");
      if (b == -1) return code == SymCode::Modulo ? 0 : wrapped([](uint64_t x, uint64_t) { return uint64_t{0} - x; });
      const int64_t quotient = a / b, rest = a % b;
      const bool down = rest != 0 && (rest < 0) != (b < 0);
      return code == SymCode::FloorDivide ? quotient - down : rest + (down ? b : 0);
    }
    case SymCode::Max: return std::max(a, b);
    case SymCode::Min: return std::min(a, b);
    case SymCode::Constant:
    case SymCode::Size: break;
  }
  raise<InternalError>("internal error, please report: no arithmetic of SymInt");
}

bool sym_value(SymComparison comparison, int64_t a, int64_t b) {
  switch (comparison) {
    case SymComparison::Equal: return a == b;
    case SymComparison::NotEqual: return a != b;
    case SymComparison::Less: return a < b;
    case SymComparison::LessEqual: return a <= b;
    case SymComparison::Greater: return a > b;
    case SymComparison::GreaterEqual: return a >= b;
  }
  raise<InternalError>("internal error, please report: unknown comparison");
}

namespace {

/// This thread's record, where both are of it. One that is of another call is a plain number by now; if that call is under way on another
/// thread, it has let go of what it depends on.
SizeReads* record_of(const SymInt& a, const SymInt& b) {
  SizeReads* const reads = current_size_reads;
  if (reads && reads->owns(a) && reads->owns(b)) return reads;
  SizeReads::give_up_of(a);
  SizeReads::give_up_of(b);
  return nullptr;
}

}  // namespace

SymInt sym_expression(SymCode code, const SymInt& a, const SymInt& b) {
  SizeReads* const reads = record_of(a, b);
  return reads ? reads->expression(code, a, b) : SymInt(sym_value(code, a.unguarded(), b.unguarded()));
}

bool sym_predicate(SymComparison comparison, const SymInt& a, const SymInt& b, std::source_location where) {
  SizeReads* const reads = record_of(a, b);
  return reads ? reads->predicate(comparison, a, b, where) : sym_value(comparison, a.unguarded(), b.unguarded());
}

}  // namespace detail

namespace {

void fix(const SymInt& value, std::source_location where) {
  if (value.is_symbolic()) detail::sym_predicate(detail::SymComparison::Equal, value, SymInt(value.unguarded()), where);
}

}  // namespace

int64_t SymInt::guard_int(const char* file, int64_t line) const {
  if (!is_symbolic()) return value_;
  if (SizeReads* reads = current_size_reads; reads && reads->owns(*this))
    reads->fix_value(*this, file, line);
  else
    SizeReads::give_up_of(*this);
  return value_;
}
int64_t SymInt::expect_int(std::source_location where) const { return fix(*this, where), value_; }
SymInt::operator bool() const {
  if (is_symbolic()) return detail::sym_predicate(detail::SymComparison::NotEqual, *this, SymInt(0), {});
  return value_ != 0;
}
std::ostream& operator<<(std::ostream& out, const SymInt& value) { return out << value.expect_int({}); }

std::ostream& operator<<(std::ostream& out, const SymIntArrayRef& list) {
  out << '[';
  for (size_t i = 0; i < list.size(); ++i) out << (i ? ", " : "") << list[i].unguarded();
  return out << ']';
}

}  // namespace tailor
