#pragma once
// One thread that compiles while callers go on eagerly. It starts with the first job, is joined when the process ends, and starts anew
// in a forked child, which takes over the jobs that were waiting.

#include <functional>

namespace tailor::detail {

/// Jobs run one after another, in order. They report their own errors. False when the process is ending: the job was not taken.
bool in_background(std::function<void()> job);
/// To be called where functions are made that may give jobs later: whoever is the main thread then waits for jobs before it ends.
void prepare_background();
/// Until every job given so far has ended.
void wait_for_background();

}  // namespace tailor::detail
