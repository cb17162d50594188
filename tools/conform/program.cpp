// Programs: several steps over the values of earlier ones.

#include "conform/compare.h"
#include "conform/runner.h"

namespace tailor::conform {
namespace {

using Values = std::vector<std::vector<Value>>;  // of each input and step: its outputs

void resolve(Value& value, const Values& values) {
  if (value.kind == Value::Kind::Reference) {
    const auto& outputs = values.at(static_cast<size_t>(value.integer));
    value = Value(outputs.at(static_cast<size_t>(value.parts[0].value_or(0))));
    return;
  }
  for (Value& item : value.list) resolve(item, values);
}

Results run_steps(const Json& json, const CaseFile& file, Arguments& inputs) {
  Values values;
  for (const Value& input : inputs.positional) values.push_back({input});
  ValueReader reader(file);
  for (const Json& step : json.at("steps")) {
    const Binding* binding = find_binding(step.at("op").get<std::string>());
    if (binding == nullptr) throw Unsupported("no binding for " + step.at("op").get<std::string>());
    Arguments arguments = reader.read_arguments(step);
    for (Value& value : arguments.positional) resolve(value, values);
    for (auto& [name, value] : arguments.named) resolve(value, values);
    Args args(arguments, binding->parameters);
    values.push_back(binding->call(args).values);
  }
  Results results;
  for (const Json& output : json.at("outputs")) {
    Value value = reader.read(Json{{"v", output}});
    resolve(value, values);
    results.values.push_back(std::move(value));
  }
  return results;
}

}  // namespace

std::string run_program(const Json& json, const CaseFile& file, Backend backend) {
  auto executor = make_executor(
      backend, [&](Arguments& inputs) { return run_steps(json, file, inputs); }, false);
  for (int repetition = 0; repetition < executor->repetitions(); ++repetition) {
    ValueReader reader(file), expected(file);
    Arguments inputs;
    for (const Json& input : json.at("inputs")) inputs.positional.push_back(reader.read(input));
    const std::string when = repetition == 0 ? "" : "call " + std::to_string(repetition + 1) + ": ";
    Results results;
    try {
      results = executor->run(inputs);
    } catch (const Unsupported&) { throw; } catch (const std::exception& error) {
      return when + "threw: " + error.what();
    }
    if (auto text = difference(Value(results.values), expected.read(json.at("out")), Tolerance::of(json)); !text.empty())
      return when + text;
  }
  return {};
}

}  // namespace tailor::conform
