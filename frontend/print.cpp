// The text of `std::cout << tensor`: libtorch's, character for character (checked against libtorch 2.15).

#include <charconv>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "frontend/call.h"
#include "tailor/tensor.h"

namespace tailor {
namespace {

constexpr int kLineWidth = 80;

/// The elements in row-major order, as doubles.
std::vector<double> elements_of(TensorImpl& impl) {
  const ir::TensorSpec& spec = impl.spec;
  std::vector<double> values;
  values.reserve(static_cast<size_t>(spec.numel()));
  if (spec.numel() == 0) return values;
  visit_dtype(spec.dtype, [&]<class T>() {
    const T* p = reinterpret_cast<const T*>(impl.data());
    Dims at(spec.sizes.size(), 0);
    for (;;) {
      values.push_back(static_cast<double>(*p));
      size_t d = spec.sizes.size();
      while (d > 0) {
        --d;
        p += spec.strides[d];
        if (++at[d] < spec.sizes[d]) break;
        p -= at[d] * spec.strides[d];
        at[d] = 0;
        if (d == 0) return;
      }
      if (spec.sizes.empty()) return;
    }
  });
  return values;
}

/// The shortest text that reads back as the same number; plain digits for exponents from -4 to 15.
std::string shortest(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? (std::signbit(value) ? "-nan" : "nan") : value < 0 ? "-inf" : "inf";
  char text[400];
  const double size = std::fabs(value);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  const auto end = std::to_chars(text, text + sizeof text, value, plain ? std::chars_format::fixed : std::chars_format::scientific).ptr;
  return {text, end};
}

/// How the numbers of one matrix (or vector) are written: printf's conversion, a width, a common factor.
struct Format {
  double scale = 1;
  int width = 0;
  const char* conversion = "%*g";
  std::string operator()(double value) const {
    char text[400];
    const int n = std::snprintf(text, sizeof text, conversion, width, value / scale);
    return {text, static_cast<size_t>(n)};
  }
};

int decimal_exponent(double size) { return size != 0 ? static_cast<int>(std::floor(std::log10(size))) + 1 : 1; }

Format choose_format(std::span<const double> values) {
  bool integers = true, any = false;
  double least = 0, most = 0;
  for (double v : values) {
    if (!std::isfinite(v)) continue;
    integers &= v == std::ceil(v);
    const double size = std::fabs(v);
    least = any ? std::min(least, size) : size;
    most = any ? std::max(most, size) : size;
    any = true;
  }
  const int low = any ? decimal_exponent(least) : 1, high = any ? decimal_exponent(most) : 1;
  if (integers) return high > 9 ? Format{1, 11, "%*.4e"} : Format{1, high + 1, "%*g"};
  if (high - low > 4) return {1, std::abs(high) > 99 || std::abs(low) > 99 ? 12 : 11, "%*.4e"};
  if (high > 5 || high < 0) return {std::pow(10.0, high - 1), 7, "%*.4f"};
  return {1, high == 0 ? 7 : high + 6, "%*.4f"};
}

/// Wide matrices are written in groups of columns. `indent` spaces stand before every row but the first.
void print_matrix(std::ostream& out, std::span<const double> values, int64_t rows, int64_t columns, int indent) {
  const Format format = choose_format(values);
  const std::string margin(static_cast<size_t>(indent), ' ');
  const int64_t per_line = (kLineWidth - indent) / (format.width + 1);
  for (int64_t first = 0; first < columns; first += per_line) {
    const int64_t last = std::min(first + per_line, columns);
    if (per_line < columns)
      out << (first > 0 ? "\n" : "") << "Columns " << std::to_string(first + 1) << " to " << std::to_string(last) << margin;
    if (format.scale != 1) out << shortest(format.scale) << " *\n" << margin;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = first; c < last; ++c) out << format(values[static_cast<size_t>(r * columns + c)]) << (c + 1 < last ? " " : "\n");
      if (r + 1 < rows) out << margin << (format.scale != 1 ? " " : "");
    }
  }
}

/// One matrix after the other; the first dimension varies fastest.
void print_matrices(std::ostream& out, std::span<const double> values, const Dims& sizes) {
  const size_t outer = sizes.size() - 2;
  const int64_t rows = sizes[outer], columns = sizes[outer + 1], area = rows * columns;
  Dims strides(outer, area);
  for (size_t d = outer; d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  Dims at(outer, 0);
  for (bool more = true, first = true; more; first = false) {
    out << (first ? "(" : "\n(");
    int64_t start = 0;
    for (size_t d = 0; d < outer; ++d) {
      out << std::to_string(at[d] + 1) << ",";
      start += at[d] * strides[d];
    }
    out << ".,.) = \n";
    print_matrix(out, values.subspan(static_cast<size_t>(start), static_cast<size_t>(area)), rows, columns, 1);
    size_t d = 0;
    while (d < outer && ++at[d] == sizes[d]) at[d++] = 0;
    more = d < outer;
  }
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  if (!tensor.defined()) return out << "[ Tensor (undefined) ]";
  TensorImpl& impl = impl_of(tensor);
  prepare_host_access(impl, false, std::source_location());
  const std::vector<double> values = elements_of(impl);
  const Dims& sizes = impl.spec.sizes;
  if (sizes.empty()) {
    out << shortest(values[0]) << "\n";
  } else if (sizes.size() == 1 && !values.empty()) {
    const Format format = choose_format(values);
    if (format.scale != 1) out << shortest(format.scale) << " *\n";
    for (double v : values) out << format(v) << "\n";
  } else if (!values.empty()) {
    if (sizes.size() == 2)
      print_matrix(out, values, sizes[0], sizes[1], 0);
    else
      print_matrices(out, values, sizes);
  }
  out << "[ " << tensor.toString() << "{";
  for (size_t d = 0; d < sizes.size(); ++d) out << (d > 0 ? "," : "") << std::to_string(sizes[d]);
  return out << "} ]";
}

void Tensor::print() const { std::cout << *this; }

}  // namespace tailor
