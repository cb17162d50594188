#pragma once
// A fused group of ops as loops: what both emitters (LLVM here, CUDA text later) read. It says nothing that only a CPU can do.
//
//   for each point of the outer dims (parallel):
//     for each stage in turn:
//       for each point of the stage's inner dims:
//         evaluate the stage's expressions, fold reductions, perform stores
//
// softmax over rows of [m, n]: outer (m), three stages over (n): max; exp into scratch and sum; scaled store.
// A pointwise group: outer dims only, one stage without inner dims.
// A column sum of [m, n]: outer (n), one stage over (m) and a last one without inner dims that stores.

#include <cstdint>
#include <string>
#include <vector>

#include "ir/op.h"

namespace tailor::jit {

/// A number known when compiling, or an entry of the kernel's int64 parameters.
struct Size {
  int64_t value = 0;
  int param = -1;
  Size() = default;
  Size(int64_t v) : value(v) {}
  static Size parameter(int index) {
    Size s;
    s.param = index;
    return s;
  }
  bool is_static() const { return param < 0; }
  friend bool operator==(const Size&, const Size&) = default;
};

struct LoopDim {
  Size extent;
  bool inner = false;     // looped over by stages; otherwise an outer (parallel) dim
  bool unrolled = false;  // a small static extent, expanded by the emitter
};

/// offset + sum(strides[d] * index of dim d), in elements. Strides of inner dims that the stage does not loop over are 0. Only a
/// static stride of 1 along the vector dim gives contiguous vector loads; 0 a broadcast; anything else is gathered.
struct IndexMap {
  Size offset;
  std::vector<Size> strides;  // one per LoopDim
};

/// The access happens only where low <= coordinate < high (padding, concatenation); elsewhere a load gives `otherwise`.
struct Bound {
  IndexMap coordinate;
  Size low, high;
};

/// Scratch buffers are indexed from 0 in each outer point (strides of outer dims are 0). A load sees the stores of earlier stages,
/// and the stores of its own stage only where they precede it at the same place.
struct Access {
  int buffer = -1;
  IndexMap index;
  std::vector<Bound> bounds;
};

enum class ExprKind : uint8_t {
  Load,     // access (type = the buffer's dtype; half types arrive as float values)
  Literal,  // literal, in `type`
  Param,    // run-time scalar `param`, converted to `type`; `literal` holds the value seen when recording: its kind says how to
            // read the parameter's bits
  Index,    // an affine function of the loop indices, as an integer of `type` (arange, comparisons of coordinates)
  Op,       // pointwise op over args; args are already of the op's compute type; result rounded to `type`
  Cast,     // args[0] to `type` (PyTorch's conversion rules)
  Reduced,  // the finished value of reduction `param` (only in later stages); ArgMax/ArgMin: its index
};

struct Expr {
  ExprKind kind = ExprKind::Literal;
  ScalarType type = kFloat32;     // dtype of the result; half types are carried as float values rounded to the type
  ScalarType compute = kFloat32;  // Op: the dtype its formula is evaluated in
  const ir::OpDef* op = nullptr;
  std::vector<int> args;  // indices into LoopNest::exprs
  Access access;          // Load
  tailor::Scalar literal, otherwise;
  IndexMap index;  // Index
  int param = -1;  // Param, Reduced
};

enum class ReduceOp : uint8_t { Sum, Prod, Max, Min, Any, All, ArgMax, ArgMin };

/// NaN wins in Max/Min (and its first index in ArgMax/ArgMin); ties give the first index. The order of folding is fixed by the
/// extents alone, never by the number of threads.
struct Reduction {
  ReduceOp op = ReduceOp::Sum;
  int value = -1;                    // expression folded
  int index = -1;                    // ArgMax/ArgMin: an expression of kind Index (i64) that grows in the order of the loops
  ScalarType accumulate = kFloat32;  // f32 for f32 and half types, f64, i64 ...
};

struct Store {
  Access access;
  int value = -1;
};

struct Stage {
  std::vector<int> dims;        // the inner dims it loops over, outermost first
  std::vector<int> exprs;       // in order of evaluation; an expression belongs to one stage, invariants are hoisted by the emitter
  std::vector<int> reductions;  // indices into LoopNest::reductions
  std::vector<Store> stores;
};

enum class BufferKind : uint8_t { Input, Output, Temporary, Scratch };  // Scratch: private to one outer point

struct Buffer {
  BufferKind kind = BufferKind::Input;
  ScalarType dtype = kFloat32;
  Size elements;  // Scratch: how many
};

/// Nests are launched with a positive number of outer points only; inner extents may be 0 (a reduction then gives its identity).
struct LoopNest {
  std::string name;  // of ops, for people: "softmax", "mul_add_relu"; symbols are made unique elsewhere
  std::vector<LoopDim> dims;
  int vector_dim = -1;  // the dim whose points are lanes: the last outer dim, or an inner one; -1 for none
  std::vector<Buffer> buffers;
  std::vector<Expr> exprs;
  std::vector<Reduction> reductions;
  std::vector<Stage> stages;
  int64_t size_params = 0, scalar_params = 0;  // how many entries `sizes` and `scalars` have
  bool nontemporal = false;                    // large outputs that nobody reads soon
};

/// The text form, for `tailor dump --emit loops`.
std::string to_string(const LoopNest& nest);

/// Where the vector dim is cut, it is cut at multiples of this.
constexpr int64_t kCutMultiple = 64;

/// What a compiled nest is called with. `begin` and `end` cut the outermost outer dim (or 0, 1 when there is none).
using KernelFn = void (*)(void* const* buffers, const int64_t* sizes, const int64_t* scalars, int64_t begin, int64_t end);

}  // namespace tailor::jit
