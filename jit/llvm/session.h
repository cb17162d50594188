#pragma once
// The one ORC session of the process: object code in, addresses out. No LLVM type is named here.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tailor::jit {

/// Linked machine code; dropping it frees the code. Its functions must not be running then.
class LinkedObject {
 public:
  virtual ~LinkedObject() = default;
  /// The address of one of the symbols asked for, in their order.
  virtual void* address(size_t symbol) const = 0;
  virtual int64_t code_bytes() const = 0;
};

/// Links an ELF object (as generate_object makes them) into the process. Thread-safe. `symbols` must be unique in the process.
/// Throws InternalError when the object is damaged or refers to a symbol that generated code may not use.
std::shared_ptr<const LinkedObject> link_object(std::string_view object, std::span<const std::string> symbols);

/// A fresh symbol: unique in the process, and never the name of a C function, whatever users call their kernels.
std::string unique_symbol();

/// Initialises LLVM, creates the session and compiles something small, so that the first real compilation does not pay for it.
void warm_up();
/// The same on a background thread, once; the process does not wait for it.
void warm_up_in_background();

}  // namespace tailor::jit
