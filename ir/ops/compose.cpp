#include "ir/ops/compose.h"

#include "ir/ops/reduction.h"
#include "ir/ops/view.h"

namespace tailor::ir {

int Compose::cast(int x, ScalarType type) { return spec(x).dtype == type ? x : call("to", {x}, {type}); }

int Compose::reshape(int x, Dims sizes) { return spec(x).sizes == sizes ? x : ir::reshape(b_, x, sizes); }

int Compose::add(Value a, Value b) { return call("add", {a, b}); }
int Compose::sub(Value a, Value b) { return call("sub", {a, b}); }
int Compose::div(Value a, Value b) { return call("div", {a, b}); }
int Compose::clamp_min(int x, double low) { return call("clamp_min", {x, lit(low)}); }
int Compose::clamp_max(int x, double high) { return call("clamp_max", {x, lit(high)}); }

int Compose::mean(int x, const AttrRef& dim, bool keepdim) {
  const int64_t count = reduced_count(spec(x).sizes, reduced_dims(dim, spec(x).rank()));
  return div(sum(x, dim, keepdim), lit(static_cast<double>(count)));
}

}  // namespace tailor::ir
