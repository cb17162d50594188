#pragma once
// The interpreter over strided, shared memory: views of one storage stay views, so that in-place ops are seen through each of them.

#include <memory>

#include "ir/host_tensor.h"
#include "ir/memory.h"

namespace tailor::ir {

/// A tensor in memory that may be shared. `owner` keeps the memory alive (null when it is the caller's).
struct MemoryTensor {
  std::shared_ptr<std::vector<std::byte>> owner;
  std::byte* data = nullptr;
  TensorSpec spec;
};

/// Memory of its own, zeroed, laid out as `spec`.
MemoryTensor allocate_memory(const TensorSpec& spec);

/// Runs a graph on memory. `inputs`: first element of each placeholder (laid out as its spec says; they may overlap); `scalars`: the
/// Scalar nodes in order, those seen when recorded where missing. Outputs may share memory with inputs and with each other.
std::vector<MemoryTensor> interpret_memory(const Graph& graph, std::span<void* const> inputs, std::span<const tailor::Scalar> scalars);

/// The reference implementation of an op itself, or null.
ReferenceFn find_reference(const OpDef& op);

}  // namespace tailor::ir
