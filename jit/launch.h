#pragma once
// The launches of an executable, and how their pointers are found: every buffer is a base (an input, an output, the arena, or
// nothing for constants) and a distance in bytes, so that a run only adds.

#include <functional>
#include <vector>

#include "jit/loop_nest.h"
#include "kernels/epilogue.h"

namespace tailor::jit {

struct Pointer {
  int base = 0;             // index into the bases of a run
  int place = -1;           // until place_pointers: the block of the arena, or the constant's node, whose address is to be added
  int64_t byte_offset = 0;  // for constants: the address
  int scalar = -1;          // adds scalars[scalar] * width
  int width = 0;

  std::byte* resolve(std::byte* const* bases, const int64_t* scalars) const {
    std::byte* p = bases[base] + byte_offset;
    if (scalar >= 0) [[unlikely]]
      p += scalars[scalar] * width;
    return p;
  }
};

/// The laid out weights of a run, or none.
using Packs = std::span<const std::shared_ptr<const kernels::Prepacked>>;

/// A loop nest. Cut into ranges of `grain` points of its outermost dim; 0: never cut.
struct NestLaunch {
  int index = -1;             // which of the program's nests
  KernelFn kernel = nullptr;  // null: the nest is interpreted
  const LoopNest* nest = nullptr;
  const int64_t* sizes = nullptr;  // the nest's run-time sizes (of a contraction's tail: those behind rows and columns)
  std::vector<Pointer> buffers;
  int64_t extent = 1, grain = 0;
  int64_t work = 0;            // roughly: element operations
  bool whole_vectors = false;  // cuts fall on whole vectors
  /// How to cut it.
  void choose_grain();
  void run(std::byte* const* bases, const int64_t* scalars, const Packs& packs = {}) const;
};

/// A call of a kernel by the door of kernels/kernels.h.
struct LibraryLaunch {
  struct Argument {
    enum class Kind : uint8_t { None, Tensor, Scalar, Parameter } kind = Kind::None;
    Pointer pointer;
    ir::TensorSpec spec;
    tailor::Scalar scalar;  // Parameter: of this kind
    int parameter = -1;
  };
  const ir::OpDef* op = nullptr;
  kernels::Kernel kernel = nullptr;  // null: the reference implementation
  std::vector<Argument> operands, outputs;
  std::vector<ir::Attr> attrs;
  std::vector<ir::AttrRef> refs;  // to attrs, whose lists stay where they are when a launch is moved
  std::string where;              // the user's line, for errors
  int pack = -1;                  // its weights among the packs of a run, when they can be laid out ahead

  LibraryLaunch() = default;
  LibraryLaunch(LibraryLaunch&&) noexcept = default;
  LibraryLaunch& operator=(LibraryLaunch&&) noexcept = default;
  LibraryLaunch(const LibraryLaunch& other);
  LibraryLaunch& operator=(const LibraryLaunch& other) { return *this = LibraryLaunch(other); }
  void run(std::byte* const* bases, const int64_t* scalars, const Packs& packs) const;
  /// Resolves the arguments and hands the call to `invoke`; errors name the user's line.
  void run(std::byte* const* bases, const int64_t* scalars, const Packs& packs,
           const std::function<void(const kernels::Call&)>& invoke) const;
};
static_assert(std::is_nothrow_move_constructible_v<LibraryLaunch>, "a copy would refer to the attributes of another launch");

}  // namespace tailor::jit
