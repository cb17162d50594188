#pragma once
// One computation over the tensors of a case, run by a backend as often as the case wants.

#include <functional>
#include <memory>

#include "conform/bindings.h"

namespace tailor::conform {

enum class Backend { Eager, Interpreter, Compiled };

class Executor {
 public:
  using Body = std::function<Results(Arguments&)>;
  virtual ~Executor() = default;
  virtual Results run(Arguments& arguments) = 0;
  /// How often a case is run with it: a compiled function once to record and then to follow.
  virtual int repetitions() const { return 1; }
};

std::unique_ptr<Executor> make_executor(Backend backend, Executor::Body body);

}  // namespace tailor::conform
