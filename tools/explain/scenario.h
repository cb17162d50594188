#pragma once
// A small function through everything that can happen to a call: what `tailor explain` shows where no workload is named.

#include "tailor/tailor.h"

namespace tailor::tools {

/// A hit, another number, another path, other sizes, another dtype, a recompile storm: the reports of the functions it called.
std::vector<FunctionReport> run_scenario();

}  // namespace tailor::tools
