#pragma once
// The ambient word: every mode that changes what an op means, packed so that a recorded step compares it in one go.
//
//   bits 0..7   of the thread: grad mode (off = 1), inference mode, fast math
//   bits 8..15  of the process: default dtype, deterministic algorithms
//
//   { NoGradGuard no_grad;  y = f(x); }          // torch::NoGradGuard
//   set_default_dtype(kFloat64);                 // torch::set_default_dtype

#include <atomic>
#include <cstdint>

#include "runtime/dtype.h"

namespace tailor {

enum class Ambient : uint64_t { NoGrad = 1, Inference = 2, FastMath = 4 };

namespace detail {
extern constinit thread_local uint64_t thread_ambient;
extern std::atomic<uint64_t> process_ambient;
inline constexpr int kDefaultDtypeShift = 8, kDeterministicShift = 12;

inline bool thread_bit(Ambient bit) { return (thread_ambient & static_cast<uint64_t>(bit)) != 0; }
inline void set_thread_bit(Ambient bit, bool on) {
  thread_ambient = on ? thread_ambient | static_cast<uint64_t>(bit) : thread_ambient & ~static_cast<uint64_t>(bit);
}
}  // namespace detail

/// Equal words mean equal modes.
inline uint64_t ambient_word() { return detail::thread_ambient | detail::process_ambient.load(std::memory_order_relaxed); }

/// The dtype of tensors made from floating-point numbers when none is given (torch.get_default_dtype): kFloat32 at first.
inline ScalarType get_default_dtype() {
  return static_cast<ScalarType>((detail::process_ambient.load(std::memory_order_relaxed) >> detail::kDefaultDtypeShift) & 15u);
}
/// For the whole process. Throws Error for a dtype that is not floating point.
void set_default_dtype(ScalarType type);

/// Whether only algorithms with reproducible results may be used (torch.use_deterministic_algorithms). All CPU kernels are.
bool deterministic_algorithms();
void set_deterministic_algorithms(bool on);

/// Whether ops of this thread are recorded for gradients (torch::GradMode).
struct GradMode {
  static bool is_enabled() { return !detail::thread_bit(Ambient::NoGrad); }
  static void set_enabled(bool on) { detail::set_thread_bit(Ambient::NoGrad, !on); }
};

/// Relaxed arithmetic in code compiled by this thread (CompileOptions::fast_math).
struct FastMath {
  static bool is_enabled() { return detail::thread_bit(Ambient::FastMath); }
  static void set_enabled(bool on) { detail::set_thread_bit(Ambient::FastMath, on); }
};

/// Sets grad mode for a scope.
class AutoGradMode {
 public:
  explicit AutoGradMode(bool on) : before_(GradMode::is_enabled()) { GradMode::set_enabled(on); }
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;
  ~AutoGradMode() { GradMode::set_enabled(before_); }

 private:
  bool before_;
};

struct NoGradGuard : AutoGradMode {
  NoGradGuard() : AutoGradMode(false) {}
};

/// Inference mode for a scope: no gradients either (c10::InferenceMode).
class InferenceMode {
 public:
  explicit InferenceMode(bool on = true) : before_(detail::thread_ambient) {
    detail::set_thread_bit(Ambient::Inference, on);
    detail::set_thread_bit(Ambient::NoGrad, on);
  }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;
  ~InferenceMode() { detail::thread_ambient = before_; }
  static bool is_enabled() { return detail::thread_bit(Ambient::Inference); }

 private:
  uint64_t before_;
};

}  // namespace tailor
