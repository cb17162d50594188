#include "tailor/nn/module.h"

#include <boost/core/demangle.hpp>
#include <ostream>

#include "frontend/call.h"
#include "frontend/nn/epoch.h"
#include "tailor/io.h"

namespace tailor {

void detail::module_tree_changed() noexcept { bump_module_epoch(); }

namespace nn {
namespace {

void check_name(const char* what, const std::string& name) {
  check(!name.empty(), what, " name must not be empty");
  check(name.find('.') == std::string::npos, what, " name must not contain a dot (got '", name, "')");
}

void mark_registered(const Tensor& tensor) {
  if (tensor.defined()) tensor.head()->flags.fetch_or(TensorHead::kRegistered, std::memory_order_relaxed);
}

std::string joined(const std::string& prefix, const std::string& name) { return prefix.empty() ? name : prefix + "." + name; }

/// Visits the modules of a tree, each before its children.
template <class F>
void walk(const Module& module, const std::string& prefix, const F& f) {
  f(module, prefix);
  for (const auto& child : module.named_children()) walk(*child.value(), joined(prefix, child.key()), f);
}

}  // namespace

// Its parameters may live on elsewhere.
Module::~Module() {
  if (!parameters_.is_empty() || !buffers_.is_empty() || !children_.is_empty()) detail::bump_module_epoch();
}

const std::string& Module::name() const {
  if (!name_) name_ = boost::core::demangle(typeid(*this).name());
  return *name_;
}

Tensor& Module::register_parameter(std::string name, const Tensor& tensor, bool requires_grad) {
  check_name("Parameter", name);
  if (tensor.defined()) tensor.set_requires_grad(requires_grad && tensor.is_floating_point());
  Tensor& kept = parameters_.insert(std::move(name), tensor);
  mark_registered(kept);
  detail::bump_module_epoch();
  return kept;
}

Tensor& Module::register_buffer(std::string name, const Tensor& tensor) {
  check_name("Buffer", name);
  Tensor& kept = buffers_.insert(std::move(name), tensor);
  mark_registered(kept);
  detail::bump_module_epoch();
  return kept;
}

void Module::add_child(std::string name, const std::shared_ptr<Module>& module) {
  check_name("Submodule", name);
  check(module != nullptr, "register_module: the module '", name, "' is null");
  children_.insert(std::move(name), module);
  module->is_registered_ = true;
  detail::bump_module_epoch();
}

void Module::unregister_module(const std::string& name) {
  check(children_.contains(name), "No Module with name `", name, "` is registered");
  children_.erase(name);
  detail::bump_module_epoch();
}

namespace {

/// All tensors of one kind. Room is made first: growing would move handles, which counts as a change of the tree.
template <class Own>
OrderedDict<std::string, Tensor> collect(const Module& root, bool recurse, const Own& own) {
  size_t count = 0;
  const auto each = [&](const auto& f) {
    if (recurse)
      walk(root, {}, f);
    else
      f(root, std::string());
  };
  each([&](const Module& m, const std::string&) { count += own(m).size(); });
  OrderedDict<std::string, Tensor> all;
  all.reserve(count);
  each([&](const Module& m, const std::string& prefix) {
    for (const auto& item : own(m))
      if (item.value().defined()) all.insert(joined(prefix, item.key()), item.value());
  });
  return all;
}

}  // namespace

OrderedDict<std::string, Tensor> Module::named_parameters(bool recurse) const {
  return collect(
      *this, recurse, [](const Module& m) -> const auto& { return m.parameters_; });
}
OrderedDict<std::string, Tensor> Module::named_buffers(bool recurse) const {
  return collect(
      *this, recurse, [](const Module& m) -> const auto& { return m.buffers_; });
}
std::vector<Tensor> Module::parameters(bool recurse) const { return named_parameters(recurse).values(); }
std::vector<Tensor> Module::buffers(bool recurse) const { return named_buffers(recurse).values(); }

OrderedDict<std::string, std::shared_ptr<Module>> Module::named_modules(const std::string& prefix, bool include_self) const {
  OrderedDict<std::string, std::shared_ptr<Module>> all;
  walk(*this, prefix, [&](const Module& m, const std::string& name) {
    if (&m == this && !include_self) return;
    std::shared_ptr<Module> shared = const_cast<Module&>(m).weak_from_this().lock();
    check(shared != nullptr,
          "It looks like you attempted to retrieve your top-level module as a shared_ptr, but it is not stored in a shared_ptr. "
          "Use std::make_shared<",
          m.name(),
          "> instead of creating your module on the stack, or alternatively do not try to access your top-level "
          "module at all by passing /*include_self=*/false to modules() or named_modules()");
    all.insert(name, shared);
  });
  return all;
}
std::vector<std::shared_ptr<Module>> Module::modules(bool include_self) const { return named_modules({}, include_self).values(); }

void Module::apply(const std::function<void(Module&)>& f) {
  for (auto& child : children_) child.value()->apply(f);
  f(*this);
}

void Module::train(bool on) {
  for (auto& child : children_) child.value()->train(on);
  if (is_training_ == on) return;
  is_training_ = on;
  detail::bump_module_epoch();
}

void Module::to(Device device, ScalarType dtype, bool) {
  NoGradGuard no_grad;
  const auto convert = [&](Tensor& tensor) {
    if (tensor.defined()) tensor.set_data(tensor.to(device, tensor.is_floating_point() ? dtype : tensor.scalar_type()));
  };
  for (auto& child : children_) child.value()->to(device, dtype);
  for (auto& item : parameters_) convert(item.value());
  for (auto& item : buffers_) convert(item.value());
}
void Module::to(ScalarType dtype, bool) { to(Device(), dtype); }
void Module::to(Device device, bool) {
  NoGradGuard no_grad;
  for (auto& child : children_) child.value()->to(device);
  for (auto* list : {&parameters_, &buffers_})
    for (auto& item : *list)
      if (item.value().defined()) item.value().set_data(item.value().to(device));
}

void Module::zero_grad(bool set_to_none) {
  for (auto& child : children_) child.value()->zero_grad(set_to_none);
  for (auto& item : parameters_) {
    if (!item.value().defined() || !item.value().grad().defined()) continue;
    if (set_to_none)
      item.value().mutable_grad().reset();
    else
      item.value().mutable_grad().detach_().zero_();
  }
}

std::shared_ptr<Module> Module::clone(const std::optional<Device>&) const {
  detail::raise("clone() has not been implemented for ", name(), ". Subclass nn::Cloneable<", name(),
                "> instead of nn::Module to inherit the ability to clone.");
}

void Module::clone_(Module& other, const std::optional<Device>& device) {
  NoGradGuard no_grad;
  const auto copy = [&](auto& to, const auto& from, const char* what) {
    check(to.size() == from.size(), "The cloned module does not have the same number of ", what,
          " as the original module after calling reset(). "
          "Are you sure you called register_",
          what, "() inside reset() and not the constructor?");
    for (const auto& item : from) {
      Tensor& tensor = to[item.key()];
      if (!item.value().defined()) continue;
      const Tensor data = item.value().detach().clone();
      tensor.set_data(device ? data.to(*device) : data);
    }
  };
  copy(parameters_, other.parameters_, "parameter");
  copy(buffers_, other.buffers_, "buffer");
  check(children_.size() == other.children_.size(),
        "The cloned module does not have the same number of child modules as the original module after calling reset().");
  for (auto& child : children_) child.value()->clone_(*other.children_[child.key()], device);
  is_training_ = other.is_training_;
}

void Module::save(serialize::OutputArchive& archive) const {
  for (const auto& item : named_parameters()) archive.write(item.key(), item.value());
  for (const auto& item : named_buffers()) archive.write(item.key(), item.value(), true);
}

void Module::load(serialize::InputArchive& archive) {
  NoGradGuard no_grad;
  for (auto& item : named_parameters()) archive.read(item.key(), item.value());
  for (auto& item : named_buffers()) archive.read(item.key(), item.value(), true);
}

void Module::pretty_print(std::ostream& out) const { out << name(); }

void Module::print_tree(std::ostream& out, const std::string& indentation) const {
  pretty_print(out);
  if (children_.is_empty()) return;
  const std::string deeper = indentation + "  ";
  out << "(\n";
  for (const auto& child : children_) {
    out << deeper << "(" << child.key() << "): ";
    child.value()->print_tree(out, deeper);
    out << "\n";
  }
  out << indentation << ")";
}

std::ostream& operator<<(std::ostream& out, const Module& module) {
  module.print_tree(out, "");
  return out;
}

}  // namespace nn
}  // namespace tailor
