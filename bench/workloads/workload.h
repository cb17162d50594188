#pragma once
// A workload: something real programs compute, of one size, runnable eagerly, compiled and compiled as pure. The set is that of other
// systems' comparisons, name by name, so that results can be laid side by side.

#include <tailor/tailor.h>

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>

namespace tailor::bench {

/// A workload with its data, ready to be called again and again.
struct Prepared {
  std::function<void()> eager, compiled, skipped;
  std::function<Stats()> stats;                          // of the compiled function
  std::function<Explanation()> explain;                  // makes a call of the compiled function and tells about it
  std::function<std::vector<FunctionReport>()> reports;  // of the compiled and the skipped one
};

struct Workload {
  std::string_view name, summary;
  Prepared (*prepare)();
};

std::span<const Workload> workloads();

/// Many calls with arguments of changing shapes.
struct PreparedSequence {
  size_t calls = 0;
  std::function<void(size_t call)> eager, compiled;
  std::function<Stats()> stats;            // of the compiled function
  std::function<FunctionReport()> report;  // likewise
};

struct Sequence {
  std::string_view name, summary;
  PreparedSequence (*prepare)();
};

std::span<const Sequence> sequences();

namespace detail {

template <class Body, class Compiled, class... Args>
Prepared prepared(Body body, Compiled compiled, Compiled skipped, Args... args) {
  const auto arguments = std::make_shared<std::tuple<Args...>>(std::move(args)...);
  const auto calling = [arguments](auto f) {
    return [f, arguments] {
      NoGradGuard no_grad;
      (void)std::apply(f, *arguments);
    };
  };
  Prepared result;
  result.eager = calling(std::move(body));
  result.compiled = calling(compiled);
  result.skipped = calling(skipped);
  result.stats = [compiled] { return compiled.stats(); };
  result.explain = [compiled, arguments] {
    NoGradGuard no_grad;
    return std::apply(tailor::explain(compiled), *arguments);
  };
  result.reports = [compiled, skipped] { return std::vector<FunctionReport>{compiled.report(), skipped.report()}; };
  return result;
}

}  // namespace detail

/// A workload from a function and the arguments of its calls.
template <class F, class... Args>
Prepared prepare(F f, Args... args) {
  return detail::prepared(f, compile(f, {.name = "compiled"}), compile(f, {.name = "skipped", .pure = true}), std::move(args)...);
}

/// A workload from a module, in inference.
template <class M, class... Args>
Prepared prepare_module(std::shared_ptr<M> net, Args... args) {
  net->eval();
  return detail::prepared([net](const Args&... a) { return net->forward(a...); }, compile(net, {.name = "compiled"}),
                          compile(net, {.name = "skipped", .pure = true}), std::move(args)...);
}

}  // namespace tailor::bench
