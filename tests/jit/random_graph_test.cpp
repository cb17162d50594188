// Differential test over random graphs; TAILOR_SEEDS=first,count reproduces or widens a run.

#include "jit/random_graph.h"

#include <cstdlib>

#include "ir/passes/passes.h"
#include "jit/run_graph.h"

namespace tailor::jit {
namespace {

std::pair<uint32_t, uint32_t> seeds() {
  const char* text = std::getenv("TAILOR_SEEDS");
  unsigned first = 1, count = 120;
  if (text != nullptr) std::sscanf(text, "%u,%u", &first, &count);
  return {first, count};
}

void check_seeds(const std::vector<uint32_t>& seeds, bool moving) {
  for (uint32_t seed : seeds) {
    const ir::Graph graph = testing::RandomGraph(seed, moving).build();
    SCOPED_TRACE("TAILOR_SEEDS=" + std::to_string(seed) + ",1");
    try {
      testing::check_backends(graph, 0, seed);
    } catch (const std::exception& e) { FAIL() << e.what() << "\n" << ir::print(graph); }
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(RandomGraph, BackendsAgreeBitForBit) {
  const auto [first, count] = seeds();
  std::vector<uint32_t> all = {708};  // the code generator folds 0/0
  for (uint32_t seed = first; seed < first + count; ++seed) all.push_back(seed);
  check_seeds(all, false);
}

TEST(RandomGraph, MovedElementsAgreeBitForBit) {
  const auto [first, count] = seeds();
  std::vector<uint32_t> all;
  for (uint32_t seed = first; seed < first + count; ++seed) all.push_back(seed);
  check_seeds(all, true);
}

TEST(RandomGraph, TextFormRoundTrips) {
  for (uint32_t seed = 1; seed < 200; ++seed) {
    const ir::Graph graph = testing::RandomGraph(seed, seed % 2 == 0).build();
    const std::string text = ir::print(graph);
    const ir::Graph parsed = ir::parse_graph(text);
    EXPECT_EQ(ir::print(parsed), text);
    EXPECT_EQ(ir::content_hash(parsed), ir::content_hash(graph)) << text;
  }
}

TEST(RandomGraph, PassesKeepGraphsSound) {
  for (uint32_t seed = 1; seed < 200; ++seed) {
    const ir::Graph graph = testing::RandomGraph(seed, seed % 2 == 0).build();
    ASSERT_NO_THROW(ir::verify(graph));
    const ir::Graph optimized = ir::optimize(graph);
    ASSERT_NO_THROW(ir::verify(optimized)) << ir::print(graph) << ir::print(optimized);
  }
}

}  // namespace
}  // namespace tailor::jit
