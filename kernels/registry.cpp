#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "ir/reference.h"
#include "kernels/kernels.h"

namespace tailor::kernels {
namespace {

// Filled by static initialisers of other files; never destroyed, because tensors may be computed while the process ends.
struct Registry {
  std::shared_mutex mutex;
  std::unordered_map<std::string, Kernel> by_name;
};

Registry& registry() {
  static auto* const r = new Registry;
  return *r;
}

}  // namespace

void register_kernel(std::string_view op, Kernel kernel) {
  Registry& r = registry();
  const std::unique_lock lock(r.mutex);
  internal_check(r.by_name.emplace(op, kernel).second, "kernel ", op, " is registered twice");
}

// Every eager op asks: a small cache of the thread by the op's address saves the lock and the hash of its name.
Kernel find_kernel(const ir::OpDef& op) {
  struct Entry {
    const ir::OpDef* op = nullptr;
    Kernel kernel = nullptr;
  };
  static constexpr size_t kEntries = 256;
  static thread_local Entry cache[kEntries];
  Entry& entry = cache[(reinterpret_cast<uintptr_t>(&op) >> 6) % kEntries];
  if (entry.op == &op) return entry.kernel;
  Registry& r = registry();
  const std::shared_lock lock(r.mutex);
  const auto found = r.by_name.find(std::string(op.name));
  if (found == r.by_name.end()) return nullptr;  // not kept: a kernel may be registered later
  entry = {&op, found->second};
  return found->second;
}

void run_reference(const Call& call) {
  std::vector<ir::HostTensor> tensors;
  tensors.reserve(call.operands.size());
  std::vector<ir::HostOperand> operands;
  for (const Operand& operand : call.operands) {
    if (operand.is_tensor())
      operands.emplace_back(&tensors.emplace_back(ir::gather(operand.tensor.data, *operand.tensor.spec)));
    else if (operand.is_scalar())
      operands.emplace_back(operand.scalar);
    else
      operands.emplace_back();
  }
  const std::vector<ir::HostTensor> results = ir::evaluate(call.op, operands, call.attrs);
  internal_check(results.size() == call.outputs.size(), call.op.name, ": the reference gave ", results.size(), " outputs, expected ",
                 call.outputs.size());
  for (size_t i = 0; i < results.size(); ++i) ir::scatter(results[i], call.outputs[i].data, *call.outputs[i].spec);
}

void run(const Call& call) {
  if (const Kernel kernel = find_kernel(call.op))
    kernel(call);
  else
    run_reference(call);
}

}  // namespace tailor::kernels
