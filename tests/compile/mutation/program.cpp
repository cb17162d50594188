#include "compile/mutation/program.h"

#include <cmath>
#include <cstring>
#include <sstream>

namespace tailor::mutation {
namespace {

using Function = Results(const Tensor&, const Tensor&, const Args&);

/// What a call did, errors included.
struct Outcome {
  Results results;
  std::string error;
};

template <class F>
Outcome call(F&& f, World& w) {
  const Entered entered(w);
  Outcome outcome;
  try {
    outcome.results = f(w.x, w.y, w.args);
  } catch (const std::exception& e) { outcome.error = e.what(); } catch (int number) {
    outcome.error = "thrown: " + std::to_string(number);
  }
  return outcome;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous(), y = b.contiguous();
  const auto size = static_cast<size_t>(x.element_size());
  const auto *p = static_cast<const std::byte*>(x.const_data_ptr()), *q = static_cast<const std::byte*>(y.const_data_ptr());
  if (std::memcmp(p, q, x.nbytes()) == 0) return true;
  if (!x.is_floating_point()) return false;
  const Tensor fx = x.flatten(), fy = y.flatten();
  for (int64_t i = 0; i < x.numel(); ++i) {  // any NaN equals any other
    if (std::memcmp(p + static_cast<size_t>(i) * size, q + static_cast<size_t>(i) * size, size) == 0) continue;
    if (!std::isnan(fx[i].item<double>()) || !std::isnan(fy[i].item<double>())) return false;
  }
  return true;
}

std::string print(const Tensor& t) {
  std::ostringstream out;
  if (!t.defined()) return "undefined";
  out << tailor::to_string(t.scalar_type()) << t.sizes() << " strides " << t.strides() << (t.requires_grad() ? " requires grad" : "")
      << (t.is_leaf() ? " leaf" : "") << "\n"
      << t.detach();
  return out.str();
}

/// Everything that a caller can see of a tensor.
bool same(const Tensor& got, const Tensor& want, bool exact) {
  if (got.defined() != want.defined()) return false;
  if (!got.defined()) return true;
  if (got.scalar_type() != want.scalar_type() || got.sizes() != want.sizes() || got.strides() != want.strides()) return false;
  if (got.requires_grad() != want.requires_grad() || got.is_leaf() != want.is_leaf()) return false;
  const NoGradGuard no_grad;
  const Tensor a = got.detach(), b = want.detach();
  if (same_bits(a, b)) return true;
  if (exact || !a.is_floating_point()) return false;
  // Sums of numbers that cancel, normalised: errors are relative to the largest.
  const double largest = b.abs().nan_to_num(0, 0, 0).max().item<double>();
  return allclose(a, b, 1e-4, 5e-4 * (1 + largest), true);
}

std::optional<std::string> compare(const Outcome& got, const Outcome& want, const World& compiled, const World& eager, bool exact) {
  const auto differ = [](const std::string& what, const std::string& a, const std::string& b) {
    return what + " differs: got\n" + a + "\ninstead of\n" + b;
  };
  if (got.error != want.error) return differ("the error", got.error, want.error);
  if (got.results.size() != want.results.size()) return "another number of results";
  for (size_t i = 0; i < got.results.size(); ++i) {
    if (!same(got.results[i], want.results[i], exact))
      return differ("result " + std::to_string(i), print(got.results[i]), print(want.results[i]));
    for (size_t j = 0; j < i; ++j) {
      if (got.results[i].is_same(got.results[j]) != want.results[i].is_same(want.results[j])) return "other results are one tensor";
      if (got.results[i].is_alias_of(got.results[j]) != want.results[i].is_alias_of(want.results[j]))
        return "other results share memory: " + std::to_string(j) + " and " + std::to_string(i);
    }
    for (const auto& [mine, theirs] : {std::pair{&compiled.x, &eager.x}, std::pair{&compiled.y, &eager.y}}) {
      if (got.results[i].is_same(*mine) != want.results[i].is_same(*theirs)) return "another result is an argument itself";
      if (got.results[i].is_alias_of(*mine) != want.results[i].is_alias_of(*theirs)) return "another result shares memory with an argument";
    }
  }
  const auto mine = compiled.state(), theirs = eager.state();
  if (mine.size() != theirs.size()) return "another number of tensors is kept";
  for (size_t i = 0; i < mine.size(); ++i) {
    if (!same(mine[i].second, theirs[i].second, exact))
      return differ(mine[i].first + ", after the call,", print(mine[i].second), print(theirs[i].second));
    if (mine[i].second._version() != theirs[i].second._version())
      return differ(mine[i].first + "'s count of writes", std::to_string(mine[i].second._version()),
                    std::to_string(theirs[i].second._version()));
  }
  return std::nullopt;
}

/// reset() begins to count anew.
void add(Stats& total, const Stats& s) {
  total.calls += s.calls;
  total.hits += s.hits;
  total.skipped += s.skipped;
  total.recompiles += s.recompiles;
  total.evictions += s.evictions;
  total.lifts += s.lifts;
  total.compile_failures += s.compile_failures;
  total.pure_promise_broken |= s.pure_promise_broken;
}

/// Not every change is possible in every state; both worlds say so then.
bool change_fails(const Fact& fact, World& w, uint64_t seed) {
  try {
    Random random(seed);
    fact.change(w, random);
    return false;
  } catch (const Error&) { return true; }
}

}  // namespace

std::string Program::text() const {
  std::ostringstream out;
  out << "function " << subject->name << ", " << (options.pure ? "pure, " : "")
      << (options.backend == Backend::Llvm          ? "llvm"
          : options.backend == Backend::Interpreter ? "interpreter"
                                                    : "eager")
      << ", cache_size_limit " << options.cache_size_limit << ", at_limit " << static_cast<int>(options.at_limit) << ", dynamic "
      << static_cast<int>(options.dynamic) << ", " << calls_between << " calls after each change\n";
  for (const Change& c : changes) {
    out << "  " << (c.fact ? c.fact->name : "reset()");
    if (c.fact) out << "  (seed " << c.seed << ")";
    out << "\n";
  }
  return out.str();
}

Program random_program(const Subject& subject, uint64_t seed, int changes) {
  Random random(seed);
  Program program;
  program.subject = &subject;
  program.options.name = subject.name;
  program.options.pure = subject.pure && random.pick(4) != 0;
  program.options.backend = random.pick(5) == 0 ? Backend::Llvm : random.pick(6) == 0 ? Backend::Eager : Backend::Interpreter;
  constexpr int limits[] = {1, 2, 8, 64};
  program.options.cache_size_limit = limits[random.pick(4)];
  program.options.at_limit = random.pick(4) == 0 ? CacheLimitPolicy::RunEager : CacheLimitPolicy::EvictLeastRecentlyUsed;
  constexpr Dynamic dynamic[] = {Dynamic::Automatic, Dynamic::Automatic, Dynamic::Always, Dynamic::Never};
  program.options.dynamic = dynamic[random.pick(4)];
  constexpr StormPolicy storms[] = {StormPolicy::KeepCompiling, StormPolicy::KeepCompiling, StormPolicy::RunEager,
                                    StormPolicy::WhenWorthIt};
  program.options.at_storm = storms[random.pick(4)];
  program.calls_between = program.options.pure ? 2 + random.pick(4) : 1 + random.pick(3);  // skipping begins at the third hit
  std::vector<const Fact*> candidates;
  for (const Fact& fact : facts()) {
    const auto group = static_cast<size_t>(fact.group);
    if (program.options.pure && !promised()[group]) continue;
    candidates.push_back(&fact);
    if (subject.reads[group]) candidates.insert(candidates.end(), 4, &fact);  // mostly what it reads
  }
  for (int i = 0; i < changes; ++i) {
    const bool reset = random.pick(100) == 0;
    program.changes.push_back(
        {reset ? nullptr : candidates[static_cast<size_t>(random.pick(static_cast<int>(candidates.size())))], random.next()});
  }
  return program;
}

std::optional<std::string> run(const Program& program, Stats* stats) {
  World eager, compiled;
  const Body body = program.subject->body;
  const auto fast = compile([&](const Tensor& x, const Tensor& y, const Args& a) { return body(compiled, x, y, a); }, program.options);
  const auto plain = [&](const Tensor& x, const Tensor& y, const Args& a) { return body(eager, x, y, a); };
  std::optional<std::string> wrong;
  Stats total;
  for (size_t i = 0; i < program.changes.size() && !wrong; ++i) {
    const Program::Change& change = program.changes[i];
    if (change.fact) {
      if (change_fails(*change.fact, eager, change.seed) != change_fails(*change.fact, compiled, change.seed))
        wrong = "only one of the worlds could be changed";
    } else {
      add(total, fast.stats());
      fast.reset();
    }
    for (int n = 0; n < program.calls_between && !wrong; ++n) {
      const Outcome want = call(plain, eager), got = call(fast, compiled);
      wrong = compare(got, want, compiled, eager, program.subject->exact);
    }
    if (wrong)
      *wrong = "after change " + std::to_string(i) + ", " + std::string(change.fact ? change.fact->name : "reset()") + ": " + *wrong;
  }
  add(total, fast.stats());
  if (!wrong && total.compile_failures != 0) wrong = "something could not be compiled";
  if (!wrong && total.pure_promise_broken) wrong = "a function that keeps its promise is said to have broken it";
  if (stats) *stats = total;
  return wrong;
}

std::string Cost::text() const {
  std::ostringstream out;
  out << calls << " calls: " << hits << " hits, " << misses << " misses, " << recompiles << " recompiles, " << divergences << " new paths, "
      << lifts << " lifts, " << op_by_op << " segments op by op";
  return out.str();
}

Cost cost_of(const Subject& subject, const Fact& fact, uint64_t seed, int changes, CompileOptions options) {
  World world;
  options.name = subject.name;
  const auto fast = compile([&](const Tensor& x, const Tensor& y, const Args& a) { return subject.body(world, x, y, a); }, options);
  for (int i = 0; i < 6; ++i) call(fast, world);  // what the body itself changes from call to call has been met
  const Stats before = fast.stats();
  for (int i = 0; i < changes; ++i) {
    change_fails(fact, world, seed + static_cast<uint64_t>(i));
    for (int n = 0; n < 2; ++n) call(fast, world);
  }
  const Stats after = fast.stats();
  return {after.calls - before.calls,
          after.hits - before.hits,
          after.misses - before.misses,
          after.recompiles - before.recompiles,
          after.divergences - before.divergences,
          after.lifts - before.lifts,
          after.op_by_op - before.op_by_op};
}

Program smallest(Program program) {
  const auto fails = [](const Program& p) { return run(p).has_value(); };
  for (size_t part = std::max<size_t>(1, program.changes.size() / 2);; part /= 2) {
    for (size_t at = 0; at + part <= program.changes.size();) {
      Program without = program;
      without.changes.erase(without.changes.begin() + static_cast<ptrdiff_t>(at),
                            without.changes.begin() + static_cast<ptrdiff_t>(at + part));
      if (fails(without))
        program = std::move(without);
      else
        at += part;
    }
    if (part == 1) break;
  }
  Program simpler = program;
  for (const auto& simplify :
       {+[](Program& p) { p.calls_between = 1; }, +[](Program& p) { p.options.backend = Backend::Eager; },
        +[](Program& p) { p.options.cache_size_limit = 8; }, +[](Program& p) { p.options.dynamic = Dynamic::Never; }}) {
    simpler = program;
    simplify(simpler);
    if (fails(simpler)) program = simpler;
  }
  return program;
}

}  // namespace tailor::mutation
