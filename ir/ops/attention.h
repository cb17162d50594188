#pragma once
// scaled_dot_product_attention(query [..., L, E], key [..., S, E], value [..., S, V], attn_mask?; is_causal, scale, enable_gqa)
//   = softmax(query @ key.T * scale + mask) @ value                                                          [..., L, V]
//
// attn_mask broadcasts to [..., L, S]: bool (true takes part) or the dtype of query (added). is_causal lets row i see columns up to i.
// A row that sees nothing gives zeros. scale none: 1 / sqrt(E). enable_gqa: heads of key and value (dim -3) repeat to query's number.
// Computed in float32 for half types, rounded once. Dropout composes: attention_weights gives the softmax alone, with the same
// operands and attributes but without `value`:
//
//   attention_weights(query, key, attn_mask?; is_causal, scale, enable_gqa)                                  [..., L, S]

#include "ir/op.h"

namespace tailor::ir {

/// A call resolved: leading dims broadcast, sizes by name.
struct AttentionShape {
  Dims batch;  // of the result; heads are the last of them
  int64_t l = 0, s = 0, e = 0, v = 0;
  int64_t repeat = 1;  // query heads that share one key head (enable_gqa)
  bool causal = false;
  double scale = 1;
};

/// Checks a call and resolves it; throws Error with torch's texts. `value` and `mask` may be null.
AttentionShape attention_shape(const OpDef& op, const TensorSpec& query, const TensorSpec& key, const TensorSpec* value,
                               const TensorSpec* mask, std::span<const AttrRef> attrs);

}  // namespace tailor::ir
