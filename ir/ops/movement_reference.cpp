// The oracle of the movement ops: every element of the result asks where it comes from.

#include "ir/ops/host_elements.h"
#include "ir/ops/movement.h"

namespace tailor::ir {
namespace {

using Results = std::vector<HostTensor>;

/// Fills the result: `source(coordinates)` gives the coordinates in operand 0.
template <class Source>
Results gathered(const ReferenceCall& call, Source source) {
  HostTensor out(call.output_specs[0]);
  const HostTensor& self = call.tensor(0);
  for (int64_t i = 0; i < out.spec.numel(); ++i) {
    const Dims from = source(coordinates(i, out.spec.sizes));
    move_element(out, i, self, element_at(from, self.spec.sizes));
  }
  return {out};
}

Results reference_clone(const ReferenceCall& call) {
  return gathered(call, [](Dims at) { return at; });
}

Results reference_copy(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  const HostTensor& src = call.tensor(1);
  for (int64_t i = 0; i < out.spec.numel(); ++i) {
    const Dims at = coordinates(i, out.spec.sizes);
    move_element(out, i, src, element_at(at, src.spec.sizes));
  }
  return {out};
}

Results reference_fill(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  for (int64_t i = 0; i < out.spec.numel(); ++i) {
    if (call.has_tensor(1))
      move_element(out, i, call.tensor(1), 0);
    else
      set_scalar(out, i, call.operands[1].scalar);
  }
  return {out};
}

Results reference_zero(const ReferenceCall& call) {
  return {HostTensor(call.output_specs[0])};  // a new tensor is all zero
}

Results reference_cat(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  const auto dim = static_cast<size_t>(wrap_dim(call.attrs[0].as_int(), out.spec.rank()));
  int64_t start = 0;
  for (size_t t = 0; t < call.operands.size(); ++t) {
    const HostTensor& part = call.tensor(t);
    if (part.spec.numel() == 0) {
      if (part.spec.rank() == out.spec.rank()) start += part.spec.sizes[dim];
      continue;
    }
    for (int64_t i = 0; i < part.spec.numel(); ++i) {
      Dims at = coordinates(i, part.spec.sizes);
      at[dim] += start;
      move_element(out, element_at(at, out.spec.sizes), part, i);
    }
    start += part.spec.sizes[dim];
  }
  return {out};
}

Results reference_repeat(const ReferenceCall& call) {
  const IntArrayRef sizes = call.tensor(0).spec.sizes;
  return gathered(call, [&](Dims at) {
    const size_t missing = at.size() - sizes.size();
    for (size_t d = 0; d < sizes.size(); ++d) at[d + missing] %= sizes[d];
    return at;
  });
}

Results reference_repeat_interleave(const ReferenceCall& call) {
  const int64_t repeats = call.attrs[0].as_int();
  const auto dim = static_cast<size_t>(wrap_dim(call.attrs[1].as_int(), call.tensor(0).spec.rank()));
  return gathered(call, [&](Dims at) {
    at[dim] /= repeats;
    return at;
  });
}

Results reference_repeat_interleave_tensor(const ReferenceCall& call) {
  const HostTensor& repeats = call.tensor(1);
  const auto dim = static_cast<size_t>(wrap_dim(call.attrs[0].as_int(), call.tensor(0).spec.rank()));
  const int64_t size = call.tensor(0).spec.rank() == 0 ? 1 : call.tensor(0).spec.sizes[dim];
  std::vector<int64_t> source;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t n = repeats.get_int(repeats.spec.numel() == 1 ? 0 : i);
    check(n >= 0, "repeats can not be negative");
    source.insert(source.end(), static_cast<size_t>(n), i);
  }
  check(static_cast<int64_t>(source.size()) == call.attrs[1].as_int(), "repeat_interleave: allocated size does not match required size");
  return gathered(call, [&](Dims at) {
    at[dim] = source[static_cast<size_t>(at[dim])];
    return at;
  });
}

Results reference_flip(const ReferenceCall& call) {
  const TensorSpec& self = call.tensor(0).spec;
  return gathered(call, [&](Dims at) {
    if (self.rank() == 0) return at;
    for (int64_t d : call.attrs[0].as_ints()) {
      const auto dim = static_cast<size_t>(wrap_dim(d, self.rank()));
      at[dim] = self.sizes[dim] - 1 - at[dim];
    }
    return at;
  });
}

Results reference_roll(const ReferenceCall& call) {
  const TensorSpec& self = call.tensor(0).spec;
  const IntArrayRef shifts = call.attrs[0].as_ints(), dims = call.attrs[1].as_ints();
  const auto rolled = [](int64_t at, int64_t shift, int64_t size) { return ((at - shift) % size + size) % size; };
  if (dims.empty() || self.rank() == 0) {
    HostTensor out(call.output_specs[0]);
    const int64_t n = self.numel();
    for (int64_t i = 0; i < n; ++i) move_element(out, i, call.tensor(0), rolled(i, shifts[0], n));
    return {out};
  }
  return gathered(call, [&](Dims at) {
    for (size_t i = 0; i < dims.size(); ++i) {
      const auto dim = static_cast<size_t>(wrap_dim(dims[i], self.rank()));
      at[dim] = rolled(at[dim], shifts[i], self.sizes[dim]);
    }
    return at;
  });
}

Results reference_pad(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  const HostTensor& self = call.tensor(0);
  const IntArrayRef pad = call.attrs[0].as_ints();
  const auto mode = static_cast<PadMode>(call.attrs[1].as_int());
  const Scalar value = call.operands.size() > 1 && call.operands[1].is_scalar() ? call.operands[1].scalar : Scalar(0);
  for (int64_t i = 0; i < out.spec.numel(); ++i) {
    Dims at = coordinates(i, out.spec.sizes);
    bool inside = true;
    for (size_t p = 0; p < pad.size() / 2; ++p) {
      const size_t d = at.size() - 1 - p;
      at[d] = padded_source(mode, at[d], pad[2 * p], pad[2 * p + 1], self.spec.sizes[d]);
      inside &= at[d] >= 0 && at[d] < self.spec.sizes[d];
    }
    if (inside)
      move_element(out, i, self, element_at(at, self.spec.sizes));
    else
      set_scalar(out, i, value);
  }
  return {out};
}

Results reference_triangle(const ReferenceCall& call) {
  HostTensor out = call.tensor(0);
  const int64_t diagonal = call.attrs[0].as_int();
  const bool lower = call.op.name == "tril";
  for (int64_t i = 0; i < out.spec.numel(); ++i) {
    const Dims at = coordinates(i, out.spec.sizes);
    const int64_t distance = at.back() - at[at.size() - 2];
    if (lower ? distance > diagonal : distance < diagonal) out.set_int(i, 0);
  }
  return {out};
}

[[maybe_unused]] const bool registered = [] {
  register_reference("clone", reference_clone);
  register_reference("copy_", reference_copy);
  register_reference("fill_", reference_fill);
  register_reference("zero_", reference_zero);
  register_reference("cat", reference_cat);
  register_reference("repeat", reference_repeat);
  register_reference("repeat_interleave", reference_repeat_interleave);
  register_reference("repeat_interleave_tensor", reference_repeat_interleave_tensor);
  register_reference("flip", reference_flip);
  register_reference("roll", reference_roll);
  register_reference("pad", reference_pad);
  register_reference("tril", reference_triangle);
  register_reference("triu", reference_triangle);
  return true;
}();

}  // namespace
}  // namespace tailor::ir
