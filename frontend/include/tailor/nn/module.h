#pragma once
// Modules: trees of parameters, buffers and submodules, as in libtorch.
//
//   struct NetImpl : nn::Module {
//     nn::Linear fc{nullptr};
//     NetImpl() { fc = register_module("fc", nn::Linear(4, 2)); }
//     Tensor forward(Tensor x) { return relu(fc(x)); }
//   };
//   TAILOR_MODULE(Net);
//
//   Net net;                     // a shared handle
//   Tensor y = net(x);
//   for (Tensor& p : net->parameters()) ...

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tailor/nn/arg.h"
#include "tailor/ordered_dict.h"
#include "tailor/tensor.h"

namespace tailor {
namespace serialize {
class InputArchive;
class OutputArchive;
}  // namespace serialize
namespace detail {
/// Says that some module tree may have changed: everything that was found by walking one is looked at again.
void module_tree_changed() noexcept;
}  // namespace detail
}  // namespace tailor

namespace tailor::nn {

template <class Contained>
class ModuleHolder;

class Module : public std::enable_shared_from_this<Module> {
 public:
  Module() = default;
  explicit Module(std::string name) : name_(std::move(name)) {}
  virtual ~Module();

  /// The name given, or the type's.
  const std::string& name() const;

  // ---- registration: names must be new, not empty and without dots ---------------------------------------------------
  /// Shares the tensor. Returns the registered handle. An undefined tensor stands for a parameter left out.
  Tensor& register_parameter(std::string name, const Tensor& tensor, bool requires_grad = true);
  /// State that is saved but not trained.
  Tensor& register_buffer(std::string name, const Tensor& tensor);
  template <class M>
  std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> module) {
    add_child(std::move(name), module);
    return module;
  }
  template <class M>
  std::shared_ptr<M> register_module(std::string name, ModuleHolder<M> holder) {
    return register_module(std::move(name), holder.ptr());
  }
  template <class M>
  std::shared_ptr<M> replace_module(const std::string& name, std::shared_ptr<M> module) {
    unregister_module(name);
    return register_module(name, std::move(module));
  }
  template <class M>
  std::shared_ptr<M> replace_module(const std::string& name, ModuleHolder<M> holder) {
    return replace_module(name, holder.ptr());
  }
  void unregister_module(const std::string& name);

  // ---- what is registered: own first, then the submodules' in order, names joined by dots ----------------------------
  std::vector<Tensor> parameters(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_parameters(bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_buffers(bool recurse = true) const;
  /// The module itself and all below it. The module must be held by a shared_ptr when `include_self`.
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_modules(const std::string& prefix = {}, bool include_self = true) const;
  std::vector<std::shared_ptr<Module>> children() const { return children_.values(); }
  OrderedDict<std::string, std::shared_ptr<Module>> named_children() const { return children_; }
  /// Calls f on all modules of the tree, this one last.
  void apply(const std::function<void(Module&)>& f);

  // ---- mode, place, gradients -------------------------------------------------------------------------------------
  virtual void train(bool on = true);
  void eval() { train(false); }
  virtual bool is_training() const noexcept { return is_training_; }
  virtual void to(Device device, ScalarType dtype, bool non_blocking = false);
  virtual void to(ScalarType dtype, bool non_blocking = false);
  virtual void to(Device device, bool non_blocking = false);
  virtual void zero_grad(bool set_to_none = true);

  // ---- copies and files -------------------------------------------------------------------------------------------
  /// A deep copy. Only modules derived from Cloneable have one; Error for others.
  virtual std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const;
  virtual void save(serialize::OutputArchive& archive) const;
  virtual void load(serialize::InputArchive& archive);

  /// One line for a leaf; a tree otherwise comes from operator<<.
  virtual void pretty_print(std::ostream& out) const;

  template <class M>
  M* as() {
    return dynamic_cast<M*>(this);
  }
  template <class M>
  const M* as() const {
    return dynamic_cast<const M*>(this);
  }
  /// Part of another module's tree: handles to it are watched.
  bool is_registered() const { return is_registered_; }

 protected:
  Module(const Module&) = default;
  Module& operator=(const Module&) = default;
  OrderedDict<std::string, Tensor> parameters_{"Parameter"};
  OrderedDict<std::string, Tensor> buffers_{"Buffer"};
  OrderedDict<std::string, std::shared_ptr<Module>> children_{"Submodule"};

 private:
  template <class D>
  friend class Cloneable;
  friend std::ostream& operator<<(std::ostream& out, const Module& module);
  void add_child(std::string name, const std::shared_ptr<Module>& module);
  virtual void clone_(Module& other, const std::optional<Device>& device);
  void print_tree(std::ostream& out, const std::string& indentation) const;

  mutable std::optional<std::string> name_;
  bool is_training_ = true;
  bool is_registered_ = false;
};

std::ostream& operator<<(std::ostream& out, const Module& module);

/// Modules that build their parameters in `reset()`, and so can be copied.
template <class Derived>
class Cloneable : public Module {
 public:
  using Module::Module;
  /// Makes and registers all parameters, buffers and submodules anew.
  virtual void reset() = 0;
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override {
    auto copy = std::make_shared<Derived>(static_cast<const Derived&>(*this));
    copy->parameters_.clear();
    copy->buffers_.clear();
    copy->children_.clear();
    copy->reset();
    copy->Module::clone_(const_cast<Cloneable&>(*this), device);
    return copy;
  }
};

/// A shared handle to a module: what TAILOR_MODULE makes of an `Impl`. Copies share the module.
template <class Contained>
class ModuleHolder {
 public:
  using ContainedType = Contained;

  ModuleHolder() requires std::default_initializable<Contained> : impl_(std::make_shared<Contained>()) {}
  ModuleHolder(std::nullptr_t) {}
  ModuleHolder(std::shared_ptr<Contained> module) : impl_(std::move(module)) {}
  template <class Head, class... Tail>
  requires(!(sizeof...(Tail) == 0 &&
             (std::is_base_of_v<ModuleHolder, std::remove_cvref_t<Head>> || std::is_convertible_v<Head, std::shared_ptr<Contained>>)) &&
           std::is_constructible_v<Contained, Head, Tail...>) explicit ModuleHolder(Head&& head, Tail&&... tail)
      : impl_(std::make_shared<Contained>(std::forward<Head>(head), std::forward<Tail>(tail)...)) {}
  ModuleHolder(const ModuleHolder& o) : impl_(o.impl_) {}
  ModuleHolder(ModuleHolder&& o) noexcept : impl_(std::move(o.impl_)) { o.watch(impl_.get()); }
  ModuleHolder& operator=(const ModuleHolder& o) {
    watch(impl_.get());
    impl_ = o.impl_;
    return *this;
  }
  ModuleHolder& operator=(ModuleHolder&& o) noexcept {
    watch(impl_.get());
    o.watch(o.impl_.get());
    impl_ = std::move(o.impl_);
    return *this;
  }

  explicit operator bool() const noexcept { return impl_ != nullptr; }
  bool is_empty() const noexcept { return impl_ == nullptr; }
  Contained* operator->() const { return get(); }
  Contained& operator*() const { return *get(); }
  const std::shared_ptr<Contained>& ptr() const {
    get();
    return impl_;
  }
  Contained* get() const {
    check(impl_ != nullptr, "Accessing empty ModuleHolder");
    return impl_.get();
  }

  /// forward.
  auto operator()(const Tensor& input, Where where = Where::current()) const requires requires(Contained& m) { m.forward(input, where); }
  { return get()->forward(input, where); }
  template <class... Args>
  requires(!(sizeof...(Args) == 1 && (std::is_convertible_v<Args, const Tensor&> && ...) &&
             requires(Contained & m, const Tensor& t, Where w) { m.forward(t, w); })) auto
  operator()(Args&&... args) const {
    return get()->forward(std::forward<Args>(args)...);
  }

 protected:
  std::shared_ptr<Contained> impl_;

 private:
  /// Another module is about to be held. Once the holder has shown a registered one, all that it shows later matters too.
  void watch(const Module* before) noexcept {
    watched_ = watched_ || (before != nullptr && before->is_registered());
    if (watched_) detail::module_tree_changed();
  }
  bool watched_ = false;
};

template <class Contained>
std::ostream& operator<<(std::ostream& out, const ModuleHolder<Contained>& holder) {
  return out << static_cast<const Module&>(*holder);
}

}  // namespace tailor::nn

/// Defines the holder `Name` for `NameImpl`. libtorch's TORCH_MODULE.
#define TAILOR_MODULE(Name)                                     \
  class Name : public ::tailor::nn::ModuleHolder<Name##Impl> {  \
   public:                                                      \
    using ::tailor::nn::ModuleHolder<Name##Impl>::ModuleHolder; \
    using Impl = Name##Impl;                                    \
  }
