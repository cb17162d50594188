#pragma once
// What a compiled function did in one call and what it relies on: printable, and plain data.
//
//   tailor::Explanation told = tailor::explain(fast)(x, w);     // makes the call
//   std::cout << told;   if (told.outcome.starts_with("miss")) std::cout << told.misses.front().text();

#include <iosfwd>
#include <string>
#include <vector>

#include "tailor/stats.h"

namespace tailor {

struct Explanation {
  struct GuardText {
    std::string kind, condition, source;
  };
  struct Segment {
    std::string graph;  // text form of the IR
    int ops = 0, kernels = 0;
    double compile_ms = 0;
    std::vector<GuardText> guards;  // of code for many sizes: which ones it serves, `args[0].size(2) % 4 == 3`
  };
  std::string function;                // name and source line
  std::string outcome;                 // "hit", "skipped", "miss: recorded and compiled", ...
  int entry = -1;                      // which entry served the call
  std::vector<MissRecord> misses;      // the first failing guard of every entry that did not match; then what differed from recorded steps
  std::vector<GuardText> guards;       // of the entry that served it
  std::vector<GuardText> skip_guards;  // of its plan for skipping the body (pure), if it has one
  std::vector<std::vector<GuardText>> size_guards;  // of each way through the body (pure): the sizes that it is skipped in unseen
  std::vector<Segment> segments;                    // of that entry, in the order of compiling
  int steps = 0, paths = 0;
  std::string not_skipped;    // of a pure function whose body runs all the same: why (Stats::not_skipped)
  std::vector<Storm> storms;  // guards that have failed again and again

  std::string text() const;
  std::string json() const;
};
std::ostream& operator<<(std::ostream& out, const Explanation& explanation);

}  // namespace tailor
