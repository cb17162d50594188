#pragma once
// One guard: an assumption that generated code relies on, as data.

#include <cstdint>
#include <string>
#include <vector>

#include "guards/descriptor.h"

namespace tailor::guards {

enum class GuardKind : uint8_t {
  Defined,  // a tensor is (or is not) defined
  Dtype,
  Device,
  Rank,
  Size,       // one dimension
  Stride,     // one dimension
  SizeRange,  // one dimension: expected <= size <= most
  Layout,     // dense, dimensions in a given order, whatever the sizes
  RequiresGrad,
  ScalarValue,  // by kind and bits
  Structure,    // container lengths, presence, keys
  Aliasing,     // which arguments share storage, and how far apart they start
  Ambient,      // grad mode, default dtype, determinism, fast-math
  ModuleEpoch,  // no parameter handle or submodule was replaced since
  Liveness,     // a captured tensor is alive and has its description still
  Step,         // a comparison made while following
};
std::string_view to_string(GuardKind kind);

/// Typical cost of one check in nanoseconds, used for ordering until it is measured.
double typical_cost(GuardKind kind);

/// A dimension whose size is symbolic: anything from min to max.
struct DimRange {
  int dim = 0;
  int64_t min = 0, max = INT64_MAX;
  friend bool operator==(const DimRange&, const DimRange&) = default;
};

struct Guard {
  GuardKind kind = GuardKind::Dtype;
  int index = 0;                 // which tensor, scalar or structure word of the descriptor
  int dim = -1;                  // Size, Stride
  int64_t expected = 0;          // the value in 64 bits: dtype, size, stride, flag, bits of a scalar ...
  int64_t most = 0;              // SizeRange: the largest size
  std::string path;              // args[1].weights["w"].size(0)
  std::string source;            // "model.cpp:17": the line that made it necessary; may be empty
  std::vector<int64_t> pattern;  // Aliasing; Layout: the dimensions, innermost first

  /// `args[0].size(0) == 64`
  std::string condition() const;
  /// The value that the call has, as text.
  std::string actual(const CallDescriptor& call) const;
  bool holds(const CallDescriptor& call) const;
  /// What a user can do when this guard fails often.
  std::string suggestion() const;
  friend bool operator==(const Guard&, const Guard&) = default;
};

/// For each tensor the first one that shares its storage and the distance between their first elements, in bytes; two numbers
/// a tensor. Equal patterns mean equal aliasing.
std::vector<int64_t> alias_pattern(std::span<const TensorFact> tensors);

/// Whether the tensors have this pattern; allocates nothing.
bool has_alias_pattern(std::span<const TensorFact> tensors, std::span<const int64_t> pattern);

}  // namespace tailor::guards
