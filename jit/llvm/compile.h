#pragma once
// Loop nests to callable code. What is declared here lies in the library; LLVM and all that uses it in a library of its own,
// which is opened when the first nest is compiled, since loading it takes longer than many programs need to run.
//
//   auto module = compile_nests(nests, {});
//   KernelFn f = module->kernel(0);
//   f(buffers, sizes, scalars, 0, extent_of_the_outermost_outer_dim);

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "jit/loop_nest.h"
#include "kernels/kernels.h"

namespace tailor::jit {

struct EmitOptions {
  std::optional<kernels::Isa> isa;  // none: kernels::isa()
  bool fast_math = false;           // a * b + c may round once
  /// Gets the ELF object that holds a nest, and the name of the nest's function in it; called by several threads at once.
  std::function<void(size_t nest, std::string_view object, std::string_view symbol)> on_object = nullptr;
};

/// Of the thread that took longest.
struct CompileTimes {
  double emit_ms = 0, llvm_ms = 0, link_ms = 0;
};

/// Compiled nests; dropping the last handle frees the code.
class CompiledModule {
 public:
  virtual ~CompiledModule() = default;
  virtual size_t size() const = 0;
  virtual KernelFn kernel(size_t nest) const = 0;
  virtual const CompileTimes& times() const = 0;
  virtual int64_t code_bytes() const = 0;
  /// `what`: "loops", "ir" or "asm". Generates it anew. Throws Error for another word.
  virtual std::string dump(std::string_view what) const = 0;
};

/// Compiles the nests, on several threads when there are many. Thread-safe. Throws InternalError for a nest that breaks the contract of
/// loop_nest.h, Error when the machine lacks the instruction set asked for.
std::shared_ptr<const CompiledModule> compile_nests(std::span<const LoopNest> nests, const EmitOptions& options);

/// Opens the code generator and compiles something small, so that the first real compilation does not pay for it.
void warm_up();
/// The same on a background thread, once; the process does not wait for it. Not where this build has kept kernels on disk.
void warm_up_in_background();

/// What the code generator's library exports, under the C name `tailor_code_generator`.
struct CodeGenerator {
  const char* version;  // of the project; must be the library's own
  std::shared_ptr<const CompiledModule> (*compile_nests)(std::span<const LoopNest> nests, const EmitOptions& options);
};

/// The file that holds the code generator: beside the library.
const std::string& code_generator_path();

}  // namespace tailor::jit
