#include "jit/runtime_symbols.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/dtype.h"

namespace tailor::jit {
namespace {

/// Scratch memory of the calling thread: kept for its next kernel, one block for each scratch buffer of a nest.
void* scratch(int64_t slot, int64_t bytes) {
  struct Block {
    std::unique_ptr<void, decltype(&std::free)> memory{nullptr, &std::free};
    int64_t bytes = 0;
  };
  thread_local std::vector<Block> blocks;
  const auto index = static_cast<size_t>(slot);
  if (blocks.size() <= index) blocks.resize(index + 1);
  Block& block = blocks[index];
  if (block.bytes < bytes || block.memory == nullptr) {
    const auto rounded = static_cast<size_t>((bytes + 63) / 64 * 64 + 64);
    block.memory.reset();
    block.memory.reset(std::aligned_alloc(64, rounded));
    block.bytes = bytes;
    if (block.memory == nullptr) std::abort();  // generated code has no way to report it
  }
  return block.memory.get();
}

template <class F>
RuntimeSymbol symbol(const char* name, F* function) {
  return {name, reinterpret_cast<void*>(function)};
}

using Unary = float(float);
using UnaryWide = double(double);

}  // namespace

std::span<const RuntimeSymbol> runtime_symbols() {
  static const RuntimeSymbol symbols[] = {
      symbol("tailor_scratch", &scratch),
      symbol("fmaf", static_cast<float (*)(float, float, float)>(&::fmaf)),
      symbol("fma", static_cast<double (*)(double, double, double)>(&::fma)),
      symbol("floorf", static_cast<Unary*>(&::floorf)),
      symbol("floor", static_cast<UnaryWide*>(&::floor)),
      symbol("ceilf", static_cast<Unary*>(&::ceilf)),
      symbol("ceil", static_cast<UnaryWide*>(&::ceil)),
      symbol("truncf", static_cast<Unary*>(&::truncf)),
      symbol("trunc", static_cast<UnaryWide*>(&::trunc)),
      symbol("rintf", static_cast<Unary*>(&::rintf)),
      symbol("rint", static_cast<UnaryWide*>(&::rint)),
      symbol("nearbyintf", static_cast<Unary*>(&::nearbyintf)),
      symbol("nearbyint", static_cast<UnaryWide*>(&::nearbyint)),
      symbol("sqrtf", static_cast<Unary*>(&::sqrtf)),
      symbol("sqrt", static_cast<UnaryWide*>(&::sqrt)),
      symbol("memcpy", &::memcpy),
      symbol("memmove", &::memmove),
      symbol("memset", &::memset),
  };
  return symbols;
}

}  // namespace tailor::jit
