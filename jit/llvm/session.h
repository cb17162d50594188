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

}  // namespace tailor::jit
