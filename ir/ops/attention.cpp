#include "ir/ops/attention.h"

#include <cmath>
#include <limits>

#include "ir/ops/compose.h"
#include "ir/ops/contraction.h"
#include "ir/ops/movement.h"
#include "ir/ops/view.h"

namespace tailor::ir {
namespace {

IntArrayRef leading(const TensorSpec& s) { return IntArrayRef(s.sizes.begin(), s.sizes.size() - 2); }

// The leading dims of key or value with its heads repeated `repeat` times.
Dims repeated(const TensorSpec& s, int64_t repeat) {
  Dims dims(leading(s));
  if (repeat != 1) dims[dims.size() - 1] *= repeat;
  return dims;
}

int64_t head_repeat(const OpDef& op, const TensorSpec& query, const TensorSpec& key, const TensorSpec* value, bool gqa) {
  if (!gqa) return 1;
  check(query.rank() >= 3 && key.rank() >= 3, op.name, ": enable_gqa needs a dimension of heads, got ", query.rank(), "D and ", key.rank(),
        "D");
  const int64_t heads = query.size(-3), key_heads = key.size(-3);
  check(key_heads > 0 && heads % key_heads == 0, op.name,
        ": Number of heads in key and value must divide the number of heads in query, got ", key_heads, " and ", heads);
  check(value == nullptr || (value->rank() >= 3 && value->size(-3) == key_heads), op.name,
        ": key and value must have the same number of heads");
  return heads / key_heads;
}

}  // namespace

AttentionShape attention_shape(const OpDef& op, const TensorSpec& query, const TensorSpec& key, const TensorSpec* value,
                               const TensorSpec* mask, std::span<const AttrRef> attrs) {
  check(query.rank() >= 2 && key.rank() >= 2 && (value == nullptr || value->rank() >= 2), op.name,
        ": Expected query, key, and value to all be at least 2 dimensional, but got query of ", query.rank(), "D and key of ", key.rank(),
        "D");
  check(is_floating_point(query.dtype), op.name, ": expected floating-point tensors, got ", query.dtype);
  check(query.dtype == key.dtype && (value == nullptr || value->dtype == key.dtype), op.name,
        ": Expected query, key, and value to have the same dtype, but got query.dtype: ", query.dtype, " key.dtype: ", key.dtype,
        " and value.dtype: ", value == nullptr ? key.dtype : value->dtype, " instead.");
  AttentionShape shape;
  shape.causal = !attrs[0].is_none() && attrs[0].as_bool();
  check(mask == nullptr || !shape.causal, op.name, ": Explicit attn_mask should not be set when is_causal=True");
  check(mask == nullptr || mask->dtype == kBool || mask->dtype == query.dtype || mask->dtype == kFloat32, op.name,
        ": Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: ",
        mask == nullptr ? kBool : mask->dtype, " and  query.dtype: ", query.dtype, " instead.");
  shape.l = query.size(-2);
  shape.e = query.size(-1);
  shape.s = key.size(-2);
  check(key.size(-1) == shape.e, op.name, ": query and key must have the same last dimension, got ", query.sizes, " and ", key.sizes);
  shape.repeat = head_repeat(op, query, key, value, !attrs[2].is_none() && attrs[2].as_bool());
  shape.batch = broadcast_shapes(leading(query), repeated(key, shape.repeat));
  if (value != nullptr) {
    check(value->size(-2) == shape.s, op.name, ": key and value must have the same sequence length, got ", key.sizes, " and ",
          value->sizes);
    shape.v = value->size(-1);
    shape.batch = broadcast_shapes(shape.batch, repeated(*value, shape.repeat));
  }
  if (mask != nullptr) {
    Dims scores = shape.batch;
    scores.push_back(shape.l);
    scores.push_back(shape.s);
    check_expandable(mask->sizes, scores);
  }
  shape.scale = attrs[1].is_none() ? 1 / std::sqrt(static_cast<double>(shape.e)) : attrs[1].as_double();
  return shape;
}

namespace {

using Specs = std::vector<TensorSpec>;
using Values = std::span<const Value>;
using AttrRefs = std::span<const AttrRef>;

Specs infer_attention(const OpDef& op, const SpecCall& call) {
  const AttentionShape s =
      attention_shape(op, call.tensor(0), call.tensor(1), &call.tensor(2), call.has_tensor(3) ? &call.tensor(3) : nullptr, call.attrs);
  Dims sizes = s.batch;
  sizes.push_back(s.l);
  sizes.push_back(s.v);
  const TensorSpec& query = call.tensor(0);
  // Heads inside rows stay there, as in torch, so that merging the heads again is a view.
  if (query.sizes == sizes) return {TensorSpec(query.dtype, sizes, preserved_strides(query), query.device)};
  return {TensorSpec(query.dtype, sizes, query.device)};
}

Specs infer_weights(const OpDef& op, const SpecCall& call) {
  const AttentionShape s =
      attention_shape(op, call.tensor(0), call.tensor(1), nullptr, call.has_tensor(2) ? &call.tensor(2) : nullptr, call.attrs);
  Dims sizes = s.batch;
  sizes.push_back(s.l);
  sizes.push_back(s.s);
  return {TensorSpec(call.tensor(0).dtype, sizes, call.tensor(0).device)};
}

// [..., H, S, E] -> [..., H * repeat, S, E], each head `repeat` times in a row.
int repeat_heads(Builder& b, int x, int64_t repeat) {
  if (repeat == 1) return x;
  const Dims sizes = b.spec(x).sizes;
  Dims wide = sizes;
  wide.insert(sizes.size() - 2, repeat);
  Dims result = sizes;
  result[sizes.size() - 3] *= repeat;
  return reshape(b, b.call("expand", {b.call("unsqueeze", {x}, {-3})}, {wide}), result);
}

// softmax(query @ key.T * scale + mask) in the compute type.
int weights(Builder& b, int query, int key, const Value& mask, const AttentionShape& s) {
  Compose c(b);
  const ScalarType type = compute_type(b.spec(query).dtype);
  int scores = b.call("matmul", {c.wide(query), b.call("transpose", {repeat_heads(b, c.wide(key), s.repeat)}, {-2, -1})});
  scores = c.mul(scores, Compose::lit(s.scale));
  const Value hidden = Compose::lit(-std::numeric_limits<double>::infinity());
  bool may_hide = false;
  if (s.causal) {
    const int rows = b.call("arange", {tailor::Scalar(0), tailor::Scalar(1)}, {s.l, kInt64});
    const int columns = b.call("arange", {tailor::Scalar(0), tailor::Scalar(1)}, {s.s, kInt64});
    scores = c.where(c.le(columns, b.call("unsqueeze", {rows}, {1})), scores, hidden);
  } else if (mask.is_tensor()) {
    may_hide = true;
    if (b.spec(mask.tensor).dtype == kBool)
      scores = c.where(mask.tensor, scores, hidden);
    else
      scores = c.add(scores, c.cast(mask.tensor, type));
  }
  const int result = b.call("softmax", {scores}, {-1, std::nullopt});
  if (!may_hide) return result;
  const int seen = c.ne(c.amax(scores, -1, true), hidden);  // false where a row sees nothing; true for NaN
  return c.where(seen, result, Compose::lit(0));
}

std::vector<int> decompose_weights(Builder& b, Values in, AttrRefs attrs) {
  const Value mask = in.size() > 2 ? in[2] : Value();
  const TensorSpec &q = b.spec(in[0].tensor), &k = b.spec(in[1].tensor);
  const ScalarType type = q.dtype;
  const AttentionShape s =
      attention_shape(*find_op("attention_weights"), q, k, nullptr, mask.is_tensor() ? &b.spec(mask.tensor) : nullptr, attrs);
  return {Compose(b).cast(weights(b, in[0].tensor, in[1].tensor, mask, s), type)};
}

std::vector<int> decompose_attention(Builder& b, Values in, AttrRefs attrs) {
  Compose c(b);
  const Value mask = in.size() > 3 ? in[3] : Value();
  const TensorSpec &q = b.spec(in[0].tensor), &k = b.spec(in[1].tensor), &v = b.spec(in[2].tensor);
  const ScalarType type = q.dtype;
  const AttentionShape s =
      attention_shape(*find_op("scaled_dot_product_attention"), q, k, &v, mask.is_tensor() ? &b.spec(mask.tensor) : nullptr, attrs);
  const int p = weights(b, in[0].tensor, in[1].tensor, mask, s);
  return {c.cast(b.call("matmul", {p, repeat_heads(b, c.wide(in[2].tensor), s.repeat)}), type)};
}

[[maybe_unused]] const bool registered = [] {
  OpDef attention;
  attention.name = "scaled_dot_product_attention";
  attention.kind = OpKind::Composite;
  attention.operand_names = {"query", "key", "value", "attn_mask"};
  attention.attr_names = {"is_causal", "scale", "enable_gqa"};
  attention.infer = infer_attention;
  attention.decompose = decompose_attention;
  OpDef softmax = attention;
  softmax.name = "attention_weights";
  softmax.operand_names = {"query", "key", "attn_mask"};
  softmax.infer = infer_weights;
  softmax.decompose = decompose_weights;
  register_op(std::move(attention));
  register_op(std::move(softmax));
  return true;
}();

}  // namespace
}  // namespace tailor::ir
