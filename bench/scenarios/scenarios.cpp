#include "scenarios/scenario.h"

#include "branches/branches.h"
#include "serving/service.h"
#include "training_loop/training.h"

namespace tailor::bench {
namespace {

using Rows = std::vector<scenario::Row>;
constexpr int kCalls = 400;

Rows serving_requests(const std::string& folder) { return serving::replay(folder + "/requests.csv"); }
/// One worker: what the policies cost where nothing competes.
Rows serving_one_worker(const std::string& folder) { return serving::replay(folder + "/requests.csv", 600, 1); }
Rows training_loop(const std::string&) {
  manual_seed(9);
  return training::compare(rand({1437, 64}), randint(10, {1437}), 8);
}
Rows branches_early_exit(const std::string&) { return branches::compare(branches::early_exit(kCalls)); }
Rows branches_experts(const std::string&) { return branches::compare(branches::experts(kCalls)); }
Rows branches_length(const std::string&) { return branches::compare(branches::length_dependent(kCalls)); }

}  // namespace

std::span<const Scenario> scenarios() {
  static constexpr Scenario all[] = {
      {"serving_requests", "2,000 requests of every size to an encoder, four workers, seven policies", serving_requests},
      {"serving_one_worker", "600 of them, one worker", serving_one_worker},
      {"training_loop", "forward steps with partial batches, schedules, logging and modes", training_loop},
      {"branches_early_exit", "a network that stops when it is sure", branches_early_exit},
      {"branches_experts", "a gate that sends each batch to one of four experts", branches_experts},
      {"branches_length", "attention in one piece or in windows, by length", branches_length},
  };
  return all;
}

}  // namespace tailor::bench
