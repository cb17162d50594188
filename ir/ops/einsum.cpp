// einsum as a composition: operands are brought to one order of labels and multiplied pairwise by bmm, left to right.
#include <algorithm>

#include "ir/graph.h"
#include "ir/ops/compose.h"
#include "ir/ops/contraction.h"
#include "ir/ops/view.h"

namespace tailor::ir {

std::vector<int64_t> einsum_equation(std::string_view text) { return {text.begin(), text.end()}; }
std::string einsum_text(IntArrayRef equation) {
  std::string text;
  for (const int64_t c : equation) text += static_cast<char>(c);
  return text;
}

namespace {

// Labels are letters; the dims of an ellipsis are numbered from its right end: -1, -2 ... so that they broadcast.
using Labels = std::vector<int>;

struct Einsum {
  std::vector<Labels> inputs;
  Labels output;
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

struct Term {
  Labels labels;  // kEllipsis stands for the dots
  bool dots = false;
};
constexpr int kEllipsis = 1000;

Term parse_term(std::string_view text, std::string_view what) {
  Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text[i] == '.') {
      check(text.substr(i, 3) == "...", "einsum(): found '.' for ", what, " that is not part of any ellipsis");
      check(!term.dots, "einsum(): found '.' for ", what, " for which an ellipsis was already found");
      term.dots = true;
      term.labels.push_back(kEllipsis);
      i += 2;
      continue;
    }
    check(is_letter(text[i]), "einsum(): invalid subscript given at index ", i, " in the equation string, subscripts must be in [a-zA-Z]");
    term.labels.push_back(text[i]);
  }
  return term;
}

Labels expanded(const Term& term, size_t dots) {
  Labels labels;
  for (const int l : term.labels) {
    if (l != kEllipsis)
      labels.push_back(l);
    else
      for (size_t i = dots; i > 0; --i) labels.push_back(-static_cast<int>(i));
  }
  return labels;
}

Einsum parse(const std::string& equation, std::span<const TensorSpec* const> operands) {
  const size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  std::vector<Term> terms;
  for (size_t at = 0;;) {
    const size_t comma = left.find(',', at);
    terms.push_back(parse_term(std::string_view(left).substr(at, comma == std::string::npos ? comma : comma - at),
                               "operand " + std::to_string(terms.size())));
    if (comma == std::string::npos) break;
    at = comma + 1;
  }
  check(!operands.empty(), "einsum(): must provide at least one operand");
  check(terms.size() <= operands.size(), "einsum(): fewer operands were provided than specified in the equation");
  check(terms.size() >= operands.size(), "einsum(): more operands were provided than specified in the equation");
  Einsum e;
  size_t most_dots = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const size_t rank = operands[i]->sizes.size(), named = terms[i].labels.size() - (terms[i].dots ? 1 : 0);
    check(terms[i].dots ? named <= rank : named == rank, "einsum(): the number of subscripts in the equation (", named,
          terms[i].dots ? ") is more than the number of dimensions (" : ") does not match the number of dimensions (", rank,
          ") for operand ", i, terms[i].dots ? "" : " and no ellipsis was given");
    const size_t dots = terms[i].dots ? rank - named : 0;
    most_dots = std::max(most_dots, dots);
    e.inputs.push_back(expanded(terms[i], dots));
  }
  const auto uses = [&](int label) {
    size_t n = 0;
    for (const Labels& input : e.inputs) n += static_cast<size_t>(std::count(input.begin(), input.end(), label));
    return n;
  };
  if (arrow == std::string::npos) {  // implicit: the dots, then every label that appears once, in alphabetical order
    for (size_t i = most_dots; i > 0; --i) e.output.push_back(-static_cast<int>(i));
    for (int l = 'A'; l <= 'z'; ++l)
      if (uses(l) == 1) e.output.push_back(l);
    return e;
  }
  const Term out = parse_term(std::string_view(equation).substr(arrow + 2), "the output");
  e.output = expanded(out, most_dots);
  for (const int l : e.output) {
    if (l < 0) continue;
    check(std::count(e.output.begin(), e.output.end(), l) == 1, "einsum(): output subscript ", static_cast<char>(l),
          " appears more than once in the output");
    check(uses(l) > 0, "einsum(): output subscript ", static_cast<char>(l), " does not appear in the equation for any input operand");
  }
  return e;
}

std::string label_name(int label) { return label < 0 ? "..." : std::string(1, static_cast<char>(label)); }

// Size of every label of `order`; sizes of 1 broadcast.
Dims label_sizes(const Einsum& e, std::span<const TensorSpec* const> operands, const Labels& order) {
  Dims sizes(order.size(), 1);
  for (size_t i = 0; i < e.inputs.size(); ++i)
    for (size_t d = 0; d < e.inputs[i].size(); ++d) {
      const size_t at = static_cast<size_t>(std::find(order.begin(), order.end(), e.inputs[i][d]) - order.begin());
      const int64_t size = operands[i]->sizes[d];
      const auto first = std::find(e.inputs[i].begin(), e.inputs[i].end(), e.inputs[i][d]) - e.inputs[i].begin();
      check(operands[i]->sizes[static_cast<size_t>(first)] == size, "einsum(): subscript ", label_name(order[at]),
            " is repeated for operand ", i, " but the sizes don't match, ", size, " != ", operands[i]->sizes[static_cast<size_t>(first)]);
      check(size == 1 || sizes[at] == 1 || sizes[at] == size, "einsum(): subscript ", label_name(order[at]), " has size ", size,
            " for operand ", i, " which does not broadcast with previously seen size ", sizes[at]);
      if (size != 1) sizes[at] = size;
    }
  return sizes;
}

// The output's labels, then those that are summed, in order of appearance.
Labels label_order(const Einsum& e) {
  Labels order = e.output;
  for (const Labels& input : e.inputs)
    for (const int l : input)
      if (std::find(order.begin(), order.end(), l) == order.end()) order.push_back(l);
  check(order.size() <= Dims::kMaxDims, "einsum(): more than ", Dims::kMaxDims, " different subscripts");
  return order;
}

// Repeated labels become diagonals; then dims in the given order, size 1 where the operand has no such label.
int arranged(Builder& b, int x, Labels labels, const Labels& order) {
  for (size_t i = 0; i < labels.size(); ++i)
    for (size_t j = i + 1; j < labels.size(); ++j)
      if (labels[i] == labels[j]) {
        x = b.call("diagonal", {x}, {0, static_cast<int64_t>(i), static_cast<int64_t>(j)});
        labels.push_back(labels[i]);  // the diagonal is the last dim
        labels.erase(labels.begin() + static_cast<long>(j));
        labels.erase(labels.begin() + static_cast<long>(i));
        return arranged(b, x, labels, order);
      }
  Dims dims;
  for (const int l : order)
    if (const auto found = std::find(labels.begin(), labels.end(), l); found != labels.end()) dims.push_back(found - labels.begin());
  bool moved = false;
  for (size_t i = 0; i < dims.size(); ++i) moved = moved || dims[i] != static_cast<int64_t>(i);
  if (moved) x = b.call("permute", {x}, {dims});
  for (size_t i = 0; i < order.size(); ++i)
    if (std::find(labels.begin(), labels.end(), order[i]) == labels.end()) x = b.call("unsqueeze", {x}, {static_cast<int64_t>(i)});
  return x;
}

int sum_dims(Builder& b, int x, const Dims& dims) {
  if (dims.empty()) return x;
  return b.call("sum", {x}, {dims, true, b.spec(x).dtype});
}

// The product of two arranged operands, summed over `summed`, whose dims stay with size 1.
int multiply(Builder& b, int x, int y, const std::vector<bool>& summed) {
  const size_t rank = summed.size();
  Dims alone_x, alone_y, batch, left, right, inner;
  for (size_t d = 0; d < rank; ++d) {
    const auto at = static_cast<int64_t>(d);
    const bool in_x = b.spec(x).sizes[d] != 1, in_y = b.spec(y).sizes[d] != 1;
    if (in_x && in_y)
      (summed[d] ? inner : batch).push_back(at);
    else if (in_x && summed[d])
      alone_x.push_back(at), batch.push_back(at);
    else if (in_y && summed[d])
      alone_y.push_back(at), batch.push_back(at);
    else if (in_x)
      left.push_back(at);
    else if (in_y)
      right.push_back(at);
    else
      batch.push_back(at);
  }
  x = sum_dims(b, x, alone_x);
  y = sum_dims(b, y, alone_y);
  const Dims xs = b.spec(x).sizes, ys = b.spec(y).sizes;
  const auto joined = [](IntArrayRef sizes, const Dims& dims) {
    int64_t n = 1;
    for (const int64_t d : dims) n *= sizes[static_cast<size_t>(d)];
    return n;
  };
  const auto order = [](std::initializer_list<const Dims*> parts) {
    Dims all;
    for (const Dims* part : parts)
      for (const int64_t d : *part) all.push_back(d);
    return all;
  };
  const int64_t z = joined(xs, batch), m = joined(xs, left), n = joined(ys, right), k = joined(xs, inner);
  x = reshape(b, b.call("permute", {x}, {order({&batch, &left, &inner, &right})}), Dims{z, m, k});
  y = reshape(b, b.call("permute", {y}, {order({&batch, &inner, &right, &left})}), Dims{z, k, n});
  const int product = z == 1 ? b.call("unsqueeze", {b.call("mm", {b.call("select", {x}, {0, 0}), b.call("select", {y}, {0, 0})})}, {0})
                             : b.call("bmm", {x, y});
  const Dims back = order({&batch, &left, &inner, &right});
  Dims sizes, inverse(rank, 0);
  for (size_t i = 0; i < rank; ++i) {
    const auto d = static_cast<size_t>(back[i]);
    const bool is_inner = std::find(inner.begin(), inner.end(), back[i]) != inner.end();
    sizes.push_back(is_inner ? 1 : std::max(xs[d], ys[d]));
    if (xs[d] == 0 || ys[d] == 0) sizes[i] = is_inner ? 1 : 0;
    inverse[d] = static_cast<int64_t>(i);
  }
  return b.call("permute", {reshape(b, product, sizes)}, {inverse});
}

std::vector<const TensorSpec*> specs_of(const SpecCall& call) {
  std::vector<const TensorSpec*> specs;
  for (size_t i = 0; i < call.operands.size(); ++i) specs.push_back(&call.tensor(i));
  return specs;
}

// One operand is reduced as `sum` reduces it: integers become int64. Products keep their dtype.
ScalarType result_dtype(ScalarType type, size_t operands, const Labels& order, const Labels& output) {
  return operands == 1 && is_integral(type, true) && order.size() > output.size() ? kInt64 : type;
}

// The layout is the one in which the last product leaves its result.
std::vector<TensorSpec> infer_einsum(const OpDef& op, const SpecCall& call) {
  const std::vector<const TensorSpec*> specs = specs_of(call);
  for (const TensorSpec* s : specs)
    check(s->dtype == specs[0]->dtype, "einsum(): expected all operands to have the same dtype, but got: ", specs[0]->dtype, " and ",
          s->dtype);
  GraphBuilder builder;
  std::vector<Value> operands;
  for (const TensorSpec* s : specs) operands.emplace_back(builder.placeholder(*s, "operand"));
  return {builder.spec(op.decompose(builder, operands, call.attrs).at(0))};
}

std::vector<int> decompose_einsum(Builder& b, std::span<const Value> operands, std::span<const AttrRef> attrs) {
  Compose c(b);
  std::vector<TensorSpec> copies;
  std::vector<const TensorSpec*> specs;
  for (const Value& v : operands) copies.push_back(b.spec(v.tensor));
  for (const TensorSpec& s : copies) specs.push_back(&s);
  const Einsum e = parse(einsum_text(attrs[0].as_ints()), specs);
  const Labels order = label_order(e);
  Dims sizes = label_sizes(e, specs, order);
  std::vector<int> arranged_operands;
  for (size_t i = 0; i < operands.size(); ++i)
    arranged_operands.push_back(arranged(b, operands.size() > 2 ? c.wide(operands[i].tensor) : operands[i].tensor, e.inputs[i], order));
  // A label is summed as soon as no later operand has it.
  int result = arranged_operands[0];
  for (size_t i = 1; i < arranged_operands.size(); ++i) {
    std::vector<bool> summed(order.size(), false);
    for (size_t d = e.output.size(); d < order.size(); ++d) {
      bool later = false;
      for (size_t j = i + 1; j < arranged_operands.size(); ++j) later = later || b.spec(arranged_operands[j]).sizes[d] != 1;
      summed[d] = !later;
    }
    result = multiply(b, result, arranged_operands[i], summed);
  }
  Dims rest;
  for (size_t d = e.output.size(); d < order.size(); ++d)
    if (b.spec(result).sizes[d] != 1) rest.push_back(static_cast<int64_t>(d));
  const ScalarType type = result_dtype(copies[0].dtype, copies.size(), order, e.output);
  if (type == kInt64) result = c.cast(result, type);
  result = sum_dims(b, result, rest);
  sizes.resize(e.output.size());
  for (size_t d = order.size(); d > e.output.size(); --d) result = b.call("select", {result}, {static_cast<int64_t>(d - 1), 0});
  return {c.cast(result, type)};
}

}  // namespace

bool einsum_is_view(std::string_view equation, const TensorSpec& operand) {
  const TensorSpec* operands[] = {&operand};
  const Einsum e = parse(std::string(equation), operands);
  return label_order(e).size() == e.output.size();
}

namespace {

[[maybe_unused]] const bool registered = [] {
  OpDef def;
  def.name = "einsum";
  def.kind = OpKind::Composite;
  def.operand_names = {"operands..."};
  def.attr_names = {"equation"};
  def.infer = infer_einsum;
  def.decompose = decompose_einsum;
  register_op(std::move(def));
  return true;
}();

}  // namespace
}  // namespace tailor::ir
