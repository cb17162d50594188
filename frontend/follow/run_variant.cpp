#include "frontend/follow/run_variant.h"

#include <chrono>
#include <utility>

#include "runtime/trace.h"

namespace tailor::follow {
namespace {

bool written_memory_is_shared(const Variant& variant, std::span<TensorImpl* const> inputs) {
  for (int w : variant.written) {
    const Storage* storage = inputs[static_cast<size_t>(w)]->storage.get();
    const auto* begin = static_cast<const std::byte*>(storage->data());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (static_cast<size_t>(w) == i) continue;
      const Storage* other = inputs[i]->storage.get();
      if (other == storage) return true;
      // Two storages may stand for one memory that came from outside.
      const auto* other_begin = static_cast<const std::byte*>(other->data());
      if (begin < other_begin + other->bytes() && other_begin < begin + storage->bytes()) return true;
    }
  }
  return false;
}

constinit thread_local double* run_us = nullptr;

/// The time of one run, where it is asked for.
class Measured {
 public:
  Measured() {
    if (run_us != nullptr) [[unlikely]]
      begin_ = std::chrono::steady_clock::now();
  }
  ~Measured() {
    if (run_us != nullptr) [[unlikely]]
      *run_us += std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace

RunTimer::RunTimer(double* us) noexcept : before_(std::exchange(run_us, us)) {}
RunTimer::~RunTimer() { run_us = before_; }

RunResult run_variant(const Variant& variant, std::span<TensorImpl* const> inputs, std::span<const int64_t> scalars,
                      std::span<TensorImpl* const> outputs, RunScratch& scratch) {
  if (!variant.written.empty() && written_memory_is_shared(variant, inputs)) return RunResult::Aliased;

  const std::span<const jit::OutputPlan> plans = variant.executable->outputs();
  const std::span<void*> in = first_of(scratch.in, inputs.size()), out = first_of(scratch.out, plans.size());
  const std::span<IntrusivePtr<Storage>> fresh = first_of(scratch.fresh, plans.size());
  for (size_t i = 0; i < inputs.size(); ++i) in[i] = inputs[i]->data();
  for (size_t i = 0; i < plans.size(); ++i) {
    out[i] = nullptr;
    if (plans[i].kind != jit::OutputPlan::Kind::Fresh) continue;
    fresh[i] = Storage::allocate(static_cast<size_t>(variant.output_bytes[i]), plans[i].spec.device);
    out[i] = fresh[i]->data();
  }
  try {
    const Measured measured;
    const TraceSpan span("run", "run");
    if (variant.weights) {
      const Weights::Lease weights(*variant.weights, inputs);
      variant.executable->run(in, scalars, out, weights.prepared());
    } else {
      variant.executable->run(in, scalars, out, nullptr);
    }
  } catch (const Error&) {
    for (IntrusivePtr<Storage>& storage : fresh) storage.reset();
    return RunResult::DataError;
  }
  for (size_t i = 0; i < variant.written.size(); ++i) {
    Storage& storage = *inputs[static_cast<size_t>(variant.written[i])]->storage;
    for (int writes = variant.write_counts[i]; writes > 0; --writes) storage.bump_version();
    storage.pending.store(nullptr, std::memory_order_release);
  }
  for (size_t i = 0; i < plans.size(); ++i) {
    TensorImpl& tensor = *outputs[i];
    if (plans[i].kind == jit::OutputPlan::Kind::Fresh) {
      tensor.storage = std::move(fresh[i]);
      tensor.offset = plans[i].offset_value(scalars);
    } else {
      const TensorImpl& base = plans[i].kind == jit::OutputPlan::Kind::AliasInput ? *inputs[static_cast<size_t>(plans[i].index)]
                                                                                  : *outputs[static_cast<size_t>(plans[i].index)];
      tensor.storage = base.storage;
      tensor.offset = base.offset * element_size(base.spec.dtype) / element_size(plans[i].spec.dtype) + plans[i].offset_value(scalars);
    }
  }
  return RunResult::Done;
}

}  // namespace tailor::follow
