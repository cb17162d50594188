// The text form:
//
//   graph "name" {
//     %0: f32[2, 3] = placeholder "args[0]"                    ("alias 1" follows where it may overlap with others)
//     %1: f64[] = scalar "s0" 0.5                              # model.cpp:12
//     %2: f32[3] = constant [1.0, 2.0, 3.0]                    (hex "..." when large)
//     %3: f32[2, 3] = add(%0, %1, alpha=1)                     # model.cpp:13
//     %4: f32[2] , %5: i64[2] = max(%3, dim=1, keepdim=false)
//     %6: f32[2, 3] = inplace mul(%3, 2.0)
//     return %6, %4
//   }

#include <charconv>
#include <cmath>

#include "ir/graph.h"
#include "ir/text.h"

namespace tailor::ir {
namespace {

constexpr int64_t kMostPrintedElements = 256;

void print_double(std::string& out, double v) {
  if (std::isnan(v)) {
    const auto bits = std::bit_cast<uint64_t>(v);
    if (bits == 0x7ff8000000000000ull) {
      out += "nan";
    } else {
      char buffer[32];
      const auto end = std::to_chars(buffer, buffer + sizeof buffer, bits, 16).ptr;
      out += "nan(0x";
      out.append(buffer, end);
      out += ')';
    }
    return;
  }
  if (std::isinf(v)) {
    out += v < 0 ? "-inf" : "inf";
    return;
  }
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  const std::string_view text(buffer, static_cast<size_t>(end - buffer));
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

void print_scalar(std::string& out, const tailor::Scalar& s) {
  switch (s.kind()) {
    case tailor::Scalar::Kind::Bool: out += s.to_bool() ? "true" : "false"; break;
    case tailor::Scalar::Kind::Int: out += std::to_string(s.to_int()); break;
    case tailor::Scalar::Kind::Double: print_double(out, s.to_double()); break;
  }
}

void print_attr(std::string& out, const AttrRef& a) {
  switch (a.kind) {
    case AttrRef::Kind::None: out += "none"; break;
    case AttrRef::Kind::Int: out += std::to_string(a.as_int()); break;
    case AttrRef::Kind::Bool: out += a.as_bool() ? "true" : "false"; break;
    case AttrRef::Kind::Double: print_double(out, a.as_double()); break;
    case AttrRef::Kind::Dtype: out += short_name(a.as_dtype()); break;
    case AttrRef::Kind::Ints: {
      out += '[';
      const char* separator = "";
      for (int64_t v : a.as_ints()) out += separator, out += std::to_string(v), separator = ", ";
      out += ']';
      break;
    }
  }
}

void print_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  out += '"';
}

bool is_printable_as_numbers(const TensorSpec& spec, const ConstantData& data) {
  if (spec.numel() > kMostPrintedElements) return false;
  // A NaN narrower than double may change its payload on the way through double: print those by bits.
  for (int64_t i = 0; is_floating_point(spec.dtype) && i < spec.numel(); ++i) {
    const bool nan = visit_dtype(spec.dtype, [&]<class T>() {
      T v;
      std::memcpy(&v, data.bytes.data() + i * static_cast<int64_t>(sizeof v), sizeof v);
      return std::isnan(static_cast<double>(v));
    });
    if (nan) return false;
  }
  return true;
}

void print_constant(std::string& out, const TensorSpec& spec, const ConstantData& data) {
  if (!is_printable_as_numbers(spec, data)) {
    static constexpr char digits[] = "0123456789abcdef";
    out += "hex \"";
    for (std::byte b : data.bytes) out += digits[static_cast<int>(b) >> 4], out += digits[static_cast<int>(b) & 15];
    out += '"';
    return;
  }
  out += '[';
  for (int64_t i = 0; i < spec.numel(); ++i) {
    if (i) out += ", ";
    visit_dtype(spec.dtype, [&]<class T>() {
      T v;
      std::memcpy(&v, data.bytes.data() + i * static_cast<int64_t>(sizeof v), sizeof v);
      print_scalar(out, tailor::Scalar(v));
    });
  }
  out += ']';
}

void print_call(std::string& out, const Node& node) {
  if (node.inplace) out += "inplace ";
  out += node.op->name;
  out += '(';
  const char* separator = "";
  for (const Value& v : node.operands) {
    out += separator, separator = ", ";
    if (v.is_none())
      out += "none";
    else if (v.is_tensor())
      out += '%', out += std::to_string(v.tensor);
    else
      print_scalar(out, v.scalar);
  }
  for (size_t i = 0; i < node.attrs.size(); ++i) {
    out += separator, separator = ", ";
    out += i < node.op->attr_names.size() ? node.op->attr_names[i] : std::string_view("attr");
    out += '=';
    print_attr(out, node.attrs[i]);
  }
  out += ')';
}

}  // namespace

std::string print(const Graph& graph) {
  std::string out = "graph ";
  print_quoted(out, graph.name);
  out += " {\n";
  for (const Node& node : graph.nodes) {
    std::string line = "  ";
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (i) line += ", ";
      line += '%';
      line += std::to_string(node.outputs[i]);
      line += ": ";
      line += to_string(graph.spec(node.outputs[i]));
    }
    if (!node.outputs.empty()) line += " = ";
    switch (node.kind) {
      case NodeKind::Placeholder:
        line += "placeholder ";
        print_quoted(line, node.name);
        if (node.alias_group >= 0) line += " alias " + std::to_string(node.alias_group);
        break;
      case NodeKind::Scalar:
        line += "scalar ";
        print_quoted(line, node.name);
        line += ' ';
        print_scalar(line, node.scalar);
        break;
      case NodeKind::Constant:
        line += "constant ";
        print_constant(line, graph.spec(node.outputs[0]), *node.constant);
        break;
      case NodeKind::CallOp: print_call(line, node); break;
    }
    if (node.source) {
      if (line.size() < 60) line.resize(60, ' ');
      line += "  # " + node.source.str();
    }
    out += line += '\n';
  }
  out += "  return";
  for (size_t i = 0; i < graph.outputs.size(); ++i) out += (i ? ", %" : " %") + std::to_string(graph.outputs[i]);
  out += "\n}\n";
  return out;
}

std::string to_string(const AttrRef& attr) {
  std::string text;
  print_attr(text, attr);
  return text;
}

}  // namespace tailor::ir
