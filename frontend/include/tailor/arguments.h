#pragma once
// How arguments and results of compiled functions are taken apart: tensors, numbers and structure, in order of traversal.
//
// Accepted: Tensor, Scalar, arithmetic types, enums, strings, std::optional, vector, array, tuple, pair, map, unordered_map,
// variant of these, and aggregates of these (by reflection). A class with constructors names its members:
//
//   struct State { State(int n); Tensor h; int step; TAILOR_FIELDS(State, h, step) };
//
// So does an aggregate with a std::array of tensors for g++ 12, whose reflection ends in an internal compiler error there.

#include <algorithm>
#include <array>
#include <boost/pfr.hpp>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "tailor/tensor.h"

/// Inside a class: the members that make up its value.
#define TAILOR_FIELDS(Class, ...)                                                                \
  template <class TailorVisitor>                                                                 \
  static void tailor_fields(TailorVisitor&& visit, auto&& self) {                                \
    [&](auto&&... members) { (visit(members), ...); }(TAILOR_DETAIL_MEMBERS(self, __VA_ARGS__)); \
  }
#define TAILOR_DETAIL_MEMBERS(self, ...) __VA_OPT__(TAILOR_DETAIL_EXPAND(TAILOR_DETAIL_EACH(self, __VA_ARGS__)))
#define TAILOR_DETAIL_PARENS ()
// Each level scans four times: enough for some 300 members.
#define TAILOR_DETAIL_EXPAND(...) TAILOR_DETAIL_EXPAND3(TAILOR_DETAIL_EXPAND3(TAILOR_DETAIL_EXPAND3(TAILOR_DETAIL_EXPAND3(__VA_ARGS__))))
#define TAILOR_DETAIL_EXPAND3(...) TAILOR_DETAIL_EXPAND2(TAILOR_DETAIL_EXPAND2(TAILOR_DETAIL_EXPAND2(TAILOR_DETAIL_EXPAND2(__VA_ARGS__))))
#define TAILOR_DETAIL_EXPAND2(...) TAILOR_DETAIL_EXPAND1(TAILOR_DETAIL_EXPAND1(TAILOR_DETAIL_EXPAND1(TAILOR_DETAIL_EXPAND1(__VA_ARGS__))))
#define TAILOR_DETAIL_EXPAND1(...) __VA_ARGS__
#define TAILOR_DETAIL_EACH(self, member, ...) self.member __VA_OPT__(, TAILOR_DETAIL_EACH_AGAIN TAILOR_DETAIL_PARENS(self, __VA_ARGS__))
#define TAILOR_DETAIL_EACH_AGAIN() TAILOR_DETAIL_EACH

namespace tailor::detail {

/// An argument list (or a result) in parts.
struct FlatValue {
  std::vector<TensorHead*> tensors;  // null for undefined
  std::vector<Scalar> scalars;       // numbers, enums, strings (packed): values
  std::vector<int64_t> structure;    // lengths, presence, alternatives, keys
  void clear() {
    tensors.clear();
    scalars.clear();
    structure.clear();
  }
};

template <class T, template <class...> class Template>
inline constexpr bool is_instance_of = false;
template <template <class...> class Template, class... Args>
inline constexpr bool is_instance_of<Template<Args...>, Template> = true;
template <class T>
inline constexpr bool is_std_array = false;
template <class T, size_t N>
inline constexpr bool is_std_array<std::array<T, N>> = true;
template <class>
inline constexpr bool always_false = false;
template <class T>
concept HasFields = requires(T& t) {
  T::tailor_fields([](auto&&) {}, t);
};

/// Calls the visitor's tensor(), scalar() and word() on the parts of `value`. A visitor with enter(name) and leave() is told where
/// it is.
template <class V, class T>
void walk(V& v, T& value) {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, Tensor>) {
    v.tensor(value);
  } else if constexpr (std::is_same_v<U, Scalar>) {
    v.scalar(value);
  } else if constexpr (std::is_arithmetic_v<U> || std::is_enum_v<U>) {
    v.number(value);
  } else if constexpr (std::is_same_v<U, std::string> || std::is_same_v<U, std::string_view>) {
    v.text(value);
  } else if constexpr (is_instance_of<U, std::optional>) {
    v.presence(value);
    if (value) walk(v, *value);
  } else if constexpr (is_instance_of<U, std::vector>) {
    v.length(value);
    for (size_t i = 0; i < value.size(); ++i) {
      v.enter(i);
      if constexpr (std::is_same_v<U, std::vector<bool>>) {
        bool bit = value[i];
        v.number(bit);
        if constexpr (!std::is_const_v<T>) value[i] = bit;
      } else {
        walk(v, value[i]);
      }
      v.leave();
    }
  } else if constexpr (is_std_array<U>) {
    for (size_t i = 0; i < value.size(); ++i) {
      v.enter(i);
      walk(v, value[i]);
      v.leave();
    }
  } else if constexpr (is_instance_of<U, std::tuple> || is_instance_of<U, std::pair>) {
    std::apply(
        [&](auto&... parts) {
          size_t i = 0;
          ((v.enter(i++), walk(v, parts), v.leave()), ...);
        },
        value);
  } else if constexpr (is_instance_of<U, std::map> || is_instance_of<U, std::unordered_map>) {
    v.keys(value);
    for (auto& [key, part] : value) {
      v.enter(key);
      walk(v, part);
      v.leave();
    }
  } else if constexpr (is_instance_of<U, std::variant>) {
    v.alternative(value);
    std::visit([&](auto& part) { walk(v, part); }, value);
  } else if constexpr (std::is_same_v<U, std::monostate>) {
  } else if constexpr (HasFields<U>) {
    size_t i = 0;
    U::tailor_fields(
        [&](auto& part) {
          v.enter(i++);
          walk(v, part);
          v.leave();
        },
        value);
  } else if constexpr (std::is_aggregate_v<U> && !std::is_union_v<U>) {
    boost::pfr::for_each_field(value, [&](auto& part, size_t i) {
      v.enter(i);
      walk(v, part);
      v.leave();
    });
  } else {
    static_assert(
        always_false<T>,
        "tailor::compile: an argument (or the result) has a type that cannot be guarded. Accepted are Tensor, Scalar, numbers, enums, "
        "std::string, optional, vector, array, tuple, pair, map, variant of these, and aggregates of these. For a class with "
        "constructors list its members inside it: TAILOR_FIELDS(ClassName, member1, member2). State that need not be an argument can be "
        "captured by the function instead.");
  }
}

inline void pack_text(FlatValue& out, std::string_view text) {
  out.scalars.emplace_back(static_cast<int64_t>(text.size()));
  for (size_t i = 0; i < text.size(); i += 8) {
    int64_t word = 0;
    std::memcpy(&word, text.data() + i, std::min<size_t>(8, text.size() - i));
    out.scalars.emplace_back(word);
  }
}

/// Takes a value apart.
struct Flattener {
  FlatValue& out;
  void tensor(const Tensor& t) { out.tensors.push_back(t.head()); }
  void scalar(const Scalar& s) { out.scalars.push_back(s); }
  template <class T>
  void number(T value) {
    if constexpr (std::is_enum_v<T>)
      out.scalars.emplace_back(static_cast<int64_t>(value));
    else
      out.scalars.emplace_back(value);
  }
  template <class T>
  void text(const T& value) {
    pack_text(out, value);
  }
  template <class T>
  void presence(const T& value) {
    out.structure.push_back(value.has_value());
  }
  template <class T>
  void length(const T& value) {
    out.structure.push_back(static_cast<int64_t>(value.size()));
  }
  template <class T>
  void alternative(const T& value) {
    out.structure.push_back(static_cast<int64_t>(value.index()));
  }
  template <class T>
  void keys(const T& value) {
    out.structure.push_back(static_cast<int64_t>(value.size()));
    FlatValue packed;
    for (const auto& [key, part] : value) {
      Flattener inner{packed};
      walk(inner, key);
    }
    for (const Scalar& s : packed.scalars) out.structure.push_back(s.bits());
  }
  template <class K>
  void enter(const K&) {}
  void leave() {}
};

/// A visitor that ignores what it is not derived for.
struct IgnoringVisitor {
  void tensor(const Tensor&) {}
  void scalar(const Scalar&) {}
  template <class T>
  void number(const T&) {}
  template <class T>
  void text(const T&) {}
  template <class T>
  void presence(const T&) {}
  template <class T>
  void length(const T&) {}
  template <class T>
  void alternative(const T&) {}
  template <class T>
  void keys(const T&) {}
  template <class K>
  void enter(const K&) {}
  void leave() {}
};

/// Which tensors take the places of which.
using Substitution = std::unordered_map<const TensorHead*, IntrusivePtr<TensorHead>>;

/// Where the tensors of a value are.
struct HandleFinder : IgnoringVisitor {
  std::vector<const Tensor*> handles;
  void tensor(const Tensor& t) { handles.push_back(&t); }
};

/// Puts other tensors into a copy of a value.
struct Substituter : IgnoringVisitor {
  const Substitution& by;
  std::vector<const Tensor*> kept = {};  // handles that are not the copy's own
  bool whole = true;                     // whether all of them are there
  explicit Substituter(const Substitution& by) : by(by) {}
  void tensor(Tensor& t) {
    const auto other = by.find(t.head());
    if (other == by.end()) return;
    if (std::find(kept.begin(), kept.end(), &t) != kept.end())
      whole = false;
    else
      t.point_at(other->second);
  }
  void tensor(const Tensor& t) { whole = whole && by.find(t.head()) == by.end(); }
};

/// Whether the copies of a value stand for themselves.
template <class T>
inline constexpr bool can_copy = std::is_copy_constructible_v<T> && !std::is_reference_v<T>;
template <class T>
inline constexpr bool can_copy<std::vector<T>> = can_copy<T>;
template <class T>
inline constexpr bool can_copy<std::optional<T>> = can_copy<T>;
template <class T, size_t N>
inline constexpr bool can_copy<std::array<T, N>> = can_copy<T>;
template <class... T>
inline constexpr bool can_copy<std::tuple<T...>> = (can_copy<T> && ...);
template <class A, class B>
inline constexpr bool can_copy<std::pair<A, B>> = can_copy<A>&& can_copy<B>;
template <class... T>
inline constexpr bool can_copy<std::variant<T...>> = (can_copy<T> && ...);
template <class K, class T, class... More>
inline constexpr bool can_copy<std::map<K, T, More...>> = can_copy<T>;
template <class K, class T, class... More>
inline constexpr bool can_copy<std::unordered_map<K, T, More...>> = can_copy<T>;

/// Whether a value may have parts that TAILOR_FIELDS does not list.
template <class T>
inline constexpr bool may_hide_parts = std::is_class_v<T> && !std::is_same_v<T, Tensor> && !std::is_same_v<T, Scalar> &&
                                       !std::is_same_v<T, std::string> && !std::is_same_v<T, std::string_view>;
template <class T>
inline constexpr bool may_hide_parts<std::vector<T>> = may_hide_parts<T>;
template <class T>
inline constexpr bool may_hide_parts<std::optional<T>> = may_hide_parts<T>;
template <class T, size_t N>
inline constexpr bool may_hide_parts<std::array<T, N>> = may_hide_parts<T>;
template <class... T>
inline constexpr bool may_hide_parts<std::tuple<T...>> = (may_hide_parts<std::decay_t<T>> || ...);
template <class A, class B>
inline constexpr bool may_hide_parts<std::pair<A, B>> = may_hide_parts<std::decay_t<A>> || may_hide_parts<std::decay_t<B>>;
template <class... T>
inline constexpr bool may_hide_parts<std::variant<T...>> = (may_hide_parts<T> || ...);
template <class K, class T, class... More>
inline constexpr bool may_hide_parts<std::map<K, T, More...>> = may_hide_parts<T>;
template <class K, class T, class... More>
inline constexpr bool may_hide_parts<std::unordered_map<K, T, More...>> = may_hide_parts<T>;

/// Makes `to` what `from` is, part by part: pointers and references to its parts stay good, as far as it has them still.
template <class T>
void give_parts(T& to, T& from) {
  [[maybe_unused]] const auto each = [&]<size_t... I>(std::index_sequence<I...>, const auto& get) {
    (give_parts(get(to, std::integral_constant<size_t, I>()), get(from, std::integral_constant<size_t, I>())), ...);
  };
  if constexpr (!std::is_move_assignable_v<T>) {  // a part of something that is: it was not assigned to
  } else if constexpr (std::is_same_v<T, Tensor>) {
    if (to.head() != from.head()) to = std::move(from);
  } else if constexpr (is_instance_of<T, std::vector> && !std::is_same_v<T, std::vector<bool>>) {
    if constexpr (std::is_move_assignable_v<typename T::value_type>) {
      const size_t both = std::min(to.size(), from.size());
      for (size_t i = 0; i < both; ++i) give_parts(to[i], from[i]);
      to.erase(to.begin() + static_cast<ptrdiff_t>(both), to.end());
      for (size_t i = both; i < from.size(); ++i) to.push_back(std::move(from[i]));
    } else {
      to = std::move(from);
    }
  } else if constexpr (is_std_array<T>) {
    for (size_t i = 0; i < to.size(); ++i) give_parts(to[i], from[i]);
  } else if constexpr (is_instance_of<T, std::tuple> || is_instance_of<T, std::pair>) {
    each(
        std::make_index_sequence<std::tuple_size_v<T>>(), [](T & whole, auto i) -> auto& { return std::get<decltype(i)::value>(whole); });
  } else if constexpr (is_instance_of<T, std::map> || is_instance_of<T, std::unordered_map>) {
    std::erase_if(to, [&](const auto& entry) { return from.find(entry.first) == from.end(); });
    for (auto& [key, part] : from) {
      const auto known = to.find(key);
      if (known != to.end())
        give_parts(known->second, part);
      else
        to.emplace(key, std::move(part));
    }
  } else if constexpr (is_instance_of<T, std::optional>) {
    if (to && from)
      give_parts(*to, *from);
    else
      to = std::move(from);
  } else if constexpr (is_instance_of<T, std::variant>) {
    if (to.index() == from.index() && !to.valueless_by_exception())
      std::visit([&]<class P>(P& part) { give_parts(part, *std::get_if<P>(&from)); }, to);
    else
      to = std::move(from);
  } else if constexpr (std::is_class_v<T> && std::is_aggregate_v<T> && !HasFields<T>) {
    each(
        std::make_index_sequence<boost::pfr::tuple_size_v<T>>(),
        [](T & whole, auto i) -> auto& { return boost::pfr::get<decltype(i)::value>(whole); });
  } else if constexpr (std::is_copy_assignable_v<T>) {  // containers keep their memory
    to = std::as_const(from);
  } else {
    to = std::move(from);
  }
}

/// What a run of scalars or structure words of a FlatValue stands for.
struct PartName {
  enum class Role : uint8_t { Number, Enumerator, Text, Presence, Length, Alternative, IntegerKeys, TextKeys, OtherKeys };
  Role role;
  std::string path;  // args[2]["w"]
  int words = 1;
};
/// The parts of a value by name, in order of traversal.
struct ArgumentNames {
  std::vector<std::string> tensors;
  std::vector<size_t> words_before;  // how many structure words come before each tensor: they decide which number it has
  std::vector<PartName> scalars, structure;
};

/// Names the parts of a value: args[1][0], args[2]["w"].
struct Namer {
  ArgumentNames& out;
  std::vector<std::string> stack;
  using Role = PartName::Role;
  std::string here() const {
    std::string all;
    for (const std::string& s : stack) all += s;
    return all;
  }
  void tensor(const Tensor&) {
    out.tensors.push_back(here());
    size_t words = 0;
    for (const PartName& part : out.structure) words += static_cast<size_t>(part.words);
    out.words_before.push_back(words);
  }
  void scalar(const Scalar&) { out.scalars.push_back({Role::Number, here()}); }
  template <class T>
  void number(const T&) {
    out.scalars.push_back({std::is_enum_v<T> ? Role::Enumerator : Role::Number, here()});
  }
  template <class T>
  void text(const T& value) {
    out.scalars.push_back({Role::Text, here(), static_cast<int>(1 + (value.size() + 7) / 8)});
  }
  template <class T>
  void presence(const T&) {
    out.structure.push_back({Role::Presence, here()});
  }
  template <class T>
  void length(const T&) {
    out.structure.push_back({Role::Length, here()});
  }
  template <class T>
  void alternative(const T&) {
    out.structure.push_back({Role::Alternative, here()});
  }
  template <class T>
  void keys(const T& value) {
    using Key = typename T::key_type;
    FlatValue flat;
    Flattener flattener{flat};
    flattener.keys(value);
    const Role role = std::is_convertible_v<Key, std::string_view> ? Role::TextKeys
                      : std::is_integral_v<Key>                    ? Role::IntegerKeys
                                                                   : Role::OtherKeys;
    out.structure.push_back({role, here(), static_cast<int>(flat.structure.size())});
  }
  template <class K>
  void enter(const K& key) {
    if constexpr (std::is_convertible_v<K, std::string>)
      stack.push_back("[\"" + std::string(key) + "\"]");
    else if constexpr (std::is_arithmetic_v<K>)
      stack.push_back("[" + std::to_string(key) + "]");
    else
      stack.push_back("[?]");
  }
  void leave() { stack.pop_back(); }
};

/// Puts a value together again from parts of a FlatValue of the same structure; the value comes with that structure
/// (containers sized, alternatives chosen), taken from the call that was recorded.
struct Restorer : IgnoringVisitor {
  Tensor* next;
  explicit Restorer(Tensor* tensors) : next(tensors) {}
  void tensor(Tensor& t) { t = std::move(*next++); }
};

}  // namespace tailor::detail
