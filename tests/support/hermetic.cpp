// Linked into every test: kernels are compiled here and now, whatever earlier runs left on disk, and nothing is left there. A test of
// the artifact cache sets one of its own; a process that it starts is told by the environment.

#include <cstdlib>

#include "jit/artifact_cache.h"

namespace {

const bool hermetic = [] {
  if (std::getenv("TAILOR_TEST_ARTIFACTS") == nullptr) tailor::jit::set_artifact_cache("");
  return true;
}();

}  // namespace
