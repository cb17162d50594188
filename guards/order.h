#pragma once
// In which order the parts of a conjunction are checked.

#include <cstdint>
#include <span>
#include <vector>

namespace tailor::guards {

enum class Order : uint8_t {
  Expected,   // least expected time: cost over failure probability, ascending
  Product,    // cost times failure probability, descending
  Insertion,  // as the facts were found
};

struct CostAndFailure {
  double cost = 1;     // of one check, nanoseconds
  double failure = 0;  // probability, or anything proportional to it
};

/// Numbers of the parts, the one to check first at the front. Equal ones keep their order.
std::vector<size_t> checking_order(std::span<const CostAndFailure> parts, Order order);

/// The mean time of one evaluation that stops at the first part that fails; failures independent.
double expected_time(std::span<const CostAndFailure> parts, std::span<const size_t> order);

}  // namespace tailor::guards
