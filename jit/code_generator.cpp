// Opens the library that holds LLVM, when it is first needed.

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "jit/artifact_cache.h"
#include "jit/build_id.h"
#include "jit/executable.h"
#include "jit/llvm/compile.h"
#include "runtime/error.h"

namespace tailor::jit {
namespace {

const CodeGenerator& open_code_generator() {
  // The code generator finds our functions wherever this library was loaded, be it by a dlopen that keeps names to itself.
  dlopen(own_path().c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  const std::string& path = code_generator_path();
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  check(library != nullptr, "the code generator cannot be loaded: ", library == nullptr ? dlerror() : "");
  const auto* generator = static_cast<const CodeGenerator*>(dlsym(library, "tailor_code_generator"));
  check(generator != nullptr, "the code generator cannot be loaded: ", path, " is another library");
  check(std::string_view(generator->version) == TAILOR_VERSION, "the code generator ", path, " is of version ", generator->version,
        ", the library of version " TAILOR_VERSION);
  return *generator;
}

const CodeGenerator& code_generator() {
  static const CodeGenerator& opened = open_code_generator();
  return opened;
}

}  // namespace

const std::string& code_generator_path() {
  static const auto* const path = new std::string(own_path().substr(0, own_path().rfind('/') + 1) + TAILOR_CODE_GENERATOR);
  return *path;
}

namespace {
/// Whether somebody compiles already: to compile something else beside it costs more than it brings.
std::atomic<bool> compiling{false};
}  // namespace

std::shared_ptr<const CompiledModule> compile_nests(std::span<const LoopNest> nests, const EmitOptions& options) {
  compiling.store(true, std::memory_order_relaxed);
  return code_generator().compile_nests(nests, options);
}

void warm_up() {
  LoopNest nest;
  nest.name = "warm_up";
  nest.dims.resize(1);
  nest.dims[0].extent = 16;
  nest.vector_dim = 0;
  nest.buffers = {{BufferKind::Output, kFloat32, 0}};
  nest.exprs.resize(1);
  nest.exprs[0].literal = 1.0;
  nest.stages.resize(1);
  nest.stages[0].exprs = {0};
  nest.stages[0].stores = {{{0, {0, {1}}, {}}, 0}};
  compile_nests({&nest, 1}, {});
}

namespace {

/// The thread that warms up. The process does not end while it is inside LLVM, whose statics would go away under it; a forked child
/// has no such thread.
class BackgroundWarmUp {
 public:
  BackgroundWarmUp() {
    std::thread([this] {
      try {
        code_generator();
        if (!compiling.load(std::memory_order_relaxed)) warm_up();
      } catch (...) {  // the real compilation will report it
      }
      done_.store(true, std::memory_order_release);
    }).detach();
  }
  ~BackgroundWarmUp() { wait(); }
  void wait() const {
    while (getpid() == process_ && !done_.load(std::memory_order_acquire)) std::this_thread::yield();
  }

 private:
  const pid_t process_ = getpid();
  std::atomic<bool> done_{false};
};

}  // namespace

void warm_up_in_background() {
  static const bool unlikely_to_compile = [] {
    const auto artifacts = artifact_cache();
    return artifacts != nullptr && artifacts->knows_this_build();
  }();
  // Where there is one processor, somebody would wait for it.
  if (unlikely_to_compile || std::thread::hardware_concurrency() < 2) return;
  static const BackgroundWarmUp once;
  // LLVM makes statics of its own while it warms up, and those go before `once`; a thread's variables go before any static.
  struct WaitWhenTheThreadEnds {
    ~WaitWhenTheThreadEnds() { once.wait(); }
  };
  static thread_local const WaitWhenTheThreadEnds waiting;
  (void)waiting;
}

}  // namespace tailor::jit
