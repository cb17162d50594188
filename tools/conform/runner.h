#pragma once
// Replays cases and says for each whether it passed.

#include "conform/case_file.h"
#include "conform/executor.h"

namespace tailor::conform {

struct Outcome {
  enum class Kind { Passed, Failed, Unsupported };
  Kind kind = Kind::Passed;
  std::string detail;
};

/// Runs one case of any kind.
Outcome run_case(const Json& json, const CaseFile& file, Backend backend);

/// The kinds other than a single call; throw Unsupported, or return what went wrong.
std::string run_program(const Json& json, const CaseFile& file, Backend backend);
std::string run_module(const Json& json, const CaseFile& file, Backend backend);

}  // namespace tailor::conform
