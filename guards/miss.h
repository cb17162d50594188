#pragma once
// What a failed look-up leaves behind: data for stats(), explain() and the log.

#include <string>

namespace tailor::guards {

struct Miss {
  int entry = 0;       // which entry's guard failed
  std::string guard;   // args[0].size(0) == 64
  std::string actual;  // 48
  std::string source;  // model.cpp:17
  std::string suggestion;
  std::string subject;  // args[0].size(0): what was read, the same for every value that it is expected to have
  /// `args[0].size(0) == 64 failed: got 48 (first needed at model.cpp:17)`
  std::string text() const { return guard + " failed: got " + actual + (source.empty() ? "" : " (first needed at " + source + ")"); }
};

}  // namespace tailor::guards
