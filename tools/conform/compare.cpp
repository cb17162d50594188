#include "conform/compare.h"

#include <cmath>
#include <sstream>

namespace tailor::conform {

Tolerance Tolerance::of(const Json& json) {
  Tolerance result;
  result.exact = json.value("exact", false);
  result.zero_sign = json.value("zero_sign", true);
  result.atol = json.value("atol", 0.0);
  result.rtol = json.value("rtol", 0.0);
  return result;
}

namespace {

bool close(double got, double want, const Tolerance& tolerance) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
  if (tolerance.exact) return got == want && (got != 0 || !tolerance.zero_sign || std::signbit(got) == std::signbit(want));
  if (std::isinf(got) || std::isinf(want)) return got == want;
  return std::abs(got - want) <= tolerance.atol + tolerance.rtol * std::abs(want);
}

template <class T>
std::string compare_elements(const Tensor& got, const Tensor& want, const Tolerance& tolerance) {
  const Tensor a = got.contiguous(), b = want.contiguous();
  const T* x = a.const_data_ptr<T>();
  const T* y = b.const_data_ptr<T>();
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0; i < a.numel(); ++i) {
    bool same;
    if constexpr (std::is_integral_v<T>) {
      same = x[i] == y[i];
    } else {
      same = close(static_cast<double>(x[i]), static_cast<double>(y[i]), tolerance);
    }
    if (same) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return {};
  std::ostringstream text;
  text.precision(std::is_same_v<T, double> ? 17 : 9);
  text << wrong << " of " << a.numel() << " elements differ; element " << first << " is "
       << +static_cast<std::conditional_t<std::is_integral_v<T>, int64_t, double>>(x[first]) << ", expected "
       << +static_cast<std::conditional_t<std::is_integral_v<T>, int64_t, double>>(y[first]);
  if (!tolerance.exact) text << " (atol " << tolerance.atol << ", rtol " << tolerance.rtol << ")";
  return text.str();
}

std::string shape_text(IntArrayRef sizes) {
  std::ostringstream text;
  text << '[';
  for (size_t i = 0; i < sizes.size(); ++i) text << (i ? ", " : "") << sizes[i];
  text << ']';
  return text.str();
}

}  // namespace

std::string difference(const Tensor& got, const Tensor& want, const Tolerance& tolerance) {
  if (!got.defined()) return "is undefined";
  std::ostringstream text;
  if (got.scalar_type() != want.scalar_type()) {
    text << "dtype is " << got.scalar_type() << ", expected " << want.scalar_type();
    return text.str();
  }
  if (got.sizes() != want.sizes()) return "shape is " + shape_text(got.sizes()) + ", expected " + shape_text(want.sizes());
  return visit_dtype(got.scalar_type(), [&]<class T>() { return compare_elements<T>(got, want, tolerance); });
}

std::string difference(const Value& got, const Value& want, const Tolerance& tolerance) {
  if (want.is_tensor()) return got.is_tensor() ? difference(got.tensor, want.tensor, tolerance) : "is no tensor";
  if (want.is_list()) {
    if (!got.is_list()) return "is no list";
    if (got.list.size() != want.list.size())
      return "has " + std::to_string(got.list.size()) + " items, expected " + std::to_string(want.list.size());
    for (size_t i = 0; i < got.list.size(); ++i) {
      if (auto text = difference(got.list[i], want.list[i], tolerance); !text.empty()) return "item " + std::to_string(i) + ": " + text;
    }
    return {};
  }
  if (!want.is_number()) return got.kind == want.kind ? "" : "is of another kind";
  if (!got.is_number()) return "is no number";
  if (got.kind != want.kind) return "is a number of another kind";
  const double x = got.scalar().to<double>(), y = want.scalar().to<double>();
  const bool same = want.kind == Value::Kind::Double ? close(x, y, tolerance) : got.integer == want.integer;
  std::ostringstream text;
  text.precision(17);
  text << "is " << x << ", expected " << y;
  return same ? "" : text.str();
}

}  // namespace tailor::conform
