#pragma once
// Which divisor the quotients of a size have: told by the graph, which costs less to look at than its programs.

#include <functional>

#include "ir/graph.h"

namespace tailor::jit {

/// Sizes of one symbol: `hint + k * unit`, within [min, max].
struct DivisorSearch {
  std::function<ir::Graph(int64_t size)> graph_at;  // throws Error where user code refuses a size
  int64_t hint, unit, min, max;
};

/// Calls accept(d) for the divisors up to `most`, from small ones on, among whose sizes (those of one rest modulo `d * unit`) the graph
/// says the same but for numbers that are polynomials of the size, of degree two at most. Gives the first that is accepted; 0 when there is
/// none, or when `tries` have been refused. Sizes that do not leave room for a look are taken as fitting.
int64_t least_divisor(const DivisorSearch& search, int64_t most, int tries, const std::function<bool(int64_t divisor)>& accept);

}  // namespace tailor::jit
