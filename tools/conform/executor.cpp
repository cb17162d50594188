#include "conform/executor.h"

#include "tailor/compile.h"

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
class CompiledExecutor final : public Executor {
 public:
  CompiledExecutor(Body body, tailor::Backend backend) : body_(std::move(body)) {
    CompileOptions options;
    options.backend = backend;
    options.suppress_errors = false;
    compiled_ = compile([this](std::vector<Tensor> tensors) { return call(std::move(tensors)); }, options);
  }

  Results run(Arguments& arguments) override {
    arguments_ = &arguments;
    std::vector<Tensor> tensors;
    for_each_tensor(arguments, [&](Value& value) { tensors.push_back(value.tensor); });
    const std::vector<Tensor> outputs = compiled_(std::move(tensors));
    size_t next = 0;
    for (Value& value : results_.values) for_each_tensor(value, [&](Value& leaf) { leaf.tensor = outputs.at(next++); });
    return std::move(results_);
  }
  int repetitions() const override { return 3; }

 private:
  std::vector<Tensor> call(std::vector<Tensor> tensors) {
    size_t next = 0;
    for_each_tensor(*arguments_, [&](Value& value) { value.tensor = tensors[next++]; });
    results_ = body_(*arguments_);
    std::vector<Tensor> outputs;
    for (Value& value : results_.values) for_each_tensor(value, [&](Value& leaf) { outputs.push_back(std::move(leaf.tensor)); });
    return outputs;
  }

  Body body_;
  Compiled<std::vector<Tensor>(std::vector<Tensor>)> compiled_;
  Arguments* arguments_ = nullptr;
  Results results_;
};

}  // namespace

std::unique_ptr<Executor> make_executor(Backend backend, Executor::Body body) {
  switch (backend) {
    case Backend::Eager: return std::make_unique<EagerExecutor>(std::move(body));
    case Backend::Interpreter: return std::make_unique<CompiledExecutor>(std::move(body), tailor::Backend::Interpreter);
    case Backend::Compiled: return std::make_unique<CompiledExecutor>(std::move(body), tailor::Backend::Llvm);
  }
  throw Unsupported("unknown backend");
}

}  // namespace tailor::conform
