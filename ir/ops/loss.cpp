#include "ir/ops/loss.h"

#include "ir/ops/compose.h"

namespace tailor::ir {
namespace {

using Specs = std::vector<TensorSpec>;
using Values = std::vector<int>;
using Operands = std::span<const Value>;
using Attrs = std::span<const AttrRef>;

LossReduction reduction_of(std::string_view op, const AttrRef& attr) {
  const int64_t r = attr.as_int();
  check(r >= 0 && r <= (op == "kl_div" ? 3 : 2), op, ": ", r, " is not a valid value for reduction");
  return static_cast<LossReduction>(r);
}

/// What `reduction` makes of one loss per element, rounded to `type`.
int reduce_loss(Compose& c, int loss, const AttrRef& reduction, ScalarType type) {
  switch (static_cast<LossReduction>(reduction.as_int())) {
    case LossReduction::None: break;
    case LossReduction::Mean: loss = c.mean(loss, std::nullopt, false); break;
    case LossReduction::Sum: loss = c.sum(loss, std::nullopt, false); break;
    case LossReduction::BatchMean: {
      const TensorSpec spec = c.spec(loss);
      const double batch = spec.rank() == 0 ? 1.0 : static_cast<double>(spec.size(0));
      loss = c.div(c.sum(loss, std::nullopt, false), Compose::lit(batch));
      break;
    }
  }
  return c.cast(loss, type);
}

TensorSpec loss_spec(ScalarType type, IntArrayRef sizes, Device device, LossReduction reduction) {
  return TensorSpec(type, reduction == LossReduction::None ? sizes : IntArrayRef(), device);
}

// ---- one loss per pair of elements --------------------------------------------------------------------------------

void check_float(std::string_view op, ScalarType type) {
  check<NotImplementedError>(is_floating_point(type), op, ": not implemented for '", type, "'");
}

/// mse l1 smooth_l1 huber kl_div: the operands broadcast.
Specs infer_pair(const OpDef& op, const SpecCall& call) {
  const TensorSpec &input = call.tensor(0), &target = call.tensor(1);
  const ScalarType type = promote_types(input.dtype, target.dtype);
  check_float(op.name, type);
  if (op.name == "smooth_l1_loss") check(call.attrs[1].as_double() >= 0, "smooth_l1_loss does not support negative values for beta.");
  if (op.name == "huber_loss") check(call.attrs[1].as_double() > 0, "huber_loss does not support non-positive values for delta.");
  return {loss_spec(type, broadcast_shapes(input.sizes, target.sizes), input.device, reduction_of(op.name, call.attrs[0]))};
}

struct Pair {
  int input, target;  // in the compute type
  ScalarType type;    // of the result
};
Pair pair_of(Compose& c, Operands in) {
  const ScalarType type = promote_types(c.spec(in[0].tensor).dtype, c.spec(in[1].tensor).dtype);
  return {c.cast(in[0].tensor, compute_type(type)), c.cast(in[1].tensor, compute_type(type)), type};
}

Values decompose_mse(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const Pair p = pair_of(c, in);
  const int d = c.sub(p.input, p.target);
  return {reduce_loss(c, c.mul(d, d), attrs[0], p.type)};
}

Values decompose_l1(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const Pair p = pair_of(c, in);
  return {reduce_loss(c, c.abs(c.sub(p.input, p.target)), attrs[0], p.type)};
}

Values decompose_smooth_l1(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const Pair p = pair_of(c, in);
  const double beta = attrs[1].as_double();
  const int z = c.abs(c.sub(p.input, p.target));
  if (beta == 0) return {reduce_loss(c, z, attrs[0], p.type)};
  const int square = c.div(c.mul(c.mul(z, Compose::lit(0.5)), z), Compose::lit(beta));
  const int loss = c.where(c.lt(z, Compose::lit(beta)), square, c.sub(z, Compose::lit(0.5 * beta)));
  return {reduce_loss(c, loss, attrs[0], p.type)};
}

Values decompose_huber(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const Pair p = pair_of(c, in);
  const double delta = attrs[1].as_double();
  const int z = c.abs(c.sub(p.input, p.target));
  const int square = c.mul(c.mul(z, Compose::lit(0.5)), z);
  const int linear = c.mul(c.sub(z, Compose::lit(0.5 * delta)), Compose::lit(delta));
  return {reduce_loss(c, c.where(c.le(z, Compose::lit(delta)), square, linear), attrs[0], p.type)};
}

Values decompose_kl_div(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const Pair p = pair_of(c, in);
  const int loss = attrs[1].as_bool() ? c.mul(c.exp(p.target), c.sub(p.target, p.input))
                                      : c.sub(c.call("xlogy", {p.target, p.target}), c.mul(p.target, p.input));
  return {reduce_loss(c, loss, attrs[0], p.type)};
}

// ---- binary cross entropy -----------------------------------------------------------------------------------------

Specs infer_bce(const OpDef& op, const SpecCall& call) {
  const TensorSpec &input = call.tensor(0), &target = call.tensor(1);
  const bool logits = op.name == "binary_cross_entropy_with_logits";
  check_float(op.name, input.dtype);
  if (logits)
    check(target.sizes == input.sizes, op.name, ": Target size (", IntArrayRef(target.sizes), ") must be the same as input size (",
          IntArrayRef(input.sizes), ")");
  else
    check(target.sizes == input.sizes, op.name, ": Using a target size (", IntArrayRef(target.sizes),
          ") that is different to the input size (", IntArrayRef(input.sizes), ") is deprecated. Please ensure they have the same size.");
  for (size_t i = 2; i < call.operands.size(); ++i)
    if (call.has_tensor(i))
      check(broadcast_shapes(input.sizes, call.tensor(i).sizes) == input.sizes, op.name, ": a weight of shape ",
            IntArrayRef(call.tensor(i).sizes), " does not broadcast to the input's shape ", IntArrayRef(input.sizes));
  return {loss_spec(input.dtype, input.sizes, input.device, reduction_of(op.name, call.attrs[0]))};
}

Values decompose_bce(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const ScalarType type = c.spec(in[0].tensor).dtype, compute = compute_type(type);
  const int x = c.wide(in[0].tensor), t = c.cast(in[1].tensor, compute);
  // Logarithms are kept above -100, so that 0 and 1 have finite losses.
  const int log_x = c.clamp_min(c.log(x), -100), log_rest = c.clamp_min(c.unary("log1p", c.neg(x)), -100);
  int loss = c.sub(c.mul(c.sub(t, Compose::lit(1)), log_rest), c.mul(t, log_x));
  if (in[2].is_tensor()) loss = c.mul(loss, c.cast(in[2].tensor, compute));
  return {reduce_loss(c, loss, attrs[0], type)};
}

Values decompose_bce_with_logits(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const ScalarType type = c.spec(in[0].tensor).dtype, compute = compute_type(type);
  const int x = c.wide(in[0].tensor), t = c.cast(in[1].tensor, compute);
  const int log_sigmoid = c.sub(c.clamp_max(x, 0), c.unary("log1p", c.exp(c.neg(c.abs(x)))));
  int weighted = log_sigmoid;
  if (in[3].is_tensor()) {
    const int w = c.cast(in[3].tensor, compute);
    weighted = c.mul(c.add(c.mul(c.sub(w, Compose::lit(1)), t), Compose::lit(1)), log_sigmoid);
  }
  int loss = c.sub(c.sub(x, c.mul(t, x)), weighted);
  if (in[2].is_tensor()) loss = c.mul(loss, c.cast(in[2].tensor, compute));
  return {reduce_loss(c, loss, attrs[0], type)};
}

// ---- cosine_embedding_loss ----------------------------------------------------------------------------------------

Specs infer_cosine(const OpDef& op, const SpecCall& call) {
  const TensorSpec &a = call.tensor(0), &b = call.tensor(1), &target = call.tensor(2);
  check(target.rank() <= 1, op.name, ": 0D or 1D target tensor expected, multi-target not supported");
  const int64_t rank = target.rank() + 1;
  check(a.rank() == rank && b.rank() == rank, op.name, ": ", target.rank(), "D target tensor expects ", rank,
        "D input tensors, but found inputs with sizes ", IntArrayRef(a.sizes), " and ", IntArrayRef(b.sizes), ".");
  ScalarType type = promote_types(a.dtype, b.dtype);
  if (!is_floating_point(type)) type = kFloat32;
  Dims sizes = broadcast_shapes(a.sizes, b.sizes);
  sizes.erase(sizes.size() - 1);
  return {loss_spec(type, broadcast_shapes(sizes, target.sizes), a.device, reduction_of(op.name, call.attrs[1]))};
}

Values decompose_cosine(Builder& builder, Operands in, Attrs attrs) {
  Compose c(builder);
  Pair p = pair_of(c, in);
  if (!is_floating_point(p.type)) p.type = kFloat32;  // integers: products wrap, sums are i64, and the epsilon makes floats of them
  constexpr double epsilon = 1e-12;
  const auto dot = [&](int u, int v) { return c.sum(c.mul(u, v), int64_t{-1}, false); };
  const int norms = c.mul(c.add(dot(p.input, p.input), Compose::lit(epsilon)), c.add(dot(p.target, p.target), Compose::lit(epsilon)));
  const int cosine = c.div(dot(p.input, p.target), c.sqrt(norms));
  const int target = in[2].tensor;
  const int alike = c.sub(Compose::lit(1), cosine), unlike = c.clamp_min(c.sub(cosine, Compose::lit(attrs[0].as_double())), 0);
  const int loss = c.add(c.where(c.eq(target, Value(tailor::Scalar(1))), alike, Compose::lit(0)),
                         c.where(c.eq(target, Value(tailor::Scalar(-1))), unlike, Compose::lit(0)));
  return {reduce_loss(c, loss, attrs[1], p.type)};
}

// ---- nll_loss, cross_entropy --------------------------------------------------------------------------------------

int64_t class_dim(const TensorSpec& input) { return input.rank() == 1 ? 0 : 1; }

/// The input's sizes without the classes.
Dims without_classes(const TensorSpec& input) {
  Dims sizes = input.sizes;
  sizes.erase(static_cast<size_t>(class_dim(input)));
  return sizes;
}

Specs infer_nll(const OpDef& op, const SpecCall& call) {
  const TensorSpec &input = call.tensor(0), &target = call.tensor(1);
  check_float(op.name, input.dtype);
  check(input.rank() >= 1, op.name, ": expected an input with at least one dimension");
  const int64_t classes = input.size(class_dim(input));
  const Dims sizes = without_classes(input);
  if (op.name == "cross_entropy") {
    const double smoothing = call.attrs[2].as_double();
    check(smoothing >= 0 && smoothing <= 1, "cross_entropy: label_smoothing must be between 0.0 and 1.0. Got: ", smoothing);
  }
  if (op.name == "cross_entropy" && is_floating_point(target.dtype)) {
    check(target.sizes == input.sizes, op.name, ": expected target probabilities of the input's shape ", IntArrayRef(input.sizes), ", got ",
          IntArrayRef(target.sizes));
  } else {
    check(is_integral(target.dtype), op.name, ": expected class indices in an integer type, got ", target.dtype);
    check(target.sizes == sizes, op.name, ": expected a target of shape ", IntArrayRef(sizes), " for an input of shape ",
          IntArrayRef(input.sizes), ", got ", IntArrayRef(target.sizes));
  }
  if (call.has_tensor(2))
    check(call.tensor(2).rank() == 1 && call.tensor(2).numel() == classes, op.name, ": weight tensor should be defined either for all ",
          classes, " classes or no classes but got weight tensor of shape: ", IntArrayRef(call.tensor(2).sizes));
  return {loss_spec(input.dtype, sizes, input.device, reduction_of(op.name, call.attrs[0]))};
}

/// Losses by class index: what nll_loss and cross_entropy share. Values in the compute type.
struct Picked {
  int valid;   // where the target is not ignore_index
  int target;  // the indices, 0 where ignored
  int weight;  // of each target's class: 0 where ignored
};

Picked picked(Compose& c, int target, const Value& weight, int64_t ignore_index, ScalarType type) {
  Picked p;
  p.valid = c.ne(target, Value(tailor::Scalar(ignore_index)));
  p.target = c.cast(c.where(p.valid, target, Value(tailor::Scalar(0))), kInt64);
  if (!weight.is_tensor()) {
    p.weight = c.cast(p.valid, type);
  } else {
    const Dims sizes = c.spec(target).sizes;
    const int w = c.call("gather", {c.cast(weight.tensor, type), c.reshape(p.target, {product(sizes)})}, {int64_t{0}});
    p.weight = c.where(p.valid, c.reshape(w, sizes), Compose::lit(0));
  }
  return p;
}

/// -weight * log_probability[target], one per target.
int picked_losses(Compose& c, int log_probabilities, const Picked& p) {
  const TensorSpec input = c.spec(log_probabilities);
  Dims kept = input.sizes;
  kept[static_cast<size_t>(class_dim(input))] = 1;
  const int chosen = c.call("gather", {log_probabilities, c.reshape(p.target, kept)}, {class_dim(input)});
  // An ignored element counts as 0 even where its log probability is infinite.
  const int value = c.where(p.valid, c.reshape(chosen, without_classes(input)), Compose::lit(0));
  return c.neg(c.mul(value, p.weight));
}

int weighted_mean(Compose& c, int losses, int weight) {
  return c.div(c.sum(losses, std::nullopt, false), c.sum(weight, std::nullopt, false));
}

int reduce_picked(Compose& c, int losses, int weight, const AttrRef& reduction, ScalarType type) {
  if (static_cast<LossReduction>(reduction.as_int()) == LossReduction::Mean) return c.cast(weighted_mean(c, losses, weight), type);
  return reduce_loss(c, losses, reduction, type);
}

Values decompose_nll(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const ScalarType type = c.spec(in[0].tensor).dtype;
  const int x = c.wide(in[0].tensor);
  const Picked p = picked(c, in[1].tensor, in[2], attrs[1].as_int(), compute_type(type));
  return {reduce_picked(c, picked_losses(c, x, p), p.weight, attrs[0], type)};
}

/// The class weights in a shape that broadcasts against the input.
int class_weights(Compose& c, int weight, const TensorSpec& input) {
  Dims shape(input.sizes.size(), 1);
  shape[static_cast<size_t>(class_dim(input))] = input.size(class_dim(input));
  return c.reshape(c.cast(weight, compute_type(input.dtype)), shape);
}

int cross_entropy_of_probabilities(Compose& c, int log_probabilities, int target, const Value& weight, const TensorSpec& input,
                                   Attrs attrs) {
  const double smoothing = attrs[2].as_double();
  const int64_t dim = class_dim(input), classes = input.size(dim);
  int t = c.cast(target, compute_type(input.dtype));
  if (smoothing > 0) t = c.add(c.mul(t, Compose::lit(1 - smoothing)), Compose::lit(smoothing / static_cast<double>(classes)));
  int product = c.mul(log_probabilities, t);
  if (weight.is_tensor()) product = c.mul(product, class_weights(c, weight.tensor, input));
  const int losses = c.neg(c.sum(product, dim, false));
  return reduce_loss(c, losses, attrs[0], input.dtype);
}

Values decompose_cross_entropy(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const TensorSpec input = c.spec(in[0].tensor);
  const ScalarType compute = compute_type(input.dtype);
  const int64_t dim = class_dim(input);
  const int logp = c.call("log_softmax", {c.wide(in[0].tensor)}, {dim, std::nullopt});
  if (is_floating_point(c.spec(in[1].tensor).dtype)) return {cross_entropy_of_probabilities(c, logp, in[1].tensor, in[2], input, attrs)};

  const Picked p = picked(c, in[1].tensor, in[2], attrs[1].as_int(), compute);
  const int losses = picked_losses(c, logp, p);
  const double smoothing = attrs[2].as_double();
  if (smoothing == 0) return {reduce_picked(c, losses, p.weight, attrs[0], input.dtype)};
  const int weighted = in[2].is_tensor() ? c.mul(logp, class_weights(c, in[2].tensor, input)) : logp;
  const int smooth = c.where(p.valid, c.neg(c.sum(weighted, dim, false)), Compose::lit(0));
  const double classes = static_cast<double>(input.size(dim));
  const int mixed = c.add(c.mul(losses, Compose::lit(1 - smoothing)), c.mul(smooth, Compose::lit(smoothing / classes)));
  return {reduce_picked(c, mixed, p.weight, attrs[0], input.dtype)};
}

void composite(std::string_view name, std::vector<std::string_view> operands, std::vector<std::string_view> attrs,
               decltype(OpDef::infer) infer, decltype(OpDef::decompose) decompose, bool can_fail = false) {
  OpDef def;
  def.name = name;
  def.kind = OpKind::Composite;
  def.operand_names = std::move(operands);
  def.attr_names = std::move(attrs);
  def.infer = infer;
  def.decompose = decompose;
  def.can_fail_on_data = can_fail;
  register_op(std::move(def));
}

[[maybe_unused]] const bool registered = [] {
  composite("mse_loss", {"input", "target"}, {"reduction"}, infer_pair, decompose_mse);
  composite("l1_loss", {"input", "target"}, {"reduction"}, infer_pair, decompose_l1);
  composite("smooth_l1_loss", {"input", "target"}, {"reduction", "beta"}, infer_pair, decompose_smooth_l1);
  composite("huber_loss", {"input", "target"}, {"reduction", "delta"}, infer_pair, decompose_huber);
  composite("kl_div", {"input", "target"}, {"reduction", "log_target"}, infer_pair, decompose_kl_div);
  composite("binary_cross_entropy", {"input", "target", "weight"}, {"reduction"}, infer_bce, decompose_bce);
  composite("binary_cross_entropy_with_logits", {"input", "target", "weight", "pos_weight"}, {"reduction"}, infer_bce,
            decompose_bce_with_logits);
  composite("cosine_embedding_loss", {"input1", "input2", "target"}, {"margin", "reduction"}, infer_cosine, decompose_cosine);
  composite("nll_loss", {"input", "target", "weight"}, {"reduction", "ignore_index"}, infer_nll, decompose_nll, true);
  composite("cross_entropy", {"input", "target", "weight"}, {"reduction", "ignore_index", "label_smoothing"}, infer_nll,
            decompose_cross_entropy, true);
  return true;
}();

}  // namespace
}  // namespace tailor::ir
