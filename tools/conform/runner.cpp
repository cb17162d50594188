#include "conform/runner.h"

#include <sstream>

#include "conform/compare.h"

namespace tailor::conform {
namespace {

/// The value of an argument at a path: [i], [i, j], [name] or [name, j].
const Value& at_path(const Arguments& arguments, const Json& path) {
  const Value& value = path.at(0).is_string() ? arguments.named.at(path.at(0)) : arguments.positional.at(path.at(0));
  return path.size() == 1 ? value : value.list.at(path.at(1));
}

std::string check_shape_only(const Json& want, const Results& got) {
  const std::vector<Json> wanted = want.is_array() ? want.get<std::vector<Json>>() : std::vector<Json>{want};
  if (got.values.size() != wanted.size()) return "gave " + std::to_string(got.values.size()) + " outputs";
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Tensor& tensor = got.values[i].tensor;
    if (!tensor.defined()) return "output is undefined";
    if (tensor.scalar_type() != dtype_from_name(wanted[i].at("dtype"))) return "dtype is " + std::string(to_string(tensor.scalar_type()));
    if (tensor.sizes() != IntArrayRef(wanted[i].at("shape").get<std::vector<int64_t>>())) return "shape differs";
  }
  return {};
}

std::string check_outputs(const Json& json, ValueReader& reader, const Results& got) {
  if (json.value("shape_only", false)) return check_shape_only(json.at("out"), got);
  const Value want = reader.read(json.at("out"));
  const Tolerance tolerance = Tolerance::of(json);
  if (!want.is_list()) return got.values.size() == 1 ? difference(got.values[0], want, tolerance) : "gave several outputs";
  return difference(Value(got.values), want, tolerance);
}

std::string check_meta(const Json& json, const Arguments& arguments, const Results& got) {
  if (!json.contains("out_meta")) return {};
  for (const Json& meta : json.at("out_meta")) {
    const size_t i = meta.at("i");
    const Tensor& output = got.values.at(i).tensor;
    if (meta.contains("stride") && output.strides() != IntArrayRef(meta.at("stride").get<std::vector<int64_t>>())) {
      std::ostringstream text;
      text << "output " << i << " has strides [";
      for (const int64_t stride : output.strides()) text << ' ' << stride;
      text << " ], expected " << meta.at("stride").dump();
      return text.str();
    }
    if (meta.contains("alias") && !output.is_alias_of(at_path(arguments, meta.at("alias")).tensor)) {
      return "output " + std::to_string(i) + " does not share the storage of argument " + meta.at("alias").dump();
    }
  }
  return {};
}

std::string check_mutations(const Json& json, ValueReader& reader, const Arguments& arguments) {
  if (!json.contains("mutates")) return {};
  for (const Json& mutation : json.at("mutates")) {
    const Value& value = at_path(arguments, mutation.at("at"));
    const Tolerance tolerance = Tolerance::of(json);
    if (auto text = difference(value, reader.read(mutation.at("to")), tolerance); !text.empty()) {
      return "argument " + mutation.at("at").dump() + " afterwards: " + text;
    }
    if (!mutation.contains("base_to")) continue;
    if (auto text = difference(value.base, reader.read(mutation.at("base_to")).tensor, tolerance); !text.empty()) {
      return "memory of argument " + mutation.at("at").dump() + " afterwards: " + text;
    }
  }
  return {};
}

std::string run_call(const Json& json, const CaseFile& file, Backend backend) {
  const std::string name = json.at("op");
  const Binding* binding = find_binding(name);
  if (binding == nullptr) throw Unsupported("no binding");
  auto executor = make_executor(
      backend,
      [&](Arguments& arguments) {
        Args args(arguments, binding->parameters);
        return binding->call(args);
      },
      json.contains("mutates") || json.value("shape_only", false));
  const bool must_fail = json.value("error", false);
  for (int repetition = 0; repetition < executor->repetitions(); ++repetition) {
    const std::string when = repetition == 0 ? "" : "call " + std::to_string(repetition + 1) + ": ";
    ValueReader inputs(file), expected(file);
    Arguments arguments;
    Results results;
    try {
      arguments = inputs.read_arguments(json);  // also fails where the case must: on more dimensions than we have
      results = executor->run(arguments);
    } catch (const Unsupported&) { throw; } catch (const InternalError& error) {
      return when + error.what();
    } catch (const std::exception& error) {
      if (!must_fail) return when + "threw: " + error.what();
      continue;
    }
    if (must_fail) return when + "should have thrown: " + json.value("error_text", "");
    for (const std::string& text :
         {check_outputs(json, expected, results), backend == Backend::Fused ? "" : check_meta(json, arguments, results),
          check_mutations(json, expected, arguments)}) {
      if (!text.empty()) return when + text;
    }
  }
  return {};
}

}  // namespace

Outcome run_case(const Json& json, const CaseFile& file, Backend backend) {
  try {
    const std::string kind = json.value("kind", "call");
    std::string text;
    if (kind == "call")
      text = run_call(json, file, backend);
    else if (kind == "program")
      text = run_program(json, file, backend);
    else if (kind == "module")
      text = run_module(json, file, backend);
    else
      throw Unsupported("cases of kind " + kind);
    return {text.empty() ? Outcome::Kind::Passed : Outcome::Kind::Failed, text};
  } catch (const Unsupported& error) { return {Outcome::Kind::Unsupported, error.what()}; } catch (const std::exception& error) {
    return {Outcome::Kind::Failed, std::string("replay: ") + error.what()};
  }
}

}  // namespace tailor::conform
