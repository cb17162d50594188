// Every fact that a compiled function can rely on is changed between its calls, at random, and each call must do what eager does: the
// same values, writes, aliases, descriptions and errors.
//
//   mutation_test --mutations 100000 --seed 1      many programs; ctest runs a part

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "compile/mutation/program.h"

namespace tailor::mutation {
namespace {

struct Amount {
  int64_t mutations = 4000;
  uint64_t seed = 1;
} amount;

TEST(Mutation, NoCallIsStale) {
  constexpr int kChanges = 120;  // of a program; then the next function, compiled anew
  int64_t done = 0;
  uint64_t calls = 0, hits = 0, skipped = 0, recompiles = 0;
  for (uint64_t n = 0; done < amount.mutations; ++n) {
    const Subject& subject = subjects()[n % subjects().size()];
    const uint64_t seed = amount.seed * 1'000'003 + n;
    const Program program = random_program(subject, seed, kChanges);
    Stats stats;
    if (const auto wrong = run(program, &stats)) {
      const Program small = smallest(program);
      FAIL() << "seed " << seed << ": " << *wrong << "\n\nthe smallest program found: " << small.text()
             << run(small).value_or("(passes now)");
    }
    done += kChanges;
    calls += stats.calls, hits += stats.hits, skipped += stats.skipped, recompiles += stats.recompiles;
  }
  std::cout << done << " mutations, " << calls << " calls: " << hits << " hits, " << skipped << " skipped, " << recompiles
            << " recompiles\n";
  EXPECT_GT(hits, calls / 5);
  EXPECT_GT(skipped, calls / 100);
}

TEST(Mutation, WhatIsNotReadCostsNothing) {
  for (const Subject& subject : subjects()) {
    for (const Fact& fact : facts()) {
      if (subject.reads[static_cast<size_t>(fact.group)]) continue;
      const Cost cost = cost_of(subject, fact, amount.seed, 6, {.backend = Backend::Interpreter});
      EXPECT_EQ(cost.recompiles + cost.divergences + cost.lifts, 0u)
          << subject.name << " does not read " << to_string(fact.group) << ", but: " << fact.name << ": " << cost.text();
      EXPECT_LE(cost.misses, 0u) << subject.name << ", " << fact.name << ": " << cost.text();
    }
  }
}

TEST(Mutation, ANumberThatIsReadCostsOneLift) {
  constexpr std::pair<std::string_view, std::string_view> read[] = {{"pointwise", "scale"},
                                                                    {"pointwise", "ratio"},
                                                                    {"pointwise", "the captured number"},
                                                                    {"arguments_only", "scale"},
                                                                    {"arguments_only", "ratio"},
                                                                    {"containers", "a nested number"},
                                                                    {"created", "scale"},
                                                                    {"created", "the captured number"},
                                                                    {"gradients", "scale"},
                                                                    {"survivors", "scale"},
                                                                    {"layers", "scale"},
                                                                    {"products", "ratio"},
                                                                    {"control_flow", "a global"},
                                                                    {"module_members", "a member that is not registered"},
                                                                    {"module_members", "a number of a submodule"},
                                                                    {"views", "the pair's number"}};
  for (const auto& [name, number] : read) {
    const auto subject = std::find_if(subjects().begin(), subjects().end(), [&](const Subject& s) { return s.name == name; });
    const auto fact = std::find_if(facts().begin(), facts().end(), [&](const Fact& f) { return f.name == number; });
    ASSERT_TRUE(subject != subjects().end() && fact != facts().end()) << name << ", " << number;
    const Cost cost = cost_of(*subject, *fact, amount.seed, 12, {.backend = Backend::Interpreter});
    EXPECT_LE(cost.recompiles, 1u) << name << " reads " << number << ": " << cost.text();
    EXPECT_EQ(cost.misses + cost.divergences, 0u) << name << " reads " << number << ": " << cost.text();
  }
}

}  // namespace
}  // namespace tailor::mutation

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--mutations") tailor::mutation::amount.mutations = std::atoll(argv[i + 1]);
    if (flag == "--seed") tailor::mutation::amount.seed = static_cast<uint64_t>(std::atoll(argv[i + 1]));
  }
  return RUN_ALL_TESTS();
}
