#pragma once
// What the soak calls compiled functions with, and what eager code and compiled code are compared by.

#include <tailor/tailor.h>

#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace soak {

namespace tl = tailor;
using tl::Tensor;
using Results = std::vector<Tensor>;

/// Draws that are equal for equal seeds; cheap to begin.
class Draws {
 public:
  explicit Draws(uint64_t seed) : state_(seed) {}
  uint64_t next();
  int64_t pick(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  bool one_in(int64_t n) { return pick(n) == 0; }

 private:
  uint64_t state_;
};

/// The arguments. All values are small multiples of a quarter, so that sums and comparisons do not depend on rounding.
struct Call {
  Tensor x, y;
  std::vector<Tensor> list;
  std::optional<Tensor> extra;
  std::map<std::string, Tensor> named;
  Tensor index;  // int64; now and then beyond what it indexes
  double number = 1;
  int64_t way = 0, trips = 0;
  bool marked = false;  // x has a dim that must not be forced to one size
};
/// Which call it is: what its tensors are, and what the body does with them.
struct Seeds {
  uint64_t tensors = 0, way = 0;
};
/// Equal for equal seeds, with tensors of its own; who shares memory with whom is equal too.
Call make_call(Seeds seeds);

/// What bodies reach besides their arguments: one that eager calls use and an equal one for compiled calls, of each thread.
struct State {
  Tensor weight, bias;  // as many columns as x; re-seated, in other sizes
  Tensor cache;         // preallocated
  Tensor shared;        // that of other threads, too; never written
  std::vector<Tensor> kept;
  int64_t position = 0, rows = 3;
};
State make_state(uint64_t seed);
/// What user code changes between calls.
void change(State& state, uint64_t seed, const Tensor& shared);

/// The state that bodies on this thread use.
State*& here();

/// What a call did.
struct Outcome {
  Results results;
  std::string error;  // its type
};
Outcome outcome_of(const std::function<Results(Call&)>& f, Call& call, State& state);

/// What differs, or nothing.
std::string difference(const Results& got, const Results& want);
/// Everything of a call and a state that a body may have changed.
Results visible(const Call& call, const State& state);

struct BodyError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A compiled function, the signature of which is known to nobody else.
struct Function {
  std::string name;
  std::function<Results(Call&)> eager, fast;
  std::function<tl::Stats()> stats;
  std::function<void()> reset, look;                     // while others call it
  std::function<std::function<Results(Call&)>()> fresh;  // one that is compiled anew
  bool changes_modes = false;                            // of the process: no other call runs meanwhile
  bool may_refuse = false;                               // its options let it throw where eager code would not
};
/// Equal for equal seeds.
std::vector<Function> functions(uint64_t seed);

/// The random program `seed`: what its ops are, and on which tensors; a call may choose another end of it. Without `state` it depends on
/// its arguments alone.
Results program(uint64_t seed, Call& call, State* state);

}  // namespace soak
