#pragma once
// What invocations need besides a tree, for tests that drive them without a compiled function.

#include <functional>
#include <string>
#include <utility>

#include "frontend/follow/invocation.h"

namespace tailor::testing {

struct PlainHost final : follow::EntryHost {
  std::function<void()> between;        // called while a segment is being put together
  std::function<void()> at_difference;  // called when a call leaves the recorded paths
  int compiled = 0;

  std::string function_name() const override {
    if (between) between();
    return "f";
  }
  jit::CompileOptions compile_options() const override {
    jit::CompileOptions options;
    options.backend = jit::Backend::Interpreter;
    return options;
  }
  bool fullgraph() const override { return false; }
  bool suppress_errors() const override { return false; }
  bool may_compile() override { return true; }
  bool compile_later(std::function<void()>) override { return false; }
  bool wait_for_compile() const override { return false; }
  bool dynamic() const override { return true; }
  bool all_dynamic() const override { return false; }
  void on_variant_compiled(const follow::Variant&, bool) override { ++compiled; }
  void on_op_by_op(std::string_view) override {}
  void on_escape(std::source_location, std::string_view) override {}
  void on_difference(const follow::Difference&) override {
    if (at_difference) at_difference();
  }
  void on_compile_failure(std::string_view) override {}
  void on_symbolic_compiled(const follow::SymbolicForm&) override {}
  void on_symbolic_given_up(std::string_view) override {}
  std::string argument_path(int argument) const override { return "args[" + std::to_string(argument) + "]"; }
};

}  // namespace tailor::testing
