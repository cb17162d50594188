// tailor cache: what compiled kernels there are on disk, and their removal.

#include <tailor/artifact_cache.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "command.h"

namespace tailor::tools {
namespace {

using Json = nlohmann::ordered_json;

int stat(bool json) {
  const ArtifactCacheInfo cache = artifact_cache();
  if (json) {
    Json report{{"directory", cache.directory}, {"entries", cache.entries}, {"bytes", cache.bytes}, {"limit", cache.limit}};
    if (!cache.refusal.empty()) report["refusal"] = cache.refusal;
    std::printf("%s\n", report.dump(1).c_str());
  } else if (cache.directory.empty()) {
    std::printf("the artifact cache is off\n");
  } else {
    std::printf("%s: %lld kernels, %lld bytes of %lld\n", cache.directory.c_str(), static_cast<long long>(cache.entries),
                static_cast<long long>(cache.bytes), static_cast<long long>(cache.limit));
  }
  return cache.refusal.empty() ? 0 : 1;
}

int clear(bool json) {
  const ArtifactCacheInfo removed = clear_artifact_cache();
  if (json)
    std::printf("%s\n", Json{{"directory", removed.directory}, {"removed", removed.entries}, {"bytes", removed.bytes}}.dump(1).c_str());
  else if (removed.directory.empty())
    std::printf("the artifact cache is off\n");
  else
    std::printf("%s: removed %lld kernels, %lld bytes\n", removed.directory.c_str(), static_cast<long long>(removed.entries),
                static_cast<long long>(removed.bytes));
  return removed.refusal.empty() ? 0 : 1;
}

}  // namespace

void add_cache(CLI::App& app, int& exit_code) {
  auto json = std::make_shared<bool>(false);
  auto* command = app.add_subcommand("cache", "Compiled kernels on disk");
  command->require_subcommand(1);
  command->add_flag("--json", *json, "Print as JSON");
  auto* what_is_there = command->add_subcommand("stat", "Say where it is and what is in it");
  auto* remove = command->add_subcommand("clear", "Remove all kernels");
  for (auto* each : {what_is_there, remove}) each->add_flag("--json", *json, "Print as JSON");
  what_is_there->callback([json, &exit_code] { exit_code = stat(*json); });
  remove->callback([json, &exit_code] { exit_code = clear(*json); });
}

}  // namespace tailor::tools
