#pragma once
// Why a call that follows makes something be compiled again: what it differs in from what was recorded, as data.

#include <source_location>
#include <string>

#include "frontend/dispatch.h"

namespace tailor::follow {

struct Step;
struct Instance;

struct Difference {
  enum class Kind : uint8_t {
    Lift,  // a number varies and becomes an argument
    Path,  // user code does something else
    Kept,  // more values outlive the segment than so far
  };
  Kind kind = Kind::Path;
  int step = 0;                        // along the path, from 1
  std::string what, expected, actual;  // "other of mul" "2" "3"; "op" "mul" "sum at model.cpp:13"
  std::source_location where;          // of the recorded step
  std::string attribute = {};          // what came, where it is an attribute that differs: "9", "[4, 4]"

  /// step 3: other of mul == 2
  std::string condition() const { return "step " + std::to_string(step) + ": " + what + " == " + expected; }
};

/// A recorded way on: what it was in the sizes of this call, or, where it has not been taken in them, when it was first recorded.
struct Way {
  const Step* step = nullptr;  // null: there is none
  const Instance* in_these_sizes = nullptr;
};
/// Of several ways that have been taken from here, the one that is most like this op (null: none) says most; else the last. Other threads
/// may be adding some.
Way most_like(const Instance& here, const OpCall* got);
/// An integer of a step that shapes its result is another one.
Difference number_of_step_that_varies(const Instance& seen, const OpCall& got);
/// `bit`: which scalar operand, or Step::kViewOffsetBit.
Difference number_that_varies(const Step& step, int bit, const Scalar& recorded, const Scalar& got);
/// The recorded step that is expected here, and the op that came.
Difference other_path(const Way& expected, const OpCall& got);
/// The same where the body ends, or host code needs data.
Difference other_path(const Way& expected, bool returns, std::source_location where);

/// Whether `got` may be the same thing as `seen` in another size. Sizes 0 and 1 mean something of their own.
bool differs_in_size_only(const ir::TensorSpec& seen, const ir::TensorSpec& got);
/// Whether two attributes are equal, or integers that sizes may have made different.
bool may_be_another_number(const ir::AttrRef& seen, const ir::AttrRef& got);

}  // namespace tailor::follow
