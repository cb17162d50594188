#pragma once
// Modules by name, made from the options of a case.

#include <functional>
#include <memory>

#include "conform/bindings.h"
#include "tailor/nn/module.h"

namespace tailor::conform {

struct BuiltModule {
  std::shared_ptr<nn::Module> module;
  std::function<Results(Args&)> forward;
};

/// Throws Unsupported for a module or an option that has no row.
BuiltModule build_module(const std::string& name, const Arguments& options);

}  // namespace tailor::conform
