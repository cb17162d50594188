#pragma once
// Containers of modules.
//
//   nn::Sequential net(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 2));
//   Tensor y = net->forward(x);

#include "tailor/nn/module.h"

namespace tailor::nn {

/// A module of any type whose forward takes one tensor and gives one.
class AnyModule {
 public:
  AnyModule() = default;
  template <class M>
  requires std::is_base_of_v<Module, M>
  explicit AnyModule(const std::shared_ptr<M>& module) : module_(module) {
    M* raw = module.get();
    if constexpr (requires(M & m, const Tensor& t, Where w) {
                    { m.forward(t, w) } -> std::convertible_to<Tensor>;
                  })
      forward_ = [raw](const Tensor& x, Where where) -> Tensor { return raw->forward(x, where); };
    else {
      static_assert(
          requires(M & m, const Tensor& t) {
            { m.forward(t) } -> std::convertible_to<Tensor>;
          },
          "a module in a Sequential needs `Tensor forward(Tensor)`");
      forward_ = [raw](const Tensor& x, Where) -> Tensor { return raw->forward(x); };
    }
  }
  template <class M>
  explicit AnyModule(const ModuleHolder<M>& holder) : AnyModule(holder.ptr()) {}
  template <class M>
  requires(std::is_base_of_v<Module, M>&& std::copy_constructible<M>) explicit AnyModule(const M& module)
      : AnyModule(std::make_shared<M>(module)) {}
  Tensor forward(const Tensor& input, Where where = Where::current()) { return forward_(input, where); }
  std::shared_ptr<Module> ptr() const { return module_; }
  template <class M>
  M& get() const {
    M* found = dynamic_cast<M*>(module_.get());
    check(found != nullptr, "Attempted to cast module to another type than it has: ", module_ ? module_->name() : "none");
    return *found;
  }
  bool is_empty() const { return module_ == nullptr; }

 private:
  std::shared_ptr<Module> module_;
  std::function<Tensor(const Tensor&, Where)> forward_;
};

/// {"name", module}, for named modules of a Sequential.
class NamedAnyModule {
 public:
  template <class M>
  NamedAnyModule(std::string name, M&& module) : name_(std::move(name)), module_(std::forward<M>(module)) {}
  const std::string& name() const { return name_; }
  const AnyModule& module() const { return module_; }

 private:
  std::string name_;
  AnyModule module_;
};

/// Calls modules one after the other.
class SequentialImpl : public Cloneable<SequentialImpl> {
 public:
  SequentialImpl() = default;
  SequentialImpl(std::initializer_list<NamedAnyModule> modules) {
    for (const NamedAnyModule& m : modules) push_back(m.name(), m.module());
  }
  template <class... Ms>
  requires(sizeof...(Ms) > 0 && !(std::same_as<std::remove_cvref_t<Ms>, SequentialImpl> || ...) &&
           (std::constructible_from<AnyModule, Ms> && ...)) explicit SequentialImpl(Ms&&... modules) {
    (push_back(std::forward<Ms>(modules)), ...);
  }
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override {}
  void pretty_print(std::ostream& out) const override;
  /// Throws Error when empty.
  Tensor forward(const Tensor& input, Where where = Where::current());
  template <class M>
  void push_back(M&& module) {
    push_back(std::to_string(modules_.size()), std::forward<M>(module));
  }
  template <class M>
  void push_back(std::string name, M&& module) {
    push_back(std::move(name), AnyModule(std::forward<M>(module)));
  }
  void push_back(std::string name, AnyModule module);
  void push_back(const NamedAnyModule& module) { push_back(module.name(), module.module()); }
  void push_back(const AnyModule& module) { push_back(std::to_string(modules_.size()), module); }
  template <class M>
  void extend(const M& container) {
    for (const auto& module : container) push_back(module);
  }
  size_t size() const { return modules_.size(); }
  bool is_empty() const { return modules_.empty(); }
  template <class M>
  M& at(size_t i) const {
    return modules_.at(i).template get<M>();
  }
  std::shared_ptr<Module> ptr(size_t i) const { return modules_.at(i).ptr(); }
  std::shared_ptr<Module> operator[](size_t i) const { return ptr(i); }
  auto begin() { return modules_.begin(); }
  auto end() { return modules_.end(); }
  auto begin() const { return modules_.begin(); }
  auto end() const { return modules_.end(); }

 private:
  std::vector<AnyModule> modules_;
};

class Sequential : public ModuleHolder<SequentialImpl> {
 public:
  using ModuleHolder<SequentialImpl>::ModuleHolder;
  Sequential() : ModuleHolder() {}
  Sequential(std::initializer_list<NamedAnyModule> modules) : ModuleHolder(std::make_shared<SequentialImpl>(modules)) {}
  using Impl = SequentialImpl;
};

/// A list of modules, registered by number.
class ModuleListImpl : public Cloneable<ModuleListImpl> {
 public:
  ModuleListImpl() = default;
  template <class... Ms>
  requires(sizeof...(Ms) > 0) explicit ModuleListImpl(Ms&&... modules) { (push_back(std::forward<Ms>(modules)), ...); }
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override {}
  void pretty_print(std::ostream& out) const override;
  void push_back(std::shared_ptr<Module> module);
  template <class M>
  void push_back(const ModuleHolder<M>& module) {
    push_back(std::static_pointer_cast<Module>(module.ptr()));
  }
  template <class M>
  requires(std::is_base_of_v<Module, M>&& std::copy_constructible<M>) void push_back(const M& module) {
    push_back(std::static_pointer_cast<Module>(std::make_shared<M>(module)));
  }
  template <class Container>
  void extend(const Container& container) {
    for (const auto& module : container) push_back(module);
  }
  size_t size() const { return modules_.size(); }
  bool is_empty() const { return modules_.empty(); }
  std::shared_ptr<Module> ptr(size_t i) const { return modules_.at(i); }
  template <class M>
  std::shared_ptr<M> ptr(size_t i) const {
    return std::dynamic_pointer_cast<M>(modules_.at(i));
  }
  std::shared_ptr<Module> operator[](size_t i) const { return modules_.at(i); }
  template <class M>
  M& at(size_t i) const {
    auto found = std::dynamic_pointer_cast<M>(modules_.at(i));
    check(found != nullptr, "Unable to cast module[", i, "] to the type asked for");
    return *found;
  }
  auto begin() { return modules_.begin(); }
  auto end() { return modules_.end(); }
  auto begin() const { return modules_.begin(); }
  auto end() const { return modules_.end(); }

 private:
  std::vector<std::shared_ptr<Module>> modules_;
};
TAILOR_MODULE(ModuleList);

/// A function as a module.
class FunctionalImpl : public Cloneable<FunctionalImpl> {
 public:
  using Function = std::function<Tensor(Tensor)>;
  explicit FunctionalImpl(Function function) : function_(std::move(function)) {}
  void reset() override {}
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& input) { return function_(input); }
  bool is_serializable() const { return false; }

 private:
  Function function_;
};
class Functional : public ModuleHolder<FunctionalImpl> {
 public:
  using ModuleHolder<FunctionalImpl>::ModuleHolder;
  explicit Functional(Tensor (*function)(const Tensor&, Where))
      : ModuleHolder(std::make_shared<FunctionalImpl>([function](Tensor x) { return function(x, Where()); })) {}
  /// A function and its further arguments, all of them: `Functional(tailor::gelu, "tanh")`.
  template <class... Parameters, class... Args>
  requires(sizeof...(Args) > 0) explicit Functional(Tensor (*function)(const Tensor&, Parameters...), Args&&... args)
      : ModuleHolder(std::make_shared<FunctionalImpl>([function, ... args = std::forward<Args>(args)](Tensor x) {
          if constexpr (sizeof...(Parameters) == sizeof...(Args))
            return function(x, args...);
          else
            return function(x, args..., Where());
        })) {}
  using Impl = FunctionalImpl;
};

}  // namespace tailor::nn
