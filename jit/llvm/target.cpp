#include "jit/llvm/target.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <array>
#include <memory>
#include <string_view>
#include <unordered_set>

#include "runtime/error.h"

namespace tailor::jit {
namespace {

using kernels::Isa;

struct Host {
  std::string cpu;
  llvm::StringMap<bool> features;
  Host() : cpu(llvm::sys::getHostCPUName()), features(llvm::sys::getHostCPUFeatures()) {}
  bool has(std::initializer_list<const char*> names) const {
    for (const char* name : names)
      if (!features.lookup(name)) return false;
    return true;
  }
};

const Host& host() {
  static const Host instance;
  return instance;
}

bool available(Isa isa) {
  const bool avx2 = host().has({"avx", "avx2", "fma", "f16c", "bmi", "bmi2"});
  switch (isa) {
    case Isa::Sse2: return true;
    case Isa::Avx2: return avx2;
    case Isa::Avx512: return avx2 && host().has({"avx512f", "avx512bw", "avx512dq", "avx512vl"});
  }
  return false;
}

/// Names the features of this machine that differ from those of `info`.
std::string differences(const llvm::MCSubtargetInfo& info) {
  std::unordered_set<std::string_view> enabled;
  for (const llvm::SubtargetFeatureKV& feature : info.getEnabledProcessorFeatures()) enabled.insert(feature.Key);
  std::string text;
  for (const auto& entry : host().features)
    if (const std::string_view name(entry.first()); entry.second != enabled.contains(name))
      text.append(text.empty() ? "" : ",").append(entry.second ? "+" : "-").append(name);
  return text;
}

// What this machine has and its name does not imply, or the other way round: a virtual machine may hide some. Every feature named is
// looked for in every function, so that they had better be few.
std::string native_features() {
  llvm::InitializeNativeTarget();
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* backend = llvm::TargetRegistry::lookupTarget(triple, error);
  internal_check(backend != nullptr, "no code generator for ", triple, ": ", error);
  const std::unique_ptr<llvm::MCSubtargetInfo> info(backend->createMCSubtargetInfo(triple, host().cpu, ""));
  const std::string few = differences(*info);
  for (const auto feature : llvm::split(few, ','))
    if (!feature.empty()) info->ApplyFeatureFlag(feature);  // and what it implies
  if (differences(*info).empty()) return few;
  std::string all;
  for (const auto& entry : host().features) all += (all.empty() ? "" : ",") + std::string(entry.second ? "+" : "-") + entry.first().str();
  return all;
}

Target make(Isa isa) {
  Target t;
  t.isa = isa;
  const bool native = isa == host_isa() && isa != Isa::Sse2;
  t.cpu = native ? host().cpu : "x86-64";
  switch (isa) {
    case Isa::Sse2: break;
    case Isa::Avx2:
      t.vector_bytes = 32, t.f16c = true;
      t.features = "+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+sse4.2,+popcnt";
      break;
    case Isa::Avx512:
      t.vector_bytes = 64, t.f16c = t.masks = true;
      t.features = "+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+sse4.2,+popcnt,+avx512f,+avx512bw,+avx512dq,+avx512vl";
      break;
  }
  if (native) t.features = native_features();
  return t;
}

}  // namespace

Isa host_isa() {
  static const Isa best = available(Isa::Avx512) ? Isa::Avx512 : available(Isa::Avx2) ? Isa::Avx2 : Isa::Sse2;
  return best;
}

const Target& target_for(Isa isa) {
  check(available(isa), "this machine lacks the requested instruction set (avx512, avx2, sse2 are levels 2, 1, 0): level ", int(isa));
  static const std::array<Target, 3> targets = [] {
    std::array<Target, 3> all;
    for (Isa level : {Isa::Sse2, Isa::Avx2, Isa::Avx512})
      if (available(level)) all[static_cast<size_t>(level)] = make(level);
    return all;
  }();
  return targets[static_cast<size_t>(isa)];
}

}  // namespace tailor::jit
