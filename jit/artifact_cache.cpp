#include "jit/artifact_cache.h"

#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstring>

#include "jit/build_id.h"
#include "jit/llvm/compile.h"
#include "runtime/config.h"
#include "runtime/cpu.h"
#include "runtime/error.h"
#include "runtime/log.h"

namespace tailor::jit {
namespace {

constexpr std::string_view kSuffix = ".kernel";
constexpr std::string_view kBuildSuffix = ".build";       // an empty file that says that a build has entries
constexpr std::string_view kMagic = "tailor kernel 1\n";  // with the version of the format
/// The folder is looked through for what should go whenever a process has written this part of the limit, and once in as many bytes on
/// average over all processes: it may hold a hundred thousand files, and few processes write many.
constexpr int64_t kLookAfter = 64;

using Digest = std::array<uint64_t, 2>;

/// Against accidents, not against malice: nobody else can write to the folder.
Digest digest(std::string_view text) {
  const auto mix = [](uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  Digest d{0x9e3779b97f4a7c15u ^ text.size(), 0xc2b2ae3d27d4eb4fu + text.size()};
  while (!text.empty()) {
    uint64_t word = 0;
    const size_t n = std::min(text.size(), sizeof word);
    std::memcpy(&word, text.data(), n);
    text.remove_prefix(n);
    d[0] = mix(d[0] ^ word, 0xa0761d6478bd642fu) + word;
    d[1] = mix(d[1] + word, 0xe7037ed1a0b428dbu) ^ d[0];
  }
  return {mix(d[0] ^ 0x8ebc6af09c88c6e3u, d[1] | 1), mix(d[1] ^ 0x589965cc75374cc3u, d[0] | 1)};
}

std::string file_name(std::string_view key, std::string_view suffix) {
  std::string name;
  for (uint64_t half : digest(key))
    for (int shift = 60; shift >= 0; shift -= 4) name += "0123456789abcdef"[(half >> shift) & 15];
  return name += suffix;
}
const std::string& build_mark() {
  static const auto* const name = new std::string(file_name(artifact_identity(), kBuildSuffix));
  return *name;
}

void put(std::string& to, uint64_t n) { to.append(reinterpret_cast<const char*>(&n), sizeof n); }
void put(std::string& to, std::string_view text) { put(to, text.size()), to += text; }

/// Reads what `put` wrote; `good` turns false where something is cut short.
struct Reader {
  std::string_view rest;
  bool good = true;
  uint64_t number() {
    uint64_t n = 0;
    if (good = good && rest.size() >= sizeof n; good) std::memcpy(&n, rest.data(), sizeof n), rest.remove_prefix(sizeof n);
    return n;
  }
  std::string_view text() {
    const uint64_t n = number();
    if (good = good && n <= rest.size(); !good) return {};
    const std::string_view found = rest.substr(0, n);
    rest.remove_prefix(n);
    return found;
  }
};

std::string file_of(std::string_view key, const KernelImage& image) {
  std::string body;
  put(body, key);
  put(body, image.bytes);
  put(body, image.entry);
  put(body, image.imports.size());
  for (const auto& import : image.imports) put(body, import.name), put(body, import.slot);
  std::string file(kMagic);
  for (uint64_t half : digest(body)) put(file, half);
  return file += body;
}

/// Why the file is no intact entry of `key`, or "".
std::string parse(std::string_view file, std::string_view key, KernelImage& image) {
  constexpr size_t kWord = 14;  // "tailor kernel "
  if (!file.starts_with(kMagic)) return file.substr(0, kWord) == kMagic.substr(0, kWord) ? "it has another format" : "it is no kernel";
  file.remove_prefix(kMagic.size());
  Reader in{file};
  Digest expected{};
  for (uint64_t& half : expected) half = in.number();
  if (!in.good || digest(in.rest) != expected) return "it is damaged";
  if (in.text() != key) return "it is of another kernel, processor or build";
  image.bytes = in.text();
  image.entry = in.number();
  const uint64_t imports = in.number();
  for (uint64_t i = 0; i < imports && in.good; ++i) {
    const std::string_view name = in.text();
    image.imports.push_back({std::string(name), in.number()});
  }
  return in.good && in.rest.empty() ? "" : "it is damaged";
}

void say(std::string_view text, LogLevel level = LogLevel::Debug) {
  if (log_enabled(LogChannel::Cache, level)) log(LogChannel::Cache, "artifacts", text, level);
}

}  // namespace

const std::string& artifact_identity() {
  static const auto* const identity = [] {
    auto* text = new std::string;
    put(*text, kMagic);
    put(*text, own_build_id());
    put(*text, build_id_of_file(code_generator_path()));  // holds LLVM
    put(*text, cpu_identity());
    return text;
  }();
  return *identity;
}

ArtifactCache::ArtifactCache(std::string path, int64_t limit) : path_(std::move(path)), limit_(limit) {}

std::shared_ptr<const CacheDirectory> ArtifactCache::directory(CacheDirectory::Missing missing) {
  if (refused_.load(std::memory_order_relaxed)) return nullptr;
  std::lock_guard lock(mutex_);
  if (directory_ == nullptr && !refused_) {
    if (auto opened = CacheDirectory::open(path_, missing, refusal_))
      directory_ = std::make_shared<const CacheDirectory>(std::move(*opened));
    if (!refusal_.empty()) {
      refused_ = true;
      log_warning("artifacts",
                  "the cache " + path_ + " is not used: " + refusal_ +
                      "; every process compiles anew (TAILOR_CACHE_DIR names another folder, TAILOR_CACHE=0 turns the cache off)");
    }
  }
  return directory_;
}

std::optional<KernelImage> ArtifactCache::find(std::string_view key, ArtifactCounts& counts) {
  const auto folder = directory(CacheDirectory::Missing::LeaveOut);
  const std::string name = file_name(key, kSuffix);
  std::string file, fault;
  switch (folder == nullptr ? CacheDirectory::Read::Missing : folder->read(name, file)) {
    case CacheDirectory::Read::Missing: break;
    case CacheDirectory::Read::Refused: fault = "it is no plain file of this user's alone"; break;
    case CacheDirectory::Read::Found: {
      KernelImage image;
      fault = parse(file, key, image);
      if (!fault.empty()) break;
      ++counts.hits;
      counts.bytes += file.size();
      say("found " + name);
      return image;
    }
  }
  ++counts.misses;
  if (fault.empty()) return say("missing " + name), std::nullopt;
  ++counts.rejects;
  say(name + " is not used: " + fault, LogLevel::Info);
  folder->remove(name);
  return std::nullopt;
}

void ArtifactCache::store(std::string_view key, const KernelImage& image, ArtifactCounts& counts) {
  if (!writable_.load(std::memory_order_relaxed)) return;
  auto folder = directory(CacheDirectory::Missing::Make);
  if (folder == nullptr) return;
  const std::string name = file_name(key, kSuffix), file = file_of(key, image);
  const auto bytes = static_cast<int64_t>(file.size());
  if (bytes > limit_) return say(name + " is larger than the whole cache may be");
  CacheDirectory::Written written = folder->write(name, file);
  if (!written.fault.empty() && access(path_.c_str(), F_OK) != 0) {  // somebody has removed the folder
    {
      std::lock_guard lock(mutex_);
      directory_ = nullptr;
    }
    folder = directory(CacheDirectory::Missing::Make);
    if (folder == nullptr) return;
    written = folder->write(name, file);
  }
  if (written.other_files) return say(name + " is not kept: " + written.fault, LogLevel::Info);
  if (!written.fault.empty()) return give_up_writing(written.fault);
  counts.bytes += file.size();
  say("kept " + name + ", " + std::to_string(bytes) + " bytes");
  if (!marked_.exchange(true) && !folder->has(build_mark())) folder->write(build_mark(), "");
  const int64_t since = written_.fetch_add(bytes) + bytes;
  const int64_t part = std::max<int64_t>(1, limit_ / kLookAfter);
  const bool drawn = digest(key)[1] % static_cast<uint64_t>(part) < static_cast<uint64_t>(bytes);
  if (since >= part || drawn) trim(*folder);
}

void ArtifactCache::give_up_writing(const std::string& why) {
  if (writable_.exchange(false))
    log_warning("artifacts", "nothing more is written to the cache " + path_ + ": " + why +
                                 "; new kernels are compiled anew by every process (TAILOR_CACHE=0 turns the cache off)");
}

void ArtifactCache::trim(const CacheDirectory& folder) {
  written_ = 0;
  std::vector<CacheDirectory::File> files = folder.list(kSuffix);
  int64_t total = 0;
  for (const auto& f : files) total += f.bytes;
  if (total <= limit_) return;
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.used < b.used; });
  int64_t removed = 0;
  // A tenth more than need be, so that not every store has to do this.
  for (auto f = files.begin(); f != files.end() && total > limit_ - limit_ / 10; ++f) removed += folder.remove(f->name), total -= f->bytes;
  say("the least recently used " + std::to_string(removed) + " kernels went, " + std::to_string(total) + " bytes are left", LogLevel::Info);
}

bool ArtifactCache::knows_this_build() {
  const auto folder = directory(CacheDirectory::Missing::LeaveOut);
  return folder != nullptr && folder->has(build_mark());
}

ArtifactCache::Usage ArtifactCache::usage() {
  Usage u;
  if (const auto folder = directory(CacheDirectory::Missing::LeaveOut))
    for (const auto& f : folder->list(kSuffix)) ++u.entries, u.bytes += f.bytes;
  return u;
}

ArtifactCache::Usage ArtifactCache::clear() {
  Usage u;
  const auto folder = directory(CacheDirectory::Missing::LeaveOut);
  if (folder == nullptr) return u;
  for (const auto& f : folder->list(kBuildSuffix)) folder->remove(f.name);
  for (const auto& f : folder->list(kSuffix))
    if (folder->remove(f.name)) ++u.entries, u.bytes += f.bytes;
  return u;
}

std::string ArtifactCache::refusal() {
  directory(CacheDirectory::Missing::LeaveOut);
  std::lock_guard lock(mutex_);
  return refusal_;
}

namespace {

struct ProcessCache {
  std::mutex mutex;
  std::shared_ptr<ArtifactCache> cache;
  ProcessCache() {
    if (config().artifact_cache && !config().cache_dir.empty())
      cache = std::make_shared<ArtifactCache>(config().cache_dir, config().cache_bytes);
  }
  static ProcessCache& get() {
    static auto* const instance = new ProcessCache;
    return *instance;
  }
};

}  // namespace

std::shared_ptr<ArtifactCache> artifact_cache() {
  ProcessCache& process = ProcessCache::get();
  std::lock_guard lock(process.mutex);
  return process.cache;
}

void set_artifact_cache(const std::string& path, int64_t limit) {
  ProcessCache& process = ProcessCache::get();
  std::lock_guard lock(process.mutex);
  process.cache = path.empty() ? nullptr : std::make_shared<ArtifactCache>(path, limit < 0 ? config().cache_bytes : limit);
}

}  // namespace tailor::jit
