// Which expression over the symbols a number is.

#include <algorithm>

#include "frontend/follow/symbolic.h"

namespace tailor::follow {
namespace {

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

using Calls = std::span<const std::vector<int64_t>>;

bool fits(const SizeExpr& e, std::span<const int64_t> values, Calls symbols) {
  for (size_t k = 0; k < values.size(); ++k) {
    if (e(symbols[k]) != values[k]) return false;
  }
  return true;
}

std::optional<SizeExpr> line(std::span<const int64_t> values, Calls symbols, int i) {
  const auto s = [&](size_t k) { return symbols[k][static_cast<size_t>(i)]; };
  for (size_t k = 1; k < values.size(); ++k) {
    const int64_t step = s(k) - s(0);
    if (step == 0) continue;
    if ((values[k] - values[0]) % step != 0) return std::nullopt;
    const int64_t slope = (values[k] - values[0]) / step;
    if (slope == 0) return std::nullopt;
    SizeExpr e;
    e.constant = values[0] - slope * s(0);
    e.linear = {{i, slope}};
    return fits(e, values, symbols) ? std::optional(e) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<SizeExpr> scaled_product(std::span<const int64_t> values, Calls symbols, int i, int j) {
  const int64_t product = symbols[0][static_cast<size_t>(i)] * symbols[0][static_cast<size_t>(j)];
  if (product == 0 || values[0] % product != 0) return std::nullopt;
  SizeExpr e;
  e.factor = values[0] / product;
  e.product = {i, j};
  return e.factor != 0 && fits(e, values, symbols) ? std::optional(e) : std::nullopt;
}

std::optional<SizeExpr> sum(std::span<const int64_t> values, Calls symbols, int i, int j) {
  for (const int64_t sign : {1, -1}) {
    SizeExpr e;
    e.linear = {{i, 1}, {j, sign}};
    e.constant = values[0] - e(symbols[0]);
    if (fits(e, values, symbols)) return e;
  }
  return std::nullopt;
}

std::optional<SizeExpr> quotient(std::span<const int64_t> values, Calls symbols, int i) {
  constexpr int64_t kLargestDivisor = 64;
  for (int64_t d = 2; d <= kLargestDivisor; ++d) {
    for (int64_t c = -d; c <= d; ++c) {
      SizeExpr e;
      e.constant = c;
      e.linear = {{i, 1}};
      e.divisor = d;
      if (fits(e, values, symbols)) return e;
    }
  }
  return std::nullopt;
}

}  // namespace

int64_t SizeExpr::operator()(std::span<const int64_t> symbols) const {
  int64_t value = constant;
  for (const auto& [symbol, coefficient] : linear) value += coefficient * symbols[static_cast<size_t>(symbol)];
  if (factor != 0) {
    int64_t all = factor;
    for (int symbol : product) all *= symbols[static_cast<size_t>(symbol)];
    value += all;
  }
  return divisor == 1 ? value : floor_div(value, divisor);
}

std::optional<SizeExpr> explain_number(std::span<const int64_t> values, Calls symbols) {
  const int count = symbols.empty() ? 0 : static_cast<int>(symbols[0].size());
  for (int i = 0; i < count; ++i) {
    if (fits(SizeExpr::symbol(i), values, symbols)) return SizeExpr::symbol(i);
  }
  if (std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values[0]; })) return SizeExpr::number(values[0]);
  for (int i = 0; i < count; ++i) {
    if (const auto e = line(values, symbols, i)) return e;
  }
  for (int i = 0; i < count; ++i) {
    for (int j = i; j < count; ++j) {
      if (const auto e = scaled_product(values, symbols, i, j)) return e;
    }
  }
  for (int i = 0; i < count; ++i) {
    for (int j = i + 1; j < count; ++j) {
      if (const auto e = sum(values, symbols, i, j)) return e;
    }
  }
  for (int i = 0; i < count; ++i) {
    if (const auto e = quotient(values, symbols, i)) return e;
  }
  return std::nullopt;
}

}  // namespace tailor::follow
