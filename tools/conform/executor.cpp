#include "conform/executor.h"

#include "conform/compare.h"

#include "tailor/compile.h"
#include "tailor/ops/creation.h"
#include "tailor/ops/pointwise.h"

namespace tailor::conform {
namespace {

class EagerExecutor final : public Executor {
 public:
  explicit EagerExecutor(Body body) : body_(std::move(body)) {}
  Results run(Arguments& arguments) override { return body_(arguments); }

 private:
  Body body_;
};

/// The body as a compiled function of the tensors among its arguments. The first call records, later ones follow.
class CompiledExecutor : public Executor {
 public:
  CompiledExecutor(Body body, tailor::Backend backend) : body_(std::move(body)) {
    CompileOptions options;
    options.backend = backend;
    options.suppress_errors = false;
    compiled_ = compile([this](std::vector<Tensor> tensors) { return call(std::move(tensors)); }, options);
  }

  Results run(Arguments& arguments) override {
    arguments_ = &arguments;
    std::vector<Tensor> tensors = further_arguments();
    for_each_tensor(arguments, [&](Value& value) { tensors.push_back(value.tensor); });
    const std::vector<Tensor> outputs = compiled_(std::move(tensors));
    size_t next = 0;
    for (Value& value : results_.values) for_each_tensor(value, [&](Value& leaf) { leaf.tensor = outputs.at(next++); });
    check_further_outputs(outputs, next);
    return std::move(results_);
  }
  int repetitions() const override { return 3; }

 protected:
  virtual std::vector<Tensor> further_arguments() { return {}; }
  /// Of the outputs, those from number `first` on are no results.
  virtual void check_further_outputs(const std::vector<Tensor>&, size_t) {}
  virtual std::vector<Tensor> call(std::vector<Tensor> tensors) {
    size_t next = 0;
    for_each_tensor(*arguments_, [&](Value& value) { value.tensor = tensors[next++]; });
    return outputs_of(body_(*arguments_));
  }
  std::vector<Tensor> outputs_of(Results results) {
    results_ = std::move(results);
    std::vector<Tensor> outputs;
    for (Value& value : results_.values) for_each_tensor(value, [&](Value& leaf) { outputs.push_back(std::move(leaf.tensor)); });
    return outputs;
  }

  Body body_;
  Arguments* arguments_ = nullptr;

 private:
  Compiled<std::vector<Tensor>(std::vector<Tensor>)> compiled_;
  Results results_;
};

class FusedExecutor final : public CompiledExecutor {
 public:
  FusedExecutor(Body body, bool writes) : CompiledExecutor(std::move(body), tailor::Backend::Llvm), writes_(writes) {}

  Results run(Arguments& arguments) override {
    if (++runs_ == 2 && !writes_) run_with_other_numbers(arguments);
    return CompiledExecutor::run(arguments);
  }
  int repetitions() const override { return 4; }

 protected:
  std::vector<Tensor> further_arguments() override { return {ones({}, kBool)}; }
  std::vector<Tensor> call(std::vector<Tensor> tensors) override {
    const Tensor& yes = tensors[0];
    std::vector<Tensor> originals;
    for_each_tensor(*arguments_, [&](Value& value) {
      originals.push_back(value.tensor);
      const Tensor& argument = tensors[originals.size()];
      value.tensor = writes_ ? argument : passed_through(argument, yes);
    });
    Results results = body_(*arguments_);
    std::vector<Tensor> turned;
    for (Value& value : results.values) {
      for_each_tensor(value, [&](Value& leaf) {
        if (leaf.tensor.defined()) turned.push_back(dims_reversed(passed_through(dims_reversed(leaf.tensor), yes)));
        leaf.tensor = passed_through(leaf.tensor, yes);
      });
    }
    size_t next = 0;
    for_each_tensor(*arguments_, [&](Value& value) { value.tensor = originals[next++]; });
    std::vector<Tensor> outputs = outputs_of(std::move(results));
    outputs.insert(outputs.end(), turned.begin(), turned.end());
    return outputs;
  }
  /// Every result has come a second time, with its dims in another order on the way.
  void check_further_outputs(const std::vector<Tensor>& outputs, size_t first) override {
    Tolerance same;
    same.exact = true;
    size_t next = first;
    for (size_t i = 0; i < first; ++i) {
      if (!outputs[i].defined()) continue;
      const std::string text = difference(outputs.at(next++), outputs[i], same);
      internal_check(text.empty(), "read in another order: ", text);
    }
  }

 private:
  static Tensor dims_reversed(const Tensor& t) {
    std::vector<int64_t> dims;
    for (int64_t d = t.dim(); d-- > 0;) dims.push_back(d);
    return t.permute(dims);
  }

  /// The same elements, by an op that no pass can see through.
  static Tensor passed_through(const Tensor& t, const Tensor& yes) { return t.defined() ? where(yes, t, zeros({}, t.scalar_type())) : t; }

  static void change_numbers(Value& value) {
    if (value.kind == Value::Kind::Double) value.number = value.number * 1.5 + 0.25;
    if (value.kind == Value::Kind::Int) ++value.integer;
    for (Value& item : value.list) change_numbers(item);
  }

  void run_with_other_numbers(const Arguments& arguments) {
    Arguments others = arguments;
    for (Value& value : others.positional) change_numbers(value);
    for (auto& [name, value] : others.named) change_numbers(value);
    for_each_tensor(others, [](Value& value) { value.tensor = value.tensor.clone(); });
    Arguments same = others;
    for_each_tensor(same, [](Value& value) { value.tensor = value.tensor.clone(); });
    Results want, got;
    std::string error;
    try {
      manual_seed(0);
      want = body_(others);
    } catch (const InternalError&) { throw; } catch (const std::exception& e) {
      error = e.what();
    }  // it may well be one with these numbers
    try {
      manual_seed(0);
      got = CompiledExecutor::run(same);
    } catch (const InternalError&) { throw; } catch (const std::exception& e) {
      internal_check(!error.empty(), "with other numbers: threw ", e.what());
      return;
    }
    internal_check(error.empty(), "with other numbers: should have thrown ", error);
    Tolerance tolerance;
    tolerance.exact = false;
    tolerance.atol = tolerance.rtol = 1e-4;
    const std::string text = difference(Value(got.values), Value(want.values), tolerance);
    internal_check(text.empty(), "with other numbers: ", text);
  }

  bool writes_;
  int runs_ = 0;
};

}  // namespace

std::unique_ptr<Executor> make_executor(Backend backend, Executor::Body body, bool writes) {
  switch (backend) {
    case Backend::Eager: return std::make_unique<EagerExecutor>(std::move(body));
    case Backend::Interpreter: return std::make_unique<CompiledExecutor>(std::move(body), tailor::Backend::Interpreter);
    case Backend::Compiled: return std::make_unique<CompiledExecutor>(std::move(body), tailor::Backend::Llvm);
    case Backend::Fused: return std::make_unique<FusedExecutor>(std::move(body), writes);
  }
  throw Unsupported("unknown backend");
}

}  // namespace tailor::conform
