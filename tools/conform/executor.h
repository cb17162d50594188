#pragma once
// One computation over the tensors of a case, run by a backend as often as the case wants.

#include <functional>
#include <memory>

#include "conform/bindings.h"

namespace tailor::conform {

/// Fused: compiled among other ops. Operands and results go through ops that keep every bit, so that nests hold more than one op and
/// kernels read what other kernels wrote; between the calls that count, numbers take other values, so that they become arguments of
/// the code; that call is compared with eager.
enum class Backend { Eager, Interpreter, Compiled, Fused };

class Executor {
 public:
  using Body = std::function<Results(Arguments&)>;
  virtual ~Executor() = default;
  virtual Results run(Arguments& arguments) = 0;
  /// How often a case is run with it: a compiled function once to record and then to follow.
  virtual int repetitions() const { return 1; }
};

/// `writes`: the body writes its arguments or other state, which must then be the caller's.
std::unique_ptr<Executor> make_executor(Backend backend, Executor::Body body, bool writes);

}  // namespace tailor::conform
