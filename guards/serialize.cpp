#include "guards/serialize.h"

#include <iomanip>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

namespace tailor::guards {
namespace {

std::optional<GuardKind> kind_named(const std::string& name) {
  for (int k = 0; k < kGuardKinds; ++k) {
    if (to_string(static_cast<GuardKind>(k)) == name) return static_cast<GuardKind>(k);
  }
  return std::nullopt;
}

/// Text that came from user code need not be UTF-8: bytes that are not ASCII are written as \xHH.
std::string quoted(const std::string& text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string all = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      all += '\\';
      all += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      all += "\\x";
      all += digits[byte >> 4];
      all += digits[byte & 15];
    } else {
      all += c;
    }
  }
  return all + '"';
}

/// Reads what quoted() wrote, from the opening quote on; nothing when it is cut off.
std::optional<std::string> unquoted(std::istream& in) {
  std::string all;
  char c = 0;
  if (!(in >> c) || c != '"') return std::nullopt;
  while (in.get(c) && c != '"') {
    if (c != '\\') {
      all += c;
    } else if (in.get(c) && c == 'x') {
      char hex[3] = {};
      if (!in.get(hex[0]) || !in.get(hex[1]) || !std::isxdigit(hex[0]) || !std::isxdigit(hex[1])) return std::nullopt;
      all += static_cast<char>(std::stoi(hex, nullptr, 16));
    } else {
      all += c;
    }
  }
  return c == '"' ? std::optional(all) : std::nullopt;
}

std::optional<Guard> parse(const std::string& line) {
  const size_t colon = line.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto kind = kind_named(line.substr(0, colon));
  if (!kind) return std::nullopt;
  Guard g;
  g.kind = *kind;
  std::istringstream in(line.substr(colon + 1));
  const auto path = unquoted(in);
  if (!path) return std::nullopt;
  g.path = *path;
  std::string field;
  while (in >> field && field[0] != '#') {
    if (field == "index") {
      in >> g.index;
    } else if (field == "dim") {
      in >> g.dim;
    } else if (field == "expected") {
      in >> g.expected;
    } else if (field == "most") {
      in >> g.most;
    } else if (field == "words") {
      size_t count = 0;
      in >> count;
      for (int64_t word = 0; count > 0 && in >> word; --count) g.words.push_back(word);
      if (count > 0) return std::nullopt;
    } else if (field == "at") {
      const auto source = unquoted(in);
      if (!source) return std::nullopt;
      g.source = *source;
    } else {
      return std::nullopt;
    }
    if (!in) return std::nullopt;
  }
  return g;
}

}  // namespace

std::string to_text(std::span<const Guard> guards) {
  std::ostringstream out;
  for (const Guard& g : guards) {
    out << to_string(g.kind) << ": " << quoted(g.path) << " index " << g.index << " dim " << g.dim << " expected " << g.expected;
    if (g.most) out << " most " << g.most;
    if (!g.words.empty()) {
      out << " words " << g.words.size();
      for (int64_t word : g.words) out << ' ' << word;
    }
    if (!g.source.empty()) out << " at " << quoted(g.source);
    const std::string condition = quoted(g.condition());
    out << "  # " << std::string_view(condition).substr(1, condition.size() - 2) << "\n";
  }
  return out.str();
}

std::vector<Guard> from_text(const std::string& text) {
  std::vector<Guard> guards;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.find_first_not_of(' ') == std::string::npos) continue;
    const auto g = parse(line);
    check(g.has_value(), "guards: cannot read `", line, "`");
    guards.push_back(*g);
  }
  return guards;
}

std::string to_json(std::span<const Guard> guards) {
  nlohmann::json all = nlohmann::json::array();
  for (const Guard& g : guards) {
    nlohmann::json j = {{"kind", to_string(g.kind)}, {"path", g.path}, {"condition", g.condition()},
                        {"index", g.index},          {"dim", g.dim},   {"expected", g.expected}};
    if (g.most) j["most"] = g.most;
    if (!g.words.empty()) j["words"] = g.words;
    if (!g.source.empty()) j["source"] = g.source;
    all.push_back(std::move(j));
  }
  // Bytes that are no UTF-8 cannot stand in JSON.
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<Guard> from_json(const std::string& json) {
  std::vector<Guard> guards;
  try {
    for (const nlohmann::json& j : nlohmann::json::parse(json)) {
      const auto name = j.at("kind").get<std::string>();
      const auto kind = kind_named(name);
      check(kind.has_value(), "guards: no kind of guard is called \"", name, "\"");
      guards.push_back({*kind, j.at("index"), j.at("dim"), j.at("expected"), j.value("most", int64_t{0}),
                        j.value("words", std::vector<int64_t>{}), j.at("path"), j.value("source", std::string())});
    }
  } catch (const nlohmann::json::exception& e) { detail::raise<Error>("guards: cannot read the JSON: ", e.what()); }
  return guards;
}

}  // namespace tailor::guards
