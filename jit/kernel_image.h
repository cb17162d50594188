#pragma once
// Machine code that can be put anywhere: what is kept of a kernel on disk, and loaded without LLVM.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tailor::jit {

/// A kernel with its constants in one piece, whose parts know each other's distance. Only calls into the library need an address.
struct KernelImage {
  struct Import {
    std::string name;   // of runtime_symbols.h
    uint64_t slot = 0;  // offset of the 8 bytes that take the function's address
  };
  std::string bytes;
  uint64_t entry = 0;  // offset of the kernel's first instruction
  std::vector<Import> imports;
};

/// Cuts the function `symbol`, and what it refers to, out of an ELF object of generate_object. Throws InternalError for an object that
/// holds something else than position-independent code and constants.
KernelImage cut_image(std::string_view object, std::string_view symbol);

/// Images in executable memory, in the order given; freed with the last owner.
class LoadedImages {
 public:
  /// Throws InternalError for an image that does not fit together, imports what generated code may not use, or when the system gives
  /// no executable memory.
  explicit LoadedImages(std::span<const KernelImage> images);
  ~LoadedImages();
  LoadedImages(const LoadedImages&) = delete;
  LoadedImages& operator=(const LoadedImages&) = delete;

  void* entry(size_t image) const { return entries_.at(image); }
  int64_t code_bytes() const { return static_cast<int64_t>(bytes_); }

 private:
  std::byte* base_ = nullptr;
  size_t bytes_ = 0;
  std::vector<void*> entries_;
};

}  // namespace tailor::jit
