#include <charconv>
#include <limits>
#include <map>

#include "ir/infer.h"
#include "ir/verify.h"

namespace tailor::ir {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 40;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Graph parse() {
    expect_word("graph");
    graph_.name = quoted();
    expect('{');
    while (!is_word("return")) statement();
    expect_word("return");
    if (peek() == '%') {
      do graph_.outputs.push_back(value_use());
      while (accept(','));
    }
    expect('}');
    skip_space();
    if (at_ < text_.size()) fail("unexpected text after the graph");
    return std::move(graph_);
  }

 private:
  // ---- characters ----
  [[noreturn]] void fail_at(size_t at, const std::string& what) const {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at && i < text_.size(); ++i) {
      if (text_[i] == '\n')
        ++line, column = 1;
      else
        ++column;
    }
    tailor::detail::raise<Error>("parse_graph: line ", line, ", column ", column, ": ", what);
  }
  [[noreturn]] void fail(const std::string& what) const { fail_at(at_, what); }

  void skip_space() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#') {
        const size_t end = std::min(text_.find('\n', at_), text_.size());
        comment_ = text_.substr(at_ + 1, end - at_ - 1);
        at_ = end;
        if (at_ >= text_.size()) return;
      } else if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
        return;
      }
    }
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("expected '") + c + "'");
  }
  static bool is_word_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  }
  std::string_view peek_word() {
    skip_space();
    size_t end = at_;
    while (end < text_.size() && is_word_char(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  std::string_view word() {
    const std::string_view w = peek_word();
    if (w.empty()) fail("expected a name");
    at_ += w.size();
    return w;
  }
  bool is_word(std::string_view w) { return peek_word() == w; }
  bool accept_word(std::string_view w) {
    if (!is_word(w)) return false;
    at_ += w.size();
    return true;
  }
  void expect_word(std::string_view w) {
    if (!accept_word(w)) fail("expected '" + std::string(w) + "'");
  }
  std::string quoted() {
    expect('"');
    std::string out;
    for (;; ++at_) {
      if (at_ >= text_.size()) fail("unterminated string");
      char c = text_[at_];
      if (c == '"') break;
      if (c == '\\') {
        if (++at_ >= text_.size()) fail("unterminated string");
        c = text_[at_] == 'n' ? '\n' : text_[at_];
      }
      out += c;
    }
    ++at_;
    return out;
  }

  // ---- numbers ----
  int64_t integer() {
    skip_space();
    int64_t v = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (error == std::errc::result_out_of_range) fail("integer out of range");
    if (error != std::errc()) fail("expected an integer");
    at_ = static_cast<size_t>(end - text_.data());
    return v;
  }
  /// A number, true or false; nothing else.
  tailor::Scalar scalar() {
    const bool negative = peek() == '-';
    size_t start = at_ + (negative ? 1 : 0), end = start;
    while (end < text_.size() &&
           (is_word_char(text_[end]) || ((text_[end] == '-' || text_[end] == '+') && end > start && text_[end - 1] == 'e')))
      ++end;
    const std::string_view w = text_.substr(start, end - start);
    if (w == "true" || w == "false") return at_ = end, tailor::Scalar(w == "true");
    if (w == "inf")
      return at_ = end, tailor::Scalar(negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity());
    if (w == "nan") {
      at_ = end;
      if (!accept('(')) return tailor::Scalar(std::bit_cast<double>(uint64_t{0x7ff8000000000000}));
      skip_space();
      if (text_.substr(at_, 2) != "0x") fail("expected 0x");
      uint64_t bits = 0;
      const auto [last, error] = std::from_chars(text_.data() + at_ + 2, text_.data() + text_.size(), bits, 16);
      if (error != std::errc()) fail("expected hexadecimal digits");
      at_ = static_cast<size_t>(last - text_.data());
      expect(')');
      return tailor::Scalar(std::bit_cast<double>(bits));
    }
    if (w.empty() || w[0] < '0' || w[0] > '9') fail("expected a number");
    if (w.find_first_of(".e") == std::string_view::npos) {
      const size_t before = at_;
      const int64_t v = integer();
      if (at_ != end) fail_at(before, "malformed number");
      return tailor::Scalar(v);
    }
    double v = 0;
    const auto [last, error] = std::from_chars(text_.data() + at_, text_.data() + end, v);
    if (error == std::errc::result_out_of_range) fail("number out of range");
    if (error != std::errc() || last != text_.data() + end) fail("malformed number");
    at_ = end;
    return tailor::Scalar(v);
  }
  std::vector<int64_t> int_list(char open, char close) {
    expect(open);
    std::vector<int64_t> list;
    if (accept(close)) return list;
    do list.push_back(integer());
    while (accept(','));
    expect(close);
    return list;
  }

  // ---- specs and values ----
  static ScalarType dtype_named(std::string_view name) {
    for (int t = 0; t < kScalarTypeCount; ++t)
      if (short_name(static_cast<ScalarType>(t)) == name) return static_cast<ScalarType>(t);
    return ScalarType::Undefined;
  }
  TensorSpec parse_spec() {
    const size_t start = (skip_space(), at_);
    const ScalarType dtype = dtype_named(word());
    if (dtype == ScalarType::Undefined) fail_at(start, "unknown dtype");
    const std::vector<int64_t> sizes = int_list('[', ']');
    if (sizes.size() > Dims::kMaxDims) fail_at(start, "too many dimensions");
    int64_t elements = 1;
    for (int64_t s : sizes) {
      if (s < 0) fail_at(start, "negative size");
      if (__builtin_mul_overflow(elements, std::max<int64_t>(s, 1), &elements) || elements > kMostElements)
        fail_at(start, "tensor too large");
    }
    TensorSpec spec(dtype, sizes);
    if (peek() == '{') {
      const std::vector<int64_t> strides = int_list('{', '}');
      if (strides.size() != sizes.size()) fail_at(start, "as many strides as sizes expected");
      for (int64_t s : strides)
        if (s < 0 || s > kMostElements) fail_at(start, "stride out of range");
      spec.strides = Dims(strides);
    }
    if (is_word("cpu") || is_word("cuda")) {
      std::string device(word());
      if (accept(':')) device += ":" + std::to_string(integer());
      try {
        spec.device = Device(device);
      } catch (const Error& e) { fail_at(start, e.what()); }
    }
    spec.requires_grad = accept_word("grad");
    return spec;
  }
  int value_number() {
    expect('%');
    const size_t start = at_;
    const int64_t id = integer();
    if (id < 0 || id > std::numeric_limits<int>::max()) fail_at(start, "value number out of range");
    return static_cast<int>(id);
  }
  ValueId value_use() {
    const size_t start = (skip_space(), at_);
    const auto it = ids_.find(value_number());
    if (it == ids_.end()) fail_at(start, "unknown value");
    return it->second;
  }

  // ---- statements ----
  void statement() {
    const size_t start = (skip_space(), at_);
    Node node;
    std::vector<int> numbers;
    std::vector<std::optional<TensorSpec>> specs;
    if (peek() == '%') {
      do {
        const size_t at = (skip_space(), at_);
        numbers.push_back(value_number());
        if (ids_.contains(numbers.back())) fail_at(at, "value defined twice");
        specs.emplace_back();
        if (accept(':')) specs.back() = parse_spec();
      } while (accept(','));
      expect('=');
    }
    if (accept_word("placeholder")) {
      node.kind = NodeKind::Placeholder;
      node.name = quoted();
      if (accept_word("alias")) {
        const size_t at = at_;
        const int64_t group = integer();
        if (group < 0 || group > std::numeric_limits<int>::max()) fail_at(at, "alias group out of range");
        node.alias_group = static_cast<int>(group);
      }
    } else if (accept_word("scalar")) {
      node.kind = NodeKind::Scalar;
      node.name = quoted();
      node.scalar = scalar();
      if (specs.size() == 1 && !specs[0]) specs[0] = scalar_spec(node.scalar);
    } else if (accept_word("constant")) {
      node.kind = NodeKind::Constant;
      if (specs.size() != 1 || !specs[0]) fail("a constant needs a spec");
      node.constant = constant(*specs[0]);
    } else {
      call(node, specs);
    }
    // The comment on the rest of this line is the source.
    comment_ = {};
    const size_t line_end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view rest = text_.substr(at_, line_end - at_);
    if (const size_t hash = rest.find_first_not_of(" \t"); hash != std::string_view::npos && rest[hash] == '#') {
      node.source = source(rest.substr(hash + 1));
      at_ = line_end;
    }
    const auto index = static_cast<int>(graph_.nodes.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (!specs[i]) fail_at(start, "a value needs a spec");
      const auto id = static_cast<ValueId>(graph_.values.size());
      ids_[numbers[i]] = id;
      node.outputs.push_back(id);
      graph_.values.push_back({index, static_cast<int>(i), *specs[i]});
    }
    graph_.nodes.push_back(std::move(node));
    checked(start, [&] { verify_node(graph_, graph_.nodes.size() - 1); });
  }

  template <class F>
  void checked(size_t at, F&& f) {
    try {
      f();
    } catch (const std::exception& e) { fail_at(at, e.what()); }
  }

  static SourceLocation source(std::string_view comment) {
    const size_t first = comment.find_first_not_of(" \t"), colon = comment.find_last_of(':');
    SourceLocation s;
    if (first == std::string_view::npos || colon == std::string_view::npos || colon <= first) return s;
    int line = 0;
    if (std::from_chars(comment.data() + colon + 1, comment.data() + comment.size(), line).ec != std::errc() || line <= 0) return s;
    s.file = std::string(comment.substr(first, colon - first));
    s.line = line;
    return s;
  }

  std::shared_ptr<const ConstantData> constant(const TensorSpec& spec) {
    auto data = std::make_shared<ConstantData>();
    const size_t start = (skip_space(), at_);
    const auto width = static_cast<size_t>(element_size(spec.dtype));
    if (accept_word("hex")) {
      const std::string digits = quoted();
      if (digits.size() != 2 * width * static_cast<size_t>(spec.numel())) fail_at(start, "the number of digits does not fit the spec");
      for (size_t i = 0; i < digits.size(); i += 2) {
        unsigned byte = 0;
        if (std::from_chars(&digits[i], &digits[i] + 2, byte, 16).ptr != &digits[i] + 2) fail_at(start, "expected hexadecimal digits");
        data->bytes.push_back(static_cast<std::byte>(byte));
      }
      return data;
    }
    expect('[');
    if (!accept(']')) {
      do {
        const size_t at = (skip_space(), at_);
        const tailor::Scalar s = scalar();
        if (s.is_floating_point() && !is_floating_point(spec.dtype)) fail_at(at, "expected an integer");
        visit_dtype(spec.dtype, [&]<class T>() {
          const T v = s.to<T>();
          const auto* p = reinterpret_cast<const std::byte*>(&v);
          data->bytes.insert(data->bytes.end(), p, p + sizeof v);
        });
      } while (accept(','));
      expect(']');
    }
    if (data->bytes.size() != width * static_cast<size_t>(spec.numel())) fail_at(start, "the number of elements does not fit the spec");
    return data;
  }

  void call(Node& node, std::vector<std::optional<TensorSpec>>& specs) {
    const size_t start = (skip_space(), at_);
    node.inplace = accept_word("inplace");
    const size_t name_at = (skip_space(), at_);
    const std::string_view name = word();
    node.op = find_op(name);
    if (!node.op) fail_at(name_at, "unknown op '" + std::string(name) + "'");
    expect('(');
    if (!accept(')')) {
      do {
        const std::string_view w = peek_word();
        const size_t after = at_ + w.size();
        const bool is_attr = !w.empty() && after < text_.size() && text_[after] == '=';
        if (is_attr)
          attribute(node);
        else if (node.attrs.empty())
          node.operands.push_back(operand());
        else
          fail("expected an attribute");
      } while (accept(','));
      expect(')');
    }
    checked(start, [&] {
      complete_arguments(*node.op, node.operands, node.attrs);
      bool missing = false;
      for (const auto& s : specs) missing |= !s;
      if (!missing) return;
      const std::vector<AttrRef> refs = attr_refs(node);
      const std::vector<TensorSpec> inferred = infer_specs(graph_, *node.op, node.operands, refs);
      check(inferred.size() == specs.size(), "expected ", inferred.size(), " values");
      for (size_t i = 0; i < specs.size(); ++i)
        if (!specs[i]) specs[i] = node.inplace && node.operands.at(0).is_tensor() ? graph_.spec(node.operands[0].tensor) : inferred[i];
    });
  }

  Value operand() {
    if (peek() == '%') return value_use();
    if (accept_word("none")) return std::nullopt;
    return scalar();
  }

  void attribute(Node& node) {
    const size_t start = (skip_space(), at_);
    const std::string_view name = word();
    const auto& names = node.op->attr_names;
    const auto it = std::find(names.begin(), names.end(), name);
    if (it == names.end()) fail_at(start, "op " + std::string(node.op->name) + " has no attribute '" + std::string(name) + "'");
    const auto index = static_cast<size_t>(it - names.begin());
    if (index < node.attrs.size()) fail_at(start, "attribute out of order");
    node.attrs.resize(index);
    expect('=');
    if (accept_word("none")) {
      node.attrs.emplace_back();
    } else if (const ScalarType t = dtype_named(peek_word()); t != ScalarType::Undefined) {
      word();
      node.attrs.emplace_back(AttrRef(t));
    } else if (peek() == '[') {
      node.attrs.emplace_back(AttrRef(int_list('[', ']')));
    } else {
      const tailor::Scalar s = scalar();
      if (s.is_boolean())
        node.attrs.emplace_back(AttrRef(s.to_bool()));
      else if (s.is_integral())
        node.attrs.emplace_back(AttrRef(s.to_int()));
      else
        node.attrs.emplace_back(AttrRef(s.to_double()));
    }
  }

  std::string_view text_, comment_;
  size_t at_ = 0;
  Graph graph_;
  std::map<int, ValueId> ids_;
};

}  // namespace

Graph parse_graph(std::string_view text) { return Parser(text).parse(); }

}  // namespace tailor::ir
