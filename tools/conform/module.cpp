// Cases of nn modules: options, state, forward, and the state afterwards.

#include "conform/compare.h"
#include "conform/modules.h"
#include "conform/runner.h"

namespace tailor::conform {
namespace {

/// Writes the state of the case into the module's parameters and buffers, and makes them of its dtype.
void load_state(nn::Module& module, const Json& state, ValueReader& reader) {
  auto parameters = module.named_parameters();
  auto buffers = module.named_buffers();
  for (const auto& [name, json] : state.items()) {
    const Tensor value = reader.read(json).tensor;
    if (Tensor* tensor = parameters.find(name) ? parameters.find(name) : buffers.find(name); tensor != nullptr) {
      tensor->copy_(value);
    } else {
      throw Error("the module has no parameter or buffer " + name);
    }
  }
}

std::string check_state(nn::Module& module, const Json& state, ValueReader& reader, const Tolerance& tolerance) {
  auto buffers = module.named_buffers();
  for (const auto& [name, json] : state.items()) {
    const Tensor* tensor = buffers.find(name);
    if (tensor == nullptr) return "no buffer " + name;
    if (auto text = difference(*tensor, reader.read(json).tensor, tolerance); !text.empty())
      return "buffer " + name + " afterwards: " + text;
  }
  return {};
}

Arguments options_of(const Json& json, ValueReader& reader) {
  Arguments options;
  if (json.contains("options")) {
    for (const auto& [name, value] : json.at("options").items()) options.named.emplace(name, reader.read(value));
  }
  return options;
}

}  // namespace

std::string run_module(const Json& json, const CaseFile& file, Backend backend) {
  NoGradGuard no_grad;
  ValueReader fixed(file);
  const Arguments options = options_of(json, fixed);
  const BuiltModule built = build_module(json.at("module"), options);
  built.module->to(dtype_from_name(json.at("dtype")));
  built.module->train(json.at("train").get<bool>());
  auto executor = make_executor(
      backend,
      [&](Arguments& arguments) {
        Args args(arguments, "input target");
        return built.forward(args);
      },
      true);
  for (int repetition = 0; repetition < executor->repetitions(); ++repetition) {
    const std::string when = repetition == 0 ? "" : "call " + std::to_string(repetition + 1) + ": ";
    ValueReader reader(file), expected(file);
    if (json.contains("state")) load_state(*built.module, json.at("state"), reader);
    Arguments arguments = reader.read_arguments(json);
    Results results;
    try {
      results = executor->run(arguments);
    } catch (const Unsupported&) { throw; } catch (const std::exception& error) {
      return when + "threw: " + error.what();
    }
    const Value want = expected.read(json.at("out"));
    const Tolerance tolerance = Tolerance::of(json);
    const Value got = want.is_list() ? Value(results.values) : results.values.at(0);
    if (auto text = difference(got, want, tolerance); !text.empty()) return when + text;
    if (!json.contains("state_after")) continue;
    if (auto text = check_state(*built.module, json.at("state_after"), expected, tolerance); !text.empty()) return when + text;
  }
  return {};
}

}  // namespace tailor::conform
