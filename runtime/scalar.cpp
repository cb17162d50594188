#include "runtime/scalar.h"

#include <charconv>
#include <cmath>

namespace tailor {

// The shortest text that reads back as the same double, always recognisable as one ("2.0").
static void print_double(std::ostream& out, double value) {
  if (std::isnan(value)) {
    out << "nan";
    return;
  }
  if (std::isinf(value)) {
    out << (value < 0 ? "-inf" : "inf");
    return;
  }
  char text[40];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  const std::string_view digits(text, static_cast<size_t>(end - text));
  out << digits;
  if (digits.find_first_of(".e") == std::string_view::npos) out << ".0";
}

std::ostream& operator<<(std::ostream& out, const Scalar& scalar) {
  switch (scalar.kind()) {
    case Scalar::Kind::Bool: return out << (scalar.to_bool() ? "true" : "false");
    case Scalar::Kind::Int: return out << scalar.to_int();
    case Scalar::Kind::Double: print_double(out, scalar.to_double()); return out;
  }
  return out;
}

}  // namespace tailor
