#include "guards/order.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tailor::guards {

// Two neighbours a, b take c_a + (1 - p_a) c_b in this order and c_b + (1 - p_b) c_a in the other: a belongs first when c_a / p_a <
// c_b / p_b. An order without a pair of neighbours to swap is the best one.
std::vector<size_t> checking_order(std::span<const CostAndFailure> parts, Order order) {
  std::vector<size_t> all(parts.size());
  std::iota(all.begin(), all.end(), size_t{0});
  const auto key = [&](size_t i) {
    const CostAndFailure& part = parts[i];
    switch (order) {
      case Order::Expected: return part.failure > 0 ? part.cost / part.failure : std::numeric_limits<double>::infinity();
      case Order::Product: return -part.cost * part.failure;
      case Order::Insertion: return 0.0;
    }
    return 0.0;
  };
  std::stable_sort(all.begin(), all.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  return all;
}

double expected_time(std::span<const CostAndFailure> parts, std::span<const size_t> order) {
  double time = 0, reached = 1;
  for (size_t i : order) {
    time += reached * parts[i].cost;
    reached *= 1 - std::min(parts[i].failure, 1.0);
  }
  return time;
}

}  // namespace tailor::guards
