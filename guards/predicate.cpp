#include "guards/predicate.h"

#include <algorithm>
#include <array>
#include <optional>

namespace tailor::guards {
namespace {

constexpr std::array<const char*, 6> comparisons = {"==", "!=", "<", "<=", ">", ">="};
std::string sign_of(Comparison comparison) { return comparisons.at(static_cast<size_t>(comparison)); }

bool compare(Comparison comparison, int64_t a, int64_t b) {
  switch (comparison) {
    case Comparison::Equal: return a == b;
    case Comparison::NotEqual: return a != b;
    case Comparison::Less: return a < b;
    case Comparison::LessEqual: return a <= b;
    case Comparison::Greater: return a > b;
    case Comparison::GreaterEqual: return a >= b;
  }
  return false;
}

std::optional<int64_t> apply(int64_t code, int64_t a, int64_t b) {
  int64_t r = 0;
  switch (code) {
    case SizeExpr::kAdd: return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case SizeExpr::kSubtract: return __builtin_sub_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case SizeExpr::kMultiply: return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case SizeExpr::kFloorDivide:
    case SizeExpr::kModulo: {
      if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
      const int64_t q = a / b, rest = a % b;
      const bool down = rest != 0 && (rest < 0) != (b < 0);
      return code == SizeExpr::kFloorDivide ? q - down : rest + (down ? b : 0);
    }
    case SizeExpr::kMax: return std::max(a, b);
    case SizeExpr::kMin: return std::min(a, b);
    default: return std::nullopt;
  }
}

/// Both sides; nothing where a size is missing or arithmetic fails.
std::optional<std::array<int64_t, 2>> evaluate(std::span<const int64_t> words, const CallDescriptor& call) {
  constexpr size_t kDeepest = 32;
  std::array<int64_t, kDeepest> stack;
  size_t depth = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == SizeExpr::kConstant || words[i] == SizeExpr::kSize) {
      const size_t operands = words[i] == SizeExpr::kConstant ? 1 : 2;
      if (depth == kDeepest || i + operands >= words.size()) return std::nullopt;
      if (operands == 1) {
        stack[depth++] = words[i + 1];
      } else {
        const auto tensor = static_cast<size_t>(words[i + 1]), dim = static_cast<size_t>(words[i + 2]);
        if (tensor >= call.tensors.size() || !call.tensors[tensor].spec) return std::nullopt;
        const Dims& sizes = call.tensors[tensor].spec->sizes;
        if (dim >= sizes.size()) return std::nullopt;
        stack[depth++] = sizes[dim];
      }
      i += operands;
      continue;
    }
    if (depth < 2) return std::nullopt;
    const auto value = apply(words[i], stack[depth - 2], stack[depth - 1]);
    if (!value) return std::nullopt;
    stack[--depth - 1] = *value;
  }
  if (depth != 2) return std::nullopt;
  return std::array{stack[0], stack[1]};
}

}  // namespace

bool holds_over_sizes(Comparison comparison, std::span<const int64_t> words, const CallDescriptor& call) {
  const auto sides = evaluate(words, call);
  return sides && compare(comparison, (*sides)[0], (*sides)[1]);
}

std::string predicate_path(std::span<const std::string> names) {
  std::string lines;
  bool plain = true;
  for (size_t i = 0; i < names.size(); ++i) {
    plain = plain && names[i] == "args[" + std::to_string(i) + "]";
    lines += names[i] + "\n";
  }
  return plain ? "args" : lines;
}

namespace {

std::string tensor_name(const std::string& path, int64_t tensor) {
  if (path.find('\n') == std::string::npos) return path + "[" + std::to_string(tensor) + "]";
  size_t begin = 0;
  for (int64_t i = 0; i < tensor && begin != std::string::npos; ++i) {
    begin = path.find('\n', begin);
    if (begin != std::string::npos) ++begin;
  }
  return begin >= path.size() ? "tensor " + std::to_string(tensor) : path.substr(begin, path.find('\n', begin) - begin);
}

}  // namespace

std::string predicate_text(Comparison comparison, std::span<const int64_t> words, const std::string& path) {
  std::vector<std::string> stack;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == SizeExpr::kConstant && i + 1 < words.size()) {
      stack.push_back(std::to_string(words[++i]));
    } else if (words[i] == SizeExpr::kSize && i + 2 < words.size()) {
      stack.push_back(tensor_name(path, words[i + 1]) + ".size(" + std::to_string(words[i + 2]) + ")");
      i += 2;
    } else {
      static constexpr std::array<const char*, 9> signs = {"", "", " + ", " - ", " * ", " / ", " % ", "max", "min"};
      if (stack.size() < 2 || words[i] < 0 || static_cast<size_t>(words[i]) >= signs.size()) return "malformed predicate";
      const std::string b = std::move(stack.back()), sign = signs[static_cast<size_t>(words[i])];
      stack.pop_back();
      std::string& a = stack.back();
      if (words[i] >= SizeExpr::kMax)
        a = sign + "(" + a + ", " + b + ")";
      else
        a = "(" + a + sign + b + ")";
    }
  }
  if (stack.size() != 2) return "malformed predicate";
  const auto bare = [](const std::string& s) { return s.starts_with('(') && s.ends_with(')') ? s.substr(1, s.size() - 2) : s; };
  return bare(stack[0]) + " " + sign_of(comparison) + " " + bare(stack[1]);
}

std::string predicate_values(Comparison comparison, std::span<const int64_t> words, const CallDescriptor& call) {
  const auto sides = evaluate(words, call);
  if (!sides) return "nothing that can be compared";
  // The expression on the right ends the list: where that is a number, what came is what it is compared with.
  int64_t last = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    last = words[i];
    i += last == SizeExpr::kConstant ? 1 : last == SizeExpr::kSize ? 2 : 0;
  }
  const bool number = last == SizeExpr::kConstant;
  return std::to_string((*sides)[0]) + (number ? "" : " " + sign_of(comparison) + " " + std::to_string((*sides)[1]));
}

}  // namespace tailor::guards
