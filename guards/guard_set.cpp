#include "guards/guard_set.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>

#include "guards/alias.h"
#include "guards/definition.h"
#include "guards/kinds/tensor.h"
#include "guards/program_inl.h"
#include "guards/simplify.h"

namespace tailor::guards {

struct GuardSet::State {
  std::vector<Guard> facts, guards;
  std::vector<IntrusivePtr<Cell>> cells;
  std::atomic<const Program*> program{nullptr};  // null until sealed
  std::atomic<uint64_t> module_epoch{0};
  Order order = Order::Expected;

  // Learned: counts lose some updates between threads, which does no harm.
  std::atomic<uint64_t> misses{0}, samples{0};
  std::vector<std::atomic<uint64_t>> failures;           // by unit
  std::mutex mutex;                                      // guards what follows
  std::vector<std::unique_ptr<const Program>> programs;  // every one that a check may still run

  /// The guard with what it expects today.
  Guard today(Guard g) const {
    if (g.kind == GuardKind::ModuleEpoch) g.expected = static_cast<int64_t>(module_epoch.load(std::memory_order_relaxed));
    return g;
  }
  CallDescriptor with_cells(const CallDescriptor& call) const {
    CallDescriptor full = call;
    full.cells = cells;
    return full;
  }
};

GuardSet::GuardSet() : state_(std::make_unique<State>()) {}
GuardSet::~GuardSet() = default;
GuardSet::GuardSet(GuardSet&&) noexcept = default;
GuardSet& GuardSet::operator=(GuardSet&&) noexcept = default;

// ---- collecting ----------------------------------------------------------------------------------------------------

void GuardSet::add(Guard guard) {
  if (guard.kind == GuardKind::ModuleEpoch) state_->module_epoch.store(static_cast<uint64_t>(guard.expected));
  state_->facts.push_back(std::move(guard));
  state_->program.store(nullptr);
}

void GuardSet::require_spec(int index, const ir::TensorSpec* spec, std::string path, std::string source,
                            std::span<const DimRange> dynamic) {
  for (const Guard& g : state_->facts) {
    if (g.kind == GuardKind::Defined && g.index == index) return;
  }
  for (const DimRange& range : dynamic) {
    tailor::check(spec && range.dim >= 0 && range.dim < spec->rank(), path, ": a range of sizes names dimension ", range.dim,
                  ", which is not there");
    tailor::check(range.min <= range.max, path, ": the range of sizes of dimension ", range.dim, " is empty: ", range.min, " to ",
                  range.max);
  }
  const auto fact = [&](GuardKind kind, int dim, int64_t expected, int64_t most = 0, std::vector<int64_t> words = {}) {
    add({kind, index, dim, expected, most, std::move(words), path, source});
  };
  fact(GuardKind::Defined, -1, spec != nullptr);
  if (!spec) return;
  fact(GuardKind::Dtype, -1, static_cast<int64_t>(spec->dtype));
  fact(GuardKind::Device, -1, kinds::device_word(spec->device));
  fact(GuardKind::Rank, -1, spec->rank());
  for (int d = 0; d < spec->rank(); ++d) {
    const auto range = std::find_if(dynamic.begin(), dynamic.end(), [&](const DimRange& r) { return r.dim == d; });
    if (range == dynamic.end())
      fact(GuardKind::Size, d, spec->sizes[static_cast<size_t>(d)]);
    else
      fact(GuardKind::SizeRange, d, range->min, range->max);
  }
  const auto order = dynamic.empty() ? std::nullopt : ir::dense_order(spec->sizes, spec->strides);
  if (order) fact(GuardKind::Layout, -1, 0, 0, {order->dims.begin(), order->dims.begin() + order->rank});
  for (int d = 0; !order && d < spec->rank(); ++d) fact(GuardKind::Stride, d, spec->strides[static_cast<size_t>(d)]);
  fact(GuardKind::RequiresGrad, -1, spec->requires_grad);
}

void GuardSet::require_scalar(int index, Scalar value, std::string path, std::string source) {
  add({GuardKind::ScalarValue, index, static_cast<int>(value.kind()), value.bits(), 0, {}, std::move(path), std::move(source)});
}

void GuardSet::require_scalars(std::span<const Scalar> scalars, std::span<const Part> parts) {
  size_t at = 0;
  for (const Part& part : parts) {
    const auto words = static_cast<size_t>(part.words);
    tailor::check<InternalError>(at + words <= scalars.size(), "internal error, please report: a call has fewer numbers than names");
    const Scalar& value = scalars[at];
    Guard g{part.kind, static_cast<int>(at), static_cast<int>(value.kind()), value.bits(), 0, {}, part.path, ""};
    if (part.kind == GuardKind::Text) {
      g.dim = -1;
      g.expected = 0;
      for (size_t i = 0; i < words; ++i) g.words.push_back(scalars[at + i].bits());
    }
    add(std::move(g));
    at += words;
  }
}

void GuardSet::require_structure(std::span<const int64_t> words, std::span<const Part> parts) {
  size_t at = 0;
  for (const Part& part : parts) {
    const auto count = static_cast<size_t>(part.words);
    tailor::check<InternalError>(at + count <= words.size(), "internal error, please report: a call has less structure than names");
    Guard g{part.kind, static_cast<int>(at), -1, words[at], 0, {}, part.path, ""};
    if (part.kind == GuardKind::Keys) {
      g.dim = part.key_format;
      g.words.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.begin() + static_cast<std::ptrdiff_t>(at + count));
    }
    add(std::move(g));
    at += count;
  }
}

void GuardSet::require_storage_offset(int index, int64_t offset, std::string path, std::string source) {
  add({GuardKind::StorageOffset, index, -1, offset, 0, {}, std::move(path), std::move(source)});
}
void GuardSet::require_storage_reach(int index, int64_t after, int64_t before, std::string path, std::string source) {
  for (Guard& g : state_->facts) {
    if (g.kind != GuardKind::StorageReach || g.index != index) continue;
    g.expected = std::max(g.expected, after);
    g.most = std::max(g.most, before);
    state_->program.store(nullptr);
    return;
  }
  add({GuardKind::StorageReach, index, -1, after, before, {}, std::move(path), std::move(source)});
}
void GuardSet::require_ambient(uint64_t word) { add({GuardKind::Ambient, 0, -1, static_cast<int64_t>(word), 0, {}, "ambient state", ""}); }
void GuardSet::require_module_epoch(uint64_t epoch) {
  add({GuardKind::ModuleEpoch, 0, -1, static_cast<int64_t>(epoch), 0, {}, "module epoch", ""});
}
void GuardSet::require_identity(std::span<const TensorFact> tensors) {
  add({GuardKind::Identity, 0, -1, 0, 0, identity_pattern(tensors), "args", ""});
}
void GuardSet::require_aliasing(std::span<const TensorFact> tensors) {
  add({GuardKind::Aliasing, 0, -1, 0, 0, alias_pattern(tensors), "args", ""});
}
void GuardSet::require_predicate(const SizeExpr& left, Comparison comparison, const SizeExpr& right, std::string source,
                                 std::span<const std::string> names) {
  std::vector<int64_t> words = left.words();
  words.insert(words.end(), right.words().begin(), right.words().end());
  add({GuardKind::Predicate, 0, static_cast<int>(comparison), 0, 0, std::move(words), predicate_path(names), std::move(source)});
}
void GuardSet::require_cell(GuardKind kind, IntrusivePtr<Cell> cell, uint64_t value, std::string path, std::string source) {
  const int index = static_cast<int>(state_->cells.size());
  state_->cells.push_back(std::move(cell));
  add({kind, index, -1, static_cast<int64_t>(value), 0, {}, std::move(path), std::move(source)});
}

void GuardSet::review(const Review& review) {
  std::vector<Guard> kept;
  for (const Guard& fact : state_->facts) {
    if (auto decided = review(fact)) kept.push_back(std::move(*decided));
  }
  state_->facts = std::move(kept);
  state_->program.store(nullptr);
}

void GuardSet::seal(Order order) {
  State& s = *state_;
  std::lock_guard lock(s.mutex);
  s.program.store(nullptr);
  s.programs.clear();
  s.guards = simplified(s.facts);
  s.order = order;
  auto program = std::make_unique<Program>(compile_program(s.guards));
  s.failures = std::vector<std::atomic<uint64_t>>(program->parts.size());
  s.samples = s.misses = 0;
  s.program.store(program.get(), std::memory_order_release);
  s.programs.push_back(std::move(program));
}

// ---- checking ------------------------------------------------------------------------------------------------------

bool GuardSet::check(const CallDescriptor& call) const {
  const State& s = *state_;
  const Program* const program = s.program.load(std::memory_order_acquire);
  if (!program) [[unlikely]]
    return check_facts(call);
  const Program::Cells cells = s.cells;
  const uint64_t epoch = s.module_epoch.load(std::memory_order_relaxed);
  if (!program->fits(call, cells)) [[unlikely]]
    return false;
  const Instruction* const end = program->code.data() + program->code.size();
  for (const Instruction* i = program->code.data(); i != end; ++i) {
    if (!program->holds(*i, call, cells, epoch)) [[unlikely]] {
      missed(call);
      return false;
    }
  }
  return true;
}

[[gnu::noinline]] bool GuardSet::check_facts(const CallDescriptor& call) const { return !explain(call); }

std::optional<Miss> GuardSet::explain(const CallDescriptor& call) const {
  const CallDescriptor full = state_->with_cells(call);
  for (const Guard& fact : facts()) {
    const bool epoch = fact.kind == GuardKind::ModuleEpoch;
    if (!epoch && fact.holds(full)) continue;
    const Guard g = state_->today(fact);
    if (!g.holds(full)) return Miss{0, g.condition(), g.actual(full), g.source, g.suggestion(), g.subject()};
  }
  return std::nullopt;
}

void GuardSet::refresh_module_epoch(uint64_t epoch) const { state_->module_epoch.store(epoch, std::memory_order_relaxed); }

// ---- looking in ----------------------------------------------------------------------------------------------------

std::vector<Guard> GuardSet::guards() const {
  std::vector<Guard> all = state_->program.load() ? state_->guards : simplified(state_->facts);
  for (Guard& g : all) g = state_->today(std::move(g));
  return all;
}
const std::vector<Guard>& GuardSet::facts() const { return state_->facts; }
uint64_t GuardSet::samples() const { return state_->samples.load(std::memory_order_relaxed); }

std::vector<GuardSet::Unit> GuardSet::units() const {
  const State& s = *state_;
  std::vector<Unit> all;
  const Program* program = s.program.load(std::memory_order_acquire);
  if (!program) return all;
  for (const Instruction& i : program->code) {
    Unit& unit = all.emplace_back();
    for (size_t g : program->parts[i.unit]) unit.guards.push_back(s.guards[g]);
    unit.cost = program->costs[i.unit];
    unit.failures = s.failures[i.unit].load(std::memory_order_relaxed);
  }
  return all;
}

// ---- learning ------------------------------------------------------------------------------------------------------

namespace {

void count(std::atomic<uint64_t>& counter) { counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

bool is_power_of_four(uint64_t n) { return (n & (n - 1)) == 0 && (n & 0x5555555555555555u) != 0; }

}  // namespace

// A check stops at the first part that fails, which says nothing about the parts behind it. So some of the calls that do not match are
// looked at in full; how often each part fails among these is proportional to how often it fails at all, and the best order needs no
// more than that.
void GuardSet::missed(const CallDescriptor& call) const {
  constexpr uint64_t kAll = 16, kOneIn = 32;
  State& s = *state_;
  count(s.misses);
  const uint64_t n = s.misses.load(std::memory_order_relaxed);
  if (n > kAll && n % kOneIn != 0) [[likely]]
    return;
  learn(call);
  const uint64_t samples = s.samples.load(std::memory_order_relaxed);
  if (samples >= kAll && is_power_of_four(samples)) reorder(&call);
}

void GuardSet::learn(const CallDescriptor& call) const {
  State& s = *state_;
  const Program* program = s.program.load(std::memory_order_acquire);
  if (!program || !program->fits(call, s.cells)) return;
  const uint64_t epoch = s.module_epoch.load(std::memory_order_relaxed);
  count(s.samples);
  for (const Instruction& i : program->code) {
    if (!program->holds(i, call, s.cells, epoch)) count(s.failures[i.unit]);
  }
}

void GuardSet::reorder(const CallDescriptor* call) const {
  State& s = *state_;
  std::unique_lock lock(s.mutex, std::try_to_lock);
  const Program* program = s.program.load(std::memory_order_acquire);
  if (!lock || !program || program->code.size() < 2) return;
  auto next = std::make_unique<Program>(*program);
  if (call && program->fits(*call, s.cells)) {
    using Clock = std::chrono::steady_clock;
    constexpr int kRounds = 5, kRepeats = 32;
    const uint64_t epoch = s.module_epoch.load(std::memory_order_relaxed);
    for (const Instruction& i : program->code) {
      double best = 1e9;
      for (int round = 0; round < kRounds; ++round) {
        const Clock::time_point begin = Clock::now();
        for (int repeat = 0; repeat < kRepeats; ++repeat) {
          bool held = program->holds(i, *call, s.cells, epoch);
          asm volatile("" : "+r"(held));  // each round is to happen
        }
        best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / kRepeats);
      }
      next->costs[i.unit] = std::max(best, 0.1);
    }
  }
  // One failure is lent to every part: what has not failed yet may.
  std::vector<CostAndFailure> parts;
  const auto samples = static_cast<double>(s.samples.load(std::memory_order_relaxed)) + 2;
  for (size_t unit = 0; unit < next->parts.size(); ++unit)
    parts.push_back({next->costs[unit], (static_cast<double>(s.failures[unit].load(std::memory_order_relaxed)) + 0.5) / samples});
  std::vector<Instruction> by_unit(parts.size());
  for (const Instruction& i : program->code) by_unit[i.unit] = i;
  next->code.clear();
  for (size_t unit : checking_order(parts, s.order)) next->code.push_back(by_unit[unit]);
  s.program.store(next.get(), std::memory_order_release);
  s.programs.push_back(std::move(next));
}

}  // namespace tailor::guards
