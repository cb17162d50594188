// tailor doctor: what this machine can do, and what is missing.

#include <dlfcn.h>
#include <tailor/artifact_cache.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "command.h"
#include "runtime/config.h"
#include "runtime/cpu.h"
#include "runtime/device.h"

namespace tailor::tools {
namespace {

using Json = nlohmann::ordered_json;

std::string instruction_sets(const CpuFeatures& cpu) {
  std::string text;
  const std::pair<bool, const char*> sets[] = {{cpu.sse2, "sse2"},
                                               {cpu.avx2, "avx2"},
                                               {cpu.avx512, "avx512"},
                                               {cpu.avx512_bf16, "avx512_bf16"},
                                               {cpu.avx512_vnni, "avx512_vnni"},
                                               {cpu.amx_bf16, "amx_bf16"}};
  for (const auto& [present, name] : sets) {
    if (present) text += (text.empty() ? "" : " ") + std::string(name);
  }
  return text;
}

/// Whether a shared library can be opened; CUDA's are never linked, only opened when a CUDA device is asked for.
std::string library_state(const char* name) {
  // Not closed again: what the library allocates as it starts would be lost.
  return dlopen(name, RTLD_LAZY | RTLD_LOCAL) != nullptr ? "found" : "not found";
}

std::string cache_state(const Config& config) {
  if (!config.artifact_cache) return "off (TAILOR_CACHE=0)";
  if (config.cache_dir.empty()) return "off (no home directory; set TAILOR_CACHE_DIR)";
  const ArtifactCacheInfo cache = artifact_cache();
  if (!cache.refusal.empty()) return cache.directory + " (not used: " + cache.refusal + ")";
  return cache.directory + ", " + std::to_string(cache.entries) + " kernels, " + std::to_string(cache.bytes / 1024) + " of " +
         std::to_string(cache.limit / 1024) + " KB";
}

Json examine() {
  const CpuFeatures& cpu = cpu_features();
  const Config& settings = config();
  const auto kilobytes = [](size_t bytes) { return std::to_string(bytes / 1024) + " KB"; };
  Json report;
  report["processor"] = cpu.name;
  report["instruction sets"] = instruction_sets(cpu);
  report["kernels use"] = settings.isa.empty() ? "the highest of them" : "at most " + settings.isa + " (TAILOR_ISA)";
  report["caches"] = kilobytes(cpu.l1_bytes) + " L1, " + kilobytes(cpu.l2_bytes) + " L2, " + kilobytes(cpu.l3_bytes) + " L3";
  report["hardware threads"] = std::to_string(std::thread::hardware_concurrency());
  report["threads used"] = std::to_string(settings.num_threads);
  report["LLVM"] = TAILOR_LLVM_VERSION;
  report["artifact cache"] = cache_state(settings);
  report["CUDA driver (libcuda.so.1)"] = library_state("libcuda.so.1");
  report["CUDA compiler (libnvrtc.so)"] = library_state("libnvrtc.so");
  return report;
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  auto json = std::make_shared<bool>(false);
  auto* command = app.add_subcommand("doctor", "Say what this machine can do, and what is missing");
  command->add_flag("--json", *json, "Print as JSON");
  command->callback([json, &exit_code] {
    const Json report = examine();
    if (*json) {
      std::printf("%s\n", report.dump(1).c_str());
    } else {
      for (const auto& [name, value] : report.items()) std::printf("%-28s %s\n", name.c_str(), value.get<std::string>().c_str());
    }
    exit_code = 0;
  });
}

}  // namespace tailor::tools
