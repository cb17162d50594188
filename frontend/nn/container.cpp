#include "tailor/nn/container.h"

#include <ostream>

#include "frontend/check_at.h"

namespace tailor::nn {

void SequentialImpl::push_back(std::string name, AnyModule module) {
  register_module(std::move(name), module.ptr());
  modules_.push_back(std::move(module));
}

Tensor SequentialImpl::forward(const Tensor& input, Where where) {
  check_at(where, !modules_.empty(), "Cannot call forward() on an empty Sequential");
  Tensor x = input;
  for (AnyModule& module : modules_) x = module.forward(x, where);
  return x;
}

std::shared_ptr<Module> SequentialImpl::clone(const std::optional<Device>&) const {
  detail::raise("clone() has not been implemented for Sequential: its modules are held without their types");
}
void SequentialImpl::pretty_print(std::ostream& out) const { out << "torch::nn::Sequential"; }

void ModuleListImpl::push_back(std::shared_ptr<Module> module) {
  modules_.push_back(register_module(std::to_string(modules_.size()), std::move(module)));
}
std::shared_ptr<Module> ModuleListImpl::clone(const std::optional<Device>& device) const {
  auto copy = std::make_shared<ModuleListImpl>();
  for (const auto& module : modules_) copy->push_back(module->clone(device));
  return copy;
}
void ModuleListImpl::pretty_print(std::ostream& out) const { out << "torch::nn::ModuleList"; }
void FunctionalImpl::pretty_print(std::ostream& out) const { out << "torch::nn::Functional()"; }

}  // namespace tailor::nn
