#pragma once
// State outside of the arguments, and what is checked elsewhere but told as a guard.

#include "guards/definition.h"
#include "runtime/ambient.h"

namespace tailor::guards::kinds {

/// `grad mode on, default dtype f32, 2 threads`
inline std::string modes_text(uint64_t word) {
  const auto bit = [&](tailor::Ambient mode) { return (word & static_cast<uint64_t>(mode)) != 0; };
  std::string all = std::string("grad mode ") + (bit(tailor::Ambient::NoGrad) ? "off" : "on");
  if (bit(tailor::Ambient::Inference)) all += ", inference mode";
  if (bit(tailor::Ambient::FastMath)) all += ", fast math";
  all += ", default dtype " + std::string(short_name(static_cast<ScalarType>((word >> tailor::detail::kDefaultDtypeShift) & 15)));
  if ((word >> tailor::detail::kDeterministicShift) & 1) all += ", deterministic";
  if (word >> 16) all += ", " + std::to_string(word >> 16) + " threads";
  return all;
}

inline constexpr Definition ambient = {
    .kind = GuardKind::Ambient,
    .name = "ambient state",
    .typical_cost = 0.4,
    .holds = [](const Guard& g, const CallDescriptor& call) { return static_cast<int64_t>(call.ambient) == g.expected; },
    .condition = [](const Guard& g) { return g.path + " is " + modes_text(static_cast<uint64_t>(g.expected)); },
    .actual = [](const Guard&, const CallDescriptor& call) { return modes_text(call.ambient); },
    .suggestion = "grad mode, default dtype or another mode changed: each combination is a specialization",
};

inline constexpr Definition module_epoch = {
    .kind = GuardKind::ModuleEpoch,
    .name = "module epoch",
    .typical_cost = 0.4,
    .holds = [](const Guard& g, const CallDescriptor& call) { return static_cast<int64_t>(call.module_epoch) == g.expected; },
    .condition = [](const Guard& g) { return g.path + " == " + std::to_string(g.expected); },
    .actual = [](const Guard&, const CallDescriptor& call) { return std::to_string(call.module_epoch); },
    .suggestion = "a parameter, a submodule or train/eval was changed: the next call is followed and looks again",
    .protects_memory = true,
};

inline bool cell_is_expected(const Guard& g, const CallDescriptor& call) {
  return static_cast<size_t>(g.index) < call.cells.size() &&
         call.cells[static_cast<size_t>(g.index)]->word.load(std::memory_order_acquire) == static_cast<uint64_t>(g.expected);
}

inline constexpr Definition watched = {
    .kind = GuardKind::Watched,
    .name = "watched value",
    .typical_cost = 0.5,
    .holds = cell_is_expected,
    .condition = [](const Guard& g) { return g.path + " was not written"; },
    .actual = [](const Guard&, const CallDescriptor&) { return std::string("a newer value"); },
    .suggestion = "pass a value that changes often as an argument",
};

inline constexpr Definition liveness = {
    .kind = GuardKind::Liveness,
    .name = "liveness",
    .typical_cost = 1.0,
    .holds = cell_is_expected,
    .condition = [](const Guard& g) { return g.path + " is alive"; },
    .actual = [](const Guard&, const CallDescriptor&) { return std::string("a tensor that is gone"); },
    .suggestion = "keep captured tensors alive as long as the compiled function is called",
    .protects_memory = true,
};

inline constexpr Definition step = {
    .kind = GuardKind::Step,
    .name = "step",
    .typical_cost = 10.0,
    .holds = [](const Guard&, const CallDescriptor&) { return true; },  // made while following
    .condition = [](const Guard& g) { return "step " + std::to_string(g.index) + ": " + g.path; },
    .actual = [](const Guard&, const CallDescriptor&) { return std::string("another step"); },
    .suggestion = "each path that user code takes is recorded and compiled by itself",
};

}  // namespace tailor::guards::kinds
