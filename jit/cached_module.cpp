#include "jit/cached_module.h"

#include <chrono>

namespace tailor::jit {
namespace {

class CachedModule final : public CompiledModule {
 public:
  CachedModule(std::vector<LoopNest> nests, std::span<const KernelImage> images, const EmitOptions& options)
      : start_(std::chrono::steady_clock::now()), nests_(std::move(nests)), options_(options), code_(images) {
    times_.link_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }
  size_t size() const override { return nests_.size(); }
  KernelFn kernel(size_t nest) const override { return reinterpret_cast<KernelFn>(code_.entry(nest)); }
  const CompileTimes& times() const override { return times_; }
  int64_t code_bytes() const override { return code_.code_bytes(); }
  std::string dump(std::string_view what) const override { return compile_nests(nests_, options_)->dump(what); }

 private:
  const std::chrono::steady_clock::time_point start_;
  std::vector<LoopNest> nests_;
  EmitOptions options_;
  LoadedImages code_;
  CompileTimes times_;
};

}  // namespace

std::shared_ptr<const CompiledModule> load_module(std::vector<LoopNest> nests, std::span<const KernelImage> images,
                                                  const EmitOptions& options) {
  return std::make_shared<CachedModule>(std::move(nests), images, options);
}

}  // namespace tailor::jit
