#include "frontend/compile/policy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "tailor/policy.h"

namespace tailor {
namespace {

constinit std::atomic<Stance> process_stance{Stance::Default};
constinit thread_local int thread_stance = -1;

}  // namespace

void set_stance(Stance stance) noexcept { process_stance.store(stance, std::memory_order_relaxed); }
Stance current_stance() noexcept {
  return thread_stance < 0 ? process_stance.load(std::memory_order_relaxed) : static_cast<Stance>(thread_stance);
}
StanceScope::StanceScope(Stance stance) noexcept : before_(std::exchange(thread_stance, static_cast<int>(stance))) {}
StanceScope::~StanceScope() { thread_stance = before_; }

}  // namespace tailor

namespace tailor::detail {

const char* to_string(EagerReason reason) {
  switch (reason) {
    case EagerReason::AtLimit: return "cache_size_limit is reached";
    case EagerReason::AtTotalLimit: return "the limit over all functions is reached";
    case EagerReason::Storm: return "a recompile storm was found";
    case EagerReason::NotWorthIt: return "its kind has not come often enough to pay for compiling";
    case EagerReason::OtherThread: return "another thread is compiling";
    case EagerReason::Stance: return "the stance asks for it";
  }
  return "?";
}

// ---- storms --------------------------------------------------------------------------------------------------------

std::optional<Storm> StormDetector::note(const MissRecord& miss, int limit) {
  constexpr size_t kMostValues = 8, kMostSites = 256;
  std::lock_guard lock(mutex_);
  if (sites_.size() >= kMostSites && !sites_.contains(miss.subject)) return std::nullopt;
  Site& site = sites_[miss.subject];
  Storm& storm = site.storm;
  if (storm.failures++ == 0) {
    storm.subject = miss.subject;
    storm.source = miss.source;
    storm.suggestion = miss.suggestion;
  }
  if (std::find(storm.values.begin(), storm.values.end(), miss.actual) == storm.values.end()) {
    if (storm.values.size() < kMostValues)
      storm.values.push_back(miss.actual);
    else
      storm.more_values = true;
  }
  if (site.told || storm.failures <= static_cast<uint64_t>(limit)) return std::nullopt;
  site.told = true;
  under_way_.store(true, std::memory_order_relaxed);
  return storm;
}

std::vector<Storm> StormDetector::storms() const {
  std::lock_guard lock(mutex_);
  std::vector<Storm> told;
  for (const auto& [subject, site] : sites_)
    if (site.told) told.push_back(site.storm);
  return told;
}

void StormDetector::clear() {
  std::lock_guard lock(mutex_);
  sites_.clear();
  under_way_.store(false, std::memory_order_relaxed);
}

namespace {

/// "2, 3, 4 ... (first needed at model.cpp:17). What to do: ..."
void say_values(std::ostream& out, const Storm& storm) {
  for (size_t i = 0; i < storm.values.size(); ++i) out << (i ? ", " : "") << storm.values[i];
  if (storm.more_values) out << " ...";
  if (!storm.source.empty()) out << " (first needed at " << storm.source << ")";
  out << ". What to do: " << storm.suggestion << ".";
}

}  // namespace

std::string path_storm_text(const Storm& storm, const std::string& function) {
  std::ostringstream out;
  out << function << " is recorded again and again: " << storm.subject << " has differed " << storm.failures << " times, with values ";
  say_values(out, storm);
  out << " Each value is a path of its own, and a call that would need more than 64 of them runs eagerly.";
  return out.str();
}

std::string storm_text(const Storm& storm, const std::string& function, StormPolicy policy) {
  std::ostringstream out;
  out << function << " is compiled again and again: the guard on " << storm.subject << " has failed " << storm.failures
      << " times, with values ";
  say_values(out, storm);
  switch (policy) {
    case StormPolicy::WhenWorthIt:
      out << " From now on a call that matches no entry runs eagerly until its kind has come often enough to pay for compiling.";
      break;
    case StormPolicy::RunEager: out << " From now on calls that match no entry run eagerly."; break;
    case StormPolicy::KeepCompiling: out << " It goes on compiling, as at_storm says."; break;
    case StormPolicy::Throw: break;
  }
  return out.str();
}

// ---- what pays -----------------------------------------------------------------------------------------------------

double break_even_calls(const CallCosts& costs) {
  const double compiled = costs.compiled_us > 0 ? costs.compiled_us : costs.eager_us / 2;
  const double gain = costs.eager_us - compiled;
  return gain > 0 ? costs.compile_us / gain : std::numeric_limits<double>::infinity();
}

PatternCounter::Seen PatternCounter::seen(uint64_t pattern) const {
  std::lock_guard lock(mutex_);
  const auto it = seen_.find(pattern);
  return it == seen_.end() ? Seen{} : it->second;
}

void PatternCounter::ran(uint64_t pattern, double eager_us) {
  std::lock_guard lock(mutex_);
  // Kinds that came once only are the many: they go first.
  if (seen_.size() >= kMost && !seen_.contains(pattern)) {
    std::erase_if(seen_, [](const auto& kind) { return kind.second.calls <= 1; });
    if (seen_.size() >= kMost) seen_.clear();
  }
  Seen& kind = seen_[pattern];
  ++kind.calls;
  kind.eager_us += eager_us;
}

void PatternCounter::forget(uint64_t pattern) {
  std::lock_guard lock(mutex_);
  seen_.erase(pattern);
}

void PatternCounter::clear() {
  std::lock_guard lock(mutex_);
  seen_.clear();
}

uint64_t pattern_of(const guards::CallDescriptor& call, bool with_numbers) {
  uint64_t hash = 0x9e3779b97f4a7c15;
  const auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
  };
  mix(call.ambient);
  for (const guards::TensorFact& fact : call.tensors) {
    mix(fact.spec != nullptr);
    if (fact.spec == nullptr) continue;
    const ir::TensorSpec& spec = *fact.spec;
    mix(static_cast<uint64_t>(spec.dtype) << 8 | static_cast<uint64_t>(spec.requires_grad));
    mix(spec.sizes.size());
    for (const int64_t n : spec.sizes) mix(static_cast<uint64_t>(n));
    for (const int64_t n : spec.strides) mix(static_cast<uint64_t>(n));
  }
  for (const int64_t word : call.structure) mix(static_cast<uint64_t>(word));
  for (const Scalar& number : call.scalars) {
    mix(static_cast<uint64_t>(number.kind()));
    if (with_numbers) mix(static_cast<uint64_t>(number.bits()));
  }
  return hash;
}

namespace {

std::mutex costs_mutex;
double compile_us_sum = 0;
uint64_t compiles = 0;

}  // namespace

CallCosts typical_costs() {
  constexpr double kFirstGuess = 5'000;  // a small segment's, on a slow machine
  std::lock_guard lock(costs_mutex);
  CallCosts costs;
  costs.compile_us = compiles ? compile_us_sum / static_cast<double>(compiles) : kFirstGuess;
  return costs;
}

void note_compile_cost(double us) {
  std::lock_guard lock(costs_mutex);
  compile_us_sum += us;
  ++compiles;
}

}  // namespace tailor::detail
