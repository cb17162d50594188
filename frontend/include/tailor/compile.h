#pragma once
// tailor::compile: a function, a functor or a module, run as machine code specialised to what it is called with.
//
//   auto fast = tailor::compile([](const Tensor& x, const Tensor& w) { return relu(matmul(x, w)); });
//   Tensor y = fast(x, w);      // first call: recorded, compiled
//   Tensor z = fast(x2, w);     // same description: followed, cached code
//   std::cout << fast.stats();
//
// By default every call runs the body, but its ops only compare themselves with the recorded steps (a few nanoseconds each), so that
// nothing the body reads can go stale. `{.pure = true}` promises that the function depends on nothing but its arguments and
// registered module state; hits then skip the body.

#include <algorithm>
#include <any>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tailor/arguments.h"
#include "tailor/explain.h"
#include "tailor/guard.h"
#include "tailor/policy.h"
#include "tailor/report.h"
#include "tailor/stats.h"

namespace tailor {

namespace nn {
class Module;
}

/// When sizes of arguments become symbolic, so that one program serves many of them (docs/dynamic_shapes.md).
enum class Dynamic : uint8_t {
  Automatic,  // a size that is seen with a second value
  Always,     // all of them, from the first compile on
  Never,
};
/// What runs a recorded segment.
enum class Backend : uint8_t {
  Eager,        // its ops one by one, by the eager kernels
  Interpreter,  // the slow reference of every op
  Llvm,         // machine code
};
/// Options of compile(); names and meanings follow torch.compile and torch._dynamo.config. docs/policies.md has them all in a table.
struct CompileOptions {
  std::string name = {};  // for logs and explain(); default: the source line of the call to compile()
  Dynamic dynamic = Dynamic::Automatic;
  int cache_size_limit = 8;  // entries a function may have; at least 1
  bool fullgraph = false;    // needing a tensor's data on the host is an error that names the line
  bool pure = false;         // the promise above
  Backend backend = Backend::Llvm;
  CacheLimitPolicy at_limit = CacheLimitPolicy::EvictLeastRecentlyUsed;  // what a call does that would need another one
  bool suppress_errors = true;      // a compile failure runs op by op and is logged once; false: it throws
  bool error_on_recompile = false;  // throw instead of compiling a second time
  bool fast_math = false;           // relaxed arithmetic: results need not have eager's bits (docs/numerics.md)
  bool fold_weights = true;         // what is computed from parameters alone (folded batch norms) is computed once, while they last
  bool async = false;               // compile on another thread; calls run eagerly meanwhile
  bool wait_for_compile = false;    // a call waits for another thread that compiles what it needs; else it runs eagerly
  bool when_worth_it = false;       // compile a kind of call once it has come often enough to pay
  int worth_it_after = 0;           // so often; 0: measured, C_compile / (C_eager - C_compiled)
  StormPolicy at_storm = StormPolicy::WhenWorthIt;  // what becomes of calls once one guard has failed again and again
  int storm_limit = 0;            // recompiles for one guard past which it is a storm; 0: the larger of 8 and cache_size_limit
  GuardFilter guard_filter = {};  // which facts to rely on; what it drops is logged and counted, and the user's to answer for
  GuardRelax guard_relax = {};    // which values may vary within a range
  GuardOrder guard_order = GuardOrder::Expected;  // in which order the guards of an entry are checked
};

namespace detail {

/// One call, seen by the library without its types.
struct CallOps {
  void* frame;
  void (*body)(void* frame);  // runs user code and keeps its result
  void (*flatten_result)(void* frame, FlatValue& out);
  std::any (*copy_result)(void* frame);                                             // empty when it cannot be copied
  void (*restore_result)(void* frame, const std::any& prototype, Tensor* tensors);  // moves the tensors into a copy of the prototype
  void (*names)(void* frame, ArgumentNames& out);
  void (*lent)(void* frame, FlatValue& out);  // what the body may assign to: arguments taken by `T&`
  /// From now on the body is given copies of the arguments with other tensors in them. False: it cannot be.
  bool (*stand_in)(void* frame, const Substitution& by);
  /// The result, and what the body has `assigned` to, get the caller's tensors back; the copies go.
  void (*stand_back)(void* frame, const Substitution& by, bool assigned);
};

/// True while this thread runs the body of a compiled function: compiled functions called there are inlined.
bool inside_compiled_call() noexcept;
/// Scratch space of this thread for the parts of the arguments of one call.
FlatValue& thread_arguments() noexcept;

class CompiledFunction;
std::shared_ptr<CompiledFunction> make_compiled_function(CompileOptions options, std::source_location where);
void call_compiled(CompiledFunction& function, const CallOps& ops, FlatValue& arguments);
Stats stats_of(const CompiledFunction& function);
void reset_compiled(CompiledFunction& function);
FunctionReport report_of(const CompiledFunction& function);
Explanation explain_call(CompiledFunction& function, const std::function<void()>& call);

/// User code with its type erased down to its signature.
template <class R, class... Args>
struct Callable {
  virtual ~Callable() = default;
  virtual R call(Args... args) = 0;
};
template <class F, class R, class... Args>
struct CallableHolder final : Callable<R, Args...> {
  F f;
  explicit CallableHolder(F fn) : f(std::move(fn)) {}
  R call(Args... args) override { return std::invoke(f, std::forward<Args>(args)...); }
};

/// A parameter taken by value is known to nobody but the call.
template <class A>
void let_go([[maybe_unused]] std::remove_reference_t<A>& argument) noexcept {
  if constexpr (std::is_same_v<A, Tensor>) argument.point_at({});
}

/// A parameter that the body may assign to.
template <class A>
inline constexpr bool is_lent = std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>;

/// Whether something that the body may assign to is, or is part of, another argument as well.
template <class... Args>
bool lent_twice(const std::remove_reference_t<Args>&... arguments) {
  if constexpr (sizeof...(Args) > 1 && (is_lent<Args> || ...)) {
    struct Place {
      const void* begin;
      const void* end;
      bool lent;
    };
    std::vector<Place> places;
    const auto add = [&]<class A>(std::type_identity<A>, const auto& argument) {
      HandleFinder found;
      walk(found, argument);
      const void* const after = &argument + 1;
      places.push_back({&argument, after, is_lent<A>});
      for (const Tensor* handle : found.handles) {
        const std::less<const void*> before;
        if (before(handle, &argument) || !before(handle, after)) places.push_back({handle, handle + 1, is_lent<A>});
      }
    };
    (add(std::type_identity<Args>(), arguments), ...);
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return std::less<const void*>()(a.begin, b.begin); });
    for (size_t i = 0; i < places.size(); ++i) {
      for (size_t j = i + 1; j < places.size() && std::less<const void*>()(places[j].begin, places[i].end); ++j)
        if (places[i].lent || places[j].lent) return true;
    }
  }
  return false;
}

template <class R, class... Args>
struct Frame {
  Callable<R, Args...>* user;
  std::tuple<Args&&...> args;
  /// A copy that the body assigns to is given back.
  static constexpr bool kCanCopy =
      ((can_copy<std::decay_t<Args>> && (!is_lent<Args> || std::is_move_assignable_v<std::decay_t<Args>>)) && ...);
  using Copies = std::conditional_t<kCanCopy, std::tuple<std::decay_t<Args>...>, std::tuple<>>;
  std::optional<Copies> copies;
  using Result = std::conditional_t<std::is_void_v<R>, std::monostate, std::remove_cvref_t<R>>;
  std::optional<Result> result;

  static Frame& of(void* p) { return *static_cast<Frame*>(p); }
  static void body(void* p) {
    Frame& self = of(p);
    const auto call = [&](auto&&... a) {
      if constexpr (std::is_void_v<R>) {
        self.user->call(static_cast<Args&&>(a)...);
        self.result.emplace();
      } else {
        self.result.emplace(self.user->call(static_cast<Args&&>(a)...));
      }
    };
    if constexpr (kCanCopy) {
      if (self.copies) return std::apply(call, *self.copies);
    }
    std::apply(call, self.args);
  }
  static void flatten_result(void* p, FlatValue& out) {
    Flattener f{out};
    walk(f, std::as_const(*of(p).result));
  }
  static std::any copy_result(void* p) {
    if constexpr (std::is_copy_constructible_v<Result>) {
      Result copy = *of(p).result;
      FlatValue flat;
      Flattener f{flat};
      walk(f, std::as_const(copy));
      std::vector<Tensor> none(flat.tensors.size());
      Restorer empty{none.data()};
      walk(empty, copy);
      return std::any(std::move(copy));
    } else {
      return {};
    }
  }
  static void restore_result(void* p, const std::any& prototype, Tensor* tensors) {
    if constexpr (std::is_same_v<Result, Tensor>) {
      of(p).result.emplace(std::move(tensors[0]));
    } else if constexpr (std::is_copy_constructible_v<Result>) {
      Frame& self = of(p);
      self.result.emplace(*std::any_cast<Result>(&prototype));
      Restorer restorer{tensors};
      walk(restorer, *self.result);
    }
  }
  static void names(void* p, ArgumentNames& out) {
    Namer namer{out, {}};
    std::apply(
        [&](auto&&... a) {
          size_t i = 0;
          ((namer.stack.push_back("args[" + std::to_string(i++) + "]"), walk(namer, std::as_const(a)), namer.stack.pop_back()), ...);
        },
        of(p).args);
  }
  static void lent(void* p, FlatValue& out) {
    [[maybe_unused]] Flattener flattener{out};
    [[maybe_unused]] const auto one = [&]<class A>(std::type_identity<A>, const std::remove_reference_t<A>& a) {
      if constexpr (is_lent<A>) walk(flattener, a);
    };
    const auto all = [&](auto&&... a) { (one(std::type_identity<Args>(), std::as_const(a)), ...); };
    if constexpr (kCanCopy) {
      if (of(p).copies) return std::apply(all, *of(p).copies);
    }
    std::apply(all, of(p).args);
  }
  static bool stand_in([[maybe_unused]] void* p, [[maybe_unused]] const Substitution& by) {
    if constexpr (kCanCopy) {
      Frame& self = of(p);
      // What a reference to a base class refers to would be cut off.
      [[maybe_unused]] const auto is_whole = []<class T>(const T& a) {
        if constexpr (std::is_polymorphic_v<T>)
          return typeid(a) == typeid(T);
        else
          return true;
      };
      if (!std::apply([&](auto&&... a) { return (is_whole(std::as_const(a)) && ...); }, self.args)) return false;
      if (std::apply([](const auto&... a) { return lent_twice<Args...>(a...); }, self.args)) return false;
      std::apply([&](auto&&... a) { self.copies.emplace(std::as_const(a)...); }, self.args);
      HandleFinder callers;
      std::apply([&](auto&&... a) { (walk(callers, std::as_const(a)), ...); }, self.args);
      Substituter substituter(by);
      substituter.kept = std::move(callers.handles);
      std::apply([&](auto&... a) { (walk(substituter, a), ...); }, *self.copies);
      if (!substituter.whole) self.copies.reset();
      return substituter.whole;
    } else {
      return false;
    }
  }
  static void stand_back(void* p, const Substitution& by, [[maybe_unused]] bool assigned) {
    Frame& self = of(p);
    Substituter substituter(by);
    if (self.result) walk(substituter, *self.result);
    if constexpr (kCanCopy) {
      [[maybe_unused]] const auto give = [&]<class A>(std::type_identity<A>, auto& to, auto& from) {
        if constexpr (is_lent<A>) {
          if (!assigned && !may_hide_parts<std::remove_reference_t<A>>) return;  // what is hidden may have changed unseen
          walk(substituter, from);
          give_parts(to, from);
        }
      };
      if (self.copies) {
        [&]<size_t... I>(std::index_sequence<I...>) {
          (give(std::type_identity<Args>(), std::get<I>(self.args), std::get<I>(*self.copies)), ...);
        }
        (std::index_sequence_for<Args...>());
      }
      self.copies.reset();
    }
  }
};

}  // namespace detail

template <class Signature>
class Compiled;

/// A compiled function: a handle that shares its functor and entries with its copies. Calls are thread-safe.
template <class R, class... Args>
class Compiled<R(Args...)> {
 public:
  Compiled() = default;
  Compiled(std::shared_ptr<detail::Callable<R, Args...>> user, std::shared_ptr<detail::CompiledFunction> function)
      : user_(std::move(user)), function_(std::move(function)) {}

  /// A result that the function returns by reference is a value.
  std::remove_cvref_t<R> operator()(Args... args) const {
    if (detail::inside_compiled_call()) return user_->call(std::forward<Args>(args)...);
    detail::FlatValue& flat = detail::thread_arguments();
    flat.clear();
    [[maybe_unused]] detail::Flattener flattener{flat};
    (detail::walk(flattener, std::as_const(args)), ...);
    using Frame = detail::Frame<R, Args...>;
    Frame frame{user_.get(), std::tuple<Args&&...>(std::forward<Args>(args)...), {}, {}};
    static constexpr auto ops = [](Frame* f) {
      return detail::CallOps{f,           Frame::body,     Frame::flatten_result, Frame::copy_result, Frame::restore_result, Frame::names,
                             Frame::lent, Frame::stand_in, Frame::stand_back};
    };
    detail::call_compiled(*function_, ops(&frame), flat);
    (detail::let_go<Args>(args), ...);
    if constexpr (!std::is_void_v<R>) return std::move(*frame.result);
  }

  /// Counters since compile() or reset().
  Stats stats() const { return detail::stats_of(*function_); }
  /// Everything there is to see of it: counters, entries with their guards and graphs.
  FunctionReport report() const { return detail::report_of(*function_); }
  /// Drops every entry; the next call is a first call again. Calls under way finish undisturbed.
  void reset() const { detail::reset_compiled(*function_); }
  explicit operator bool() const { return static_cast<bool>(function_); }
  /// For the library.
  detail::CompiledFunction& function() const { return *function_; }

 private:
  std::shared_ptr<detail::Callable<R, Args...>> user_;
  std::shared_ptr<detail::CompiledFunction> function_;
};

namespace detail {

template <class T>
struct MemberSignature;
template <class C, class R, class... A>
struct MemberSignature<R (C::*)(A...)> {
  using type = R(A...);
};
template <class C, class R, class... A>
struct MemberSignature<R (C::*)(A...) const> {
  using type = R(A...);
};
template <class C, class R, class... A>
struct MemberSignature<R (C::*)(A...) noexcept> {
  using type = R(A...);
};
template <class C, class R, class... A>
struct MemberSignature<R (C::*)(A...) const noexcept> {
  using type = R(A...);
};
template <class T>
struct FunctionSignature : MemberSignature<decltype(&T::operator())> {};
template <class R, class... A>
struct FunctionSignature<R (*)(A...)> {
  using type = R(A...);
};
template <class R, class... A>
struct FunctionSignature<R (*)(A...) noexcept> {
  using type = R(A...);
};

template <class T>
concept OneSignature = std::is_function_v<std::remove_pointer_t<T>> || requires {
  &T::operator();
};

template <class F, class R, class... A>
Compiled<R(A...)> compile_callable(F f, std::type_identity<R(A...)>, CompileOptions options, std::source_location where) {
  return {std::make_shared<CallableHolder<F, R, A...>>(std::move(f)), make_compiled_function(std::move(options), where)};
}

template <class M>
concept SharedModule = requires(const M& m) {
  requires std::is_base_of_v<nn::Module, std::remove_cvref_t<decltype(*m)>>;
  &std::remove_cvref_t<decltype(*m)>::forward;
};
template <class M, class Signature>
struct ForwardCall;
template <class M, class R, class... A>
struct ForwardCall<M, R(A...)> {
  M module;
  R operator()(A... args) { return module->forward(std::forward<A>(args)...); }
};

}  // namespace detail

/// Compiles a function pointer, a functor or lambda (also move-only and mutable ones; `std::ref` of one that the caller keeps), a
/// `std::shared_ptr` to a module or a module holder (held), or an lvalue module (the caller keeps it alive). The result has the function's
/// own signature, but for results by reference, which are values. Nothing is compiled before the first call. Types that cannot be guarded
/// are a compile-time error that says what to do. Throws Error for options out of range. A call throws what `fn` throws, and Error where an
/// option asks for it (`fullgraph`, `error_on_recompile`, a policy `Throw`, a failed compile without `suppress_errors`).
template <class F>
auto compile(F&& fn, CompileOptions options = {}, std::source_location where = std::source_location::current()) {
  using T = std::decay_t<F>;
  if constexpr (std::is_base_of_v<nn::Module, T>) {
    static_assert(std::is_lvalue_reference_v<F>, "tailor::compile: a module is compiled as an lvalue, a shared_ptr or a module holder");
    using Signature = typename detail::MemberSignature<decltype(&T::forward)>::type;
    return detail::compile_callable(detail::ForwardCall<T*, Signature>{&fn}, std::type_identity<Signature>{}, std::move(options), where);
  } else if constexpr (detail::SharedModule<T>) {
    using M = std::remove_cvref_t<decltype(*fn)>;
    using Signature = typename detail::MemberSignature<decltype(&M::forward)>::type;
    return detail::compile_callable(detail::ForwardCall<T, Signature>{std::forward<F>(fn)}, std::type_identity<Signature>{},
                                    std::move(options), where);
  } else {
    using Function = std::decay_t<std::unwrap_reference_t<T>>;
    static_assert(detail::OneSignature<Function>,
                  "tailor::compile: the types of the arguments are not known: a lambda with auto parameters, a functor with several call "
                  "operators, or a pointer to a member function. Say them in a lambda: "
                  "tailor::compile([f](const tailor::Tensor& x) { return f(x); })");
    if constexpr (detail::OneSignature<Function>) {
      using Signature = typename detail::FunctionSignature<Function>::type;
      return detail::compile_callable<T>(std::forward<F>(fn), std::type_identity<Signature>{}, std::move(options), where);
    }
  }
}

/// `explain(f)(args...)` makes the call and tells what it did: the graphs, the guards with source lines, and why entries did not match.
template <class R, class... Args>
auto explain(const Compiled<R(Args...)>& f) {
  return [f](Args... args) { return detail::explain_call(f.function(), [&] { (void)f(std::forward<Args>(args)...); }); };
}

}  // namespace tailor
