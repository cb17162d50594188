// torch::save and torch::load over safetensors files.

#include "tailor/io.h"

namespace tailor {
namespace serialize {

void OutputArchive::write(const std::string& key, const Tensor& tensor, bool) {
  check(tensors_.emplace(key, tensor).second, "save: the name '", key, "' is used twice");
}
void OutputArchive::save_to(const std::string& path) const { io::save_safetensors(path, tensors_); }

void InputArchive::load_from(const std::string& path) {
  path_ = path;
  tensors_ = io::load_safetensors(path);
}
bool InputArchive::try_read(const std::string& key, Tensor& tensor, bool) const {
  const auto found = tensors_.find(key);
  if (found == tensors_.end()) return false;
  if (!tensor.defined()) {
    tensor = found->second;
    return true;
  }
  check(tensor.sizes() == found->second.sizes(), path_, ": tensor '", key, "' has sizes ", found->second.sizes(), ", expected ",
        tensor.sizes());
  NoGradGuard no_grad;
  tensor.copy_(found->second);
  return true;
}
void InputArchive::read(const std::string& key, Tensor& tensor, bool is_buffer) const {
  check(try_read(key, tensor, is_buffer), path_, ": no tensor named '", key, "'");
}
std::vector<std::string> InputArchive::keys() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors_) names.push_back(name);
  return names;
}

}  // namespace serialize

void save(const Tensor& tensor, const std::string& path) { io::save_safetensors(path, {{"0", tensor}}); }
void load(Tensor& tensor, const std::string& path) {
  io::TensorMap all = io::load_safetensors(path);
  check(all.size() == 1, path, ": expected one tensor, found ", all.size());
  tensor = all.begin()->second;
}
void save(const std::vector<Tensor>& tensors, const std::string& path) {
  io::TensorMap all;
  for (size_t i = 0; i < tensors.size(); ++i) all.emplace(std::to_string(i), tensors[i]);
  io::save_safetensors(path, all);
}
void load(std::vector<Tensor>& tensors, const std::string& path) {
  io::TensorMap all = io::load_safetensors(path);
  std::vector<Tensor> list;
  list.reserve(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const auto found = all.find(std::to_string(i));
    check(found != all.end(), path, ": no tensor number ", i, " of ", all.size());
    list.push_back(found->second);
  }
  tensors = std::move(list);
}
void save(const nn::Module& module, const std::string& path) {
  serialize::OutputArchive archive;
  module.save(archive);
  archive.save_to(path);
}
void load(nn::Module& module, const std::string& path) {
  serialize::InputArchive archive;
  archive.load_from(path);
  module.load(archive);
}

}  // namespace tailor
