#pragma once
// One guard: an assumption that generated code relies on, as data. What each kind checks, costs and says is defined once, in kinds/.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "guards/descriptor.h"

namespace tailor::guards {

enum class GuardKind : uint8_t {
  // how arguments are put together
  Alternative,  // of a variant
  Presence,     // of an optional
  Length,       // of a container
  Keys,         // of a map
  // tensors
  Defined,
  Dtype,
  Device,
  Rank,
  Size,       // one dimension
  SizeRange,  // one dimension: expected <= size <= most
  Stride,     // one dimension
  Layout,     // dense, dimensions in a given order, whatever the sizes
  RequiresGrad,
  StorageOffset,
  StorageReach,  // bytes of the storage from the first element on, and before it (`most`)
  // numbers and texts
  ScalarValue,  // by kind and bits
  ScalarRange,
  EnumValue,
  Text,
  // several at once
  Identity,   // which tensors are one and the same
  Aliasing,   // which tensors share storage, and how far apart they start
  Predicate,  // a comparison of expressions over sizes
  // state outside of the arguments
  Ambient,      // grad mode, default dtype, determinism, fast math, number of threads
  ModuleEpoch,  // no parameter handle, submodule or train/eval mode was changed since
  Watched,      // a tailor::Watched was not written since
  Liveness,     // a captured tensor is alive
  Step,         // a comparison made while following
};
inline constexpr int kGuardKinds = static_cast<int>(GuardKind::Step) + 1;
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
  int index = 0;               // which tensor, scalar, structure word or cell of the descriptor
  int dim = -1;                // sizes, strides: the dimension; numbers: their kind; Keys: how keys are stored; Predicate: the comparison
  int64_t expected = 0;        // the value in 64 bits: dtype, size, stride, flag, bits of a number ...
  int64_t most = 0;            // ranges: the largest value; StorageReach: bytes before
  std::vector<int64_t> words;  // Text, Keys: packed; Layout: dimensions, innermost first; Identity, Aliasing: the pattern; Predicate
  std::string path;            // args[1].weights["w"]
  std::string source;          // "model.cpp:17": the line that made it necessary; may be empty

  /// `args[0].size(0)`: what is read, whatever is expected.
  std::string subject() const;
  /// `args[0].size(0) == 64`
  std::string condition() const;
  /// The value that the call has, as text.
  std::string actual(const CallDescriptor& call) const;
  bool holds(const CallDescriptor& call) const;
  /// What a user can do when this guard fails often.
  std::string suggestion() const;
  friend bool operator==(const Guard&, const Guard&) = default;
};

/// A value guard loosened: a size (Size becomes SizeRange) or an integer (ScalarValue, ScalarRange) may be anything from min to max.
/// Throws Error for other kinds, for an empty range and for one that leaves out the value that was recorded.
Guard relax(const Guard& guard, int64_t min, int64_t max);

}  // namespace tailor::guards
