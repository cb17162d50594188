#pragma once
// When compiled functions compile, and what they do instead: stances, limits over all functions, compiling in the background.

#include <cstddef>
#include <cstdint>

namespace tailor {

/// What happens when a function (or all together) may hold no more and meets another kind of call.
enum class CacheLimitPolicy : uint8_t { EvictLeastRecentlyUsed, RunEager, Throw };

/// What happens once the same guard has failed again and again (a recompile storm; one warning names it).
enum class StormPolicy : uint8_t {
  WhenWorthIt,    // a kind of call is compiled when it has come often enough to pay
  RunEager,       // calls that match no entry run eagerly from then on
  KeepCompiling,  // as before; the cache's limit decides
  Throw,
};

/// How calls of compiled functions behave, as torch.compiler.set_stance says it.
enum class Stance : uint8_t {
  Default,
  ForceEager,        // compiled functions run as if they were not
  EagerOnRecompile,  // cached code is used; whatever would be compiled runs eagerly
  FailOnRecompile,   // ... throws Error, naming the guard
};

/// For all threads (torch.compiler.set_stance).
void set_stance(Stance stance) noexcept;
/// Of this thread: the innermost scope's, else the process's.
Stance current_stance() noexcept;

/// A stance for this thread until the end of the scope:
///   { tailor::StanceScope eager(tailor::Stance::ForceEager);  y = fast(x); }
class StanceScope {
 public:
  explicit StanceScope(Stance stance) noexcept;
  StanceScope(const StanceScope&) = delete;
  StanceScope& operator=(const StanceScope&) = delete;
  ~StanceScope();

 private:
  int before_;
};

/// A bound over all compiled functions of the process, beside each one's `cache_size_limit`. Zero: no bound.
struct TotalCacheLimit {
  size_t entries = 0;
  size_t code_bytes = 0;  // of machine code that entries made; code they share with older ones counts there
  CacheLimitPolicy at_limit = CacheLimitPolicy::EvictLeastRecentlyUsed;
};
/// Evicting, it takes effect at once.
void set_total_cache_limit(const TotalCacheLimit& limit);
TotalCacheLimit total_cache_limit();

/// What all compiled functions of the process hold.
struct TotalCache {
  size_t functions = 0, entries = 0, code_bytes = 0;
  uint64_t evictions = 0;  // for the bound over all
};
TotalCache total_cache();

/// `reset()` of every compiled function (torch.compiler.reset).
void reset_all();

/// Waits until all that was left to the background (`CompileOptions::async`) is compiled.
void wait_for_compiles();

}  // namespace tailor
