#include "conform/bindings.h"
#include "tailor/ops/view.h"

namespace tailor::conform {
namespace {

/// squeeze of everything, of one dimension, or of several.
Results squeeze_binding(Args& a) {
  if (!a.has(1)) return squeeze(a.tensor(0));
  return squeeze(a.tensor(0), a.ints(1));
}

Results repeat_interleave_binding(Args& a) {
  if (!a.has(1)) return repeat_interleave(a.tensor(0), a.optional_integer(3));
  if (a.is_tensor(1)) return repeat_interleave(a.tensor(0), a.tensor(1), a.optional_integer(2), a.optional_integer(3));
  return repeat_interleave(a.tensor(0), a.integer(1), a.optional_integer(2), a.optional_integer(3));
}

const Binding table[] = {
    {"view", "self size", [](Args& a) -> Results { return a.tensor(0).view(a.ints(1)); }},
    {"reshape", "self shape", [](Args& a) -> Results { return reshape(a.tensor(0), a.ints(1)); }},
    {"flatten", "self start_dim end_dim", [](Args& a) -> Results { return flatten(a.tensor(0), a.integer(1, 0), a.integer(2, -1)); }},
    {"unflatten", "self dim sizes", [](Args& a) -> Results { return unflatten(a.tensor(0), a.integer(1), a.ints(2)); }},
    {"permute", "self dims", [](Args& a) -> Results { return permute(a.tensor(0), a.ints(1)); }},
    {"transpose", "self dim0 dim1", [](Args& a) -> Results { return transpose(a.tensor(0), a.integer(1), a.integer(2)); }},
    {"transpose_", "self dim0 dim1", [](Args& a) -> Results { return a.tensor(0).transpose_(a.integer(1), a.integer(2)); }},
    {"t", "self", [](Args& a) -> Results { return t(a.tensor(0)); }},
    {"t_", "self", [](Args& a) -> Results { return a.tensor(0).t_(); }},
    {"movedim", "self source destination", [](Args& a) -> Results { return movedim(a.tensor(0), a.ints(1), a.ints(2)); }},
    {"expand", "self size", [](Args& a) -> Results { return a.tensor(0).expand(a.ints(1)); }},
    {"expand_as", "self other", [](Args& a) -> Results { return a.tensor(0).expand_as(a.tensor(1)); }},
    {"squeeze", "self dim", squeeze_binding},
    {"squeeze_", "self dim", [](Args& a) -> Results { return a.has(1) ? a.tensor(0).squeeze_(a.integer(1)) : a.tensor(0).squeeze_(); }},
    {"unsqueeze", "self dim", [](Args& a) -> Results { return unsqueeze(a.tensor(0), a.integer(1)); }},
    {"unsqueeze_", "self dim", [](Args& a) -> Results { return a.tensor(0).unsqueeze_(a.integer(1)); }},
    {"narrow", "self dim start length",
     [](Args& a) -> Results {
       if (a.is_tensor(2)) return narrow(a.tensor(0), a.integer(1), a.tensor(2), a.integer(3));
       return narrow(a.tensor(0), a.integer(1), a.integer(2), a.integer(3));
     }},
    {"slice", "self dim start end step",
     [](Args& a) -> Results { return slice(a.tensor(0), a.integer(1, 0), a.optional_integer(2), a.optional_integer(3), a.integer(4, 1)); }},
    {"select", "self dim index", [](Args& a) -> Results { return select(a.tensor(0), a.integer(1), a.integer(2)); }},
    {"split", "self split_size dim",
     [](Args& a) -> Results {
       if (a.is_list(1)) return split(a.tensor(0), a.ints(1), a.integer(2, 0));
       return split(a.tensor(0), a.integer(1), a.integer(2, 0));
     }},
    {"chunk", "self chunks dim", [](Args& a) -> Results { return chunk(a.tensor(0), a.integer(1), a.integer(2, 0)); }},
    {"unbind", "self dim", [](Args& a) -> Results { return unbind(a.tensor(0), a.integer(1, 0)); }},
    {"diagonal", "self offset dim1 dim2",
     [](Args& a) -> Results { return diagonal(a.tensor(0), a.integer(1, 0), a.integer(2, 0), a.integer(3, 1)); }},
    {"unfold", "self dimension size step", [](Args& a) -> Results { return a.tensor(0).unfold(a.integer(1), a.integer(2), a.integer(3)); }},
    {"as_strided", "self size stride storage_offset",
     [](Args& a) -> Results { return as_strided(a.tensor(0), a.ints(1), a.ints(2), a.optional_integer(3)); }},
    {"as_strided_", "self size stride storage_offset",
     [](Args& a) -> Results { return a.tensor(0).as_strided_(a.ints(1), a.ints(2), a.optional_integer(3)); }},
    {"detach", "self", [](Args& a) -> Results { return detach(a.tensor(0)); }},
    {"clone", "self", [](Args& a) -> Results { return clone(a.tensor(0)); }},
    {"contiguous", "self", [](Args& a) -> Results { return a.tensor(0).contiguous(); }},
    {"cat", "tensors dim", [](Args& a) -> Results { return cat(a.tensors(0), a.integer(1, 0)); }},
    {"stack", "tensors dim", [](Args& a) -> Results { return stack(a.tensors(0), a.integer(1, 0)); }},
    {"repeat", "self repeats", [](Args& a) -> Results { return a.tensor(0).repeat(a.ints(1)); }},
    {"repeat_interleave", "self repeats dim output_size", repeat_interleave_binding},
    {"tile", "self dims", [](Args& a) -> Results { return tile(a.tensor(0), a.ints(1)); }},
    {"flip", "self dims", [](Args& a) -> Results { return flip(a.tensor(0), a.ints(1)); }},
    {"roll", "self shifts dims", [](Args& a) -> Results { return roll(a.tensor(0), a.ints(1), a.ints(2)); }},
    {"tril", "self diagonal", [](Args& a) -> Results { return tril(a.tensor(0), a.integer(1, 0)); }},
    {"tril_", "self diagonal", [](Args& a) -> Results { return a.tensor(0).tril_(a.integer(1, 0)); }},
    {"triu", "self diagonal", [](Args& a) -> Results { return triu(a.tensor(0), a.integer(1, 0)); }},
    {"triu_", "self diagonal", [](Args& a) -> Results { return a.tensor(0).triu_(a.integer(1, 0)); }},
    {"pad", "self pad mode value",
     [](Args& a) -> Results { return pad(a.tensor(0), a.ints(1), a.text(2, "constant"), a.optional_number(3)); }},
    {"pixel_shuffle", "self upscale_factor", [](Args& a) -> Results { return pixel_shuffle(a.tensor(0), a.integer(1)); }},
};

}  // namespace

std::span<const Binding> view_bindings() { return table; }

}  // namespace tailor::conform
