#include "jit/launch.h"

#include <array>

#include "ir/located_error.h"
#include "jit/loop_interpreter.h"
#include "runtime/thread_pool.h"

namespace tailor::jit {

namespace {

/// Work (element operations) that is worth a range of its own on another thread.
constexpr int64_t kWorkPerRange = 32 * 1024;

}  // namespace

void NestLaunch::choose_grain() {
  grain = 0;
  if (work < 2 * kWorkPerRange || extent <= 1) return;
  grain = std::max<int64_t>(kWorkPerRange / std::max<int64_t>(work / extent, 1), 1);
  if (whole_vectors) grain = (grain + kCutMultiple - 1) / kCutMultiple * kCutMultiple;
}

LibraryLaunch::LibraryLaunch(const LibraryLaunch& other)
    : op(other.op),
      kernel(other.kernel),
      operands(other.operands),
      outputs(other.outputs),
      attrs(other.attrs),
      refs(attrs.begin(), attrs.end()),
      where(other.where),
      pack(other.pack) {}

// Cut into ranges, interpreted, or over very many buffers.
static void run_otherwise(const NestLaunch& launch, std::byte* const* bases, const int64_t* scalars) {
  std::vector<void*> pointers;
  pointers.reserve(launch.buffers.size());
  for (const Pointer& place : launch.buffers) pointers.push_back(place.resolve(bases, scalars));
  if (launch.kernel == nullptr) return interpret_nest(*launch.nest, pointers.data(), launch.sizes, scalars, 0, launch.extent);
  if (launch.grain == 0) return launch.kernel(pointers.data(), launch.sizes, scalars, 0, launch.extent);
  const int64_t unit = launch.whole_vectors ? kCutMultiple : 1;
  parallel_for(0, (launch.extent + unit - 1) / unit, launch.grain / unit, [&](int64_t begin, int64_t end) {
    launch.kernel(pointers.data(), launch.sizes, scalars, begin * unit, std::min(end * unit, launch.extent));
  });
}

void NestLaunch::run(std::byte* const* bases, const int64_t* scalars, const Packs&) const {
  constexpr size_t kInline = 32;
  const std::span<const Pointer> places(buffers);
  if (grain != 0 || kernel == nullptr || places.size() > kInline) return run_otherwise(*this, bases, scalars);
  void* pointers[kInline];
  void** to = pointers;
  for (const Pointer& place : places) *to++ = place.resolve(bases, scalars);
  kernel(pointers, sizes, scalars, 0, extent);
}

void LibraryLaunch::run(std::byte* const* bases, const int64_t* scalars, const Packs& packs) const {
  run(bases, scalars, packs, [this](const kernels::Call& call) { kernel != nullptr ? kernel(call) : kernels::run(call); });
}

void LibraryLaunch::run(std::byte* const* bases, const int64_t* scalars, const Packs& packs,
                        const std::function<void(const kernels::Call&)>& invoke) const {
  constexpr size_t kInline = 8;
  std::array<kernels::Operand, kInline> few;
  std::vector<kernels::Operand> many;
  kernels::Operand* args = few.data();
  if (operands.size() > kInline) {
    many.resize(operands.size());
    args = many.data();
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    const Argument& a = operands[i];
    switch (a.kind) {
      case Argument::Kind::None: break;
      case Argument::Kind::Tensor: args[i] = kernels::TensorArg{a.pointer.resolve(bases, scalars), &a.spec}; break;
      case Argument::Kind::Scalar: args[i] = a.scalar; break;
      case Argument::Kind::Parameter: args[i] = tailor::Scalar::from_bits(a.scalar.kind(), scalars[a.parameter]); break;
    }
  }
  std::array<kernels::TensorArg, 4> results;
  internal_check(outputs.size() <= results.size(), op->name, " has too many outputs");
  for (size_t i = 0; i < outputs.size(); ++i) results[i] = {outputs[i].pointer.resolve(bases, scalars), &outputs[i].spec};
  const kernels::Call call{*op,
                           {args, operands.size()},
                           refs,
                           {results.data(), outputs.size()},
                           pack >= 0 && !packs.empty() ? packs[static_cast<size_t>(pack)].get() : nullptr};
  try {
    invoke(call);
  } catch (const Error&) { ir::rethrow_at(where); }
}

}  // namespace tailor::jit
