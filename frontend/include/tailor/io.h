#pragma once
// Files of tensors in the safetensors format: a length, a JSON header with names, dtypes, shapes and offsets, then the bytes.
// torch::save and torch::load use the same format.
//
//   auto weights = io::load_safetensors("model.safetensors");
//   io::save_safetensors("copy.safetensors", weights);
//   save(net, "net.safetensors");  load(net, "net.safetensors");

#include <map>
#include <string>
#include <vector>

#include "tailor/nn/module.h"
#include "tailor/tensor.h"

namespace tailor::io {

using TensorMap = std::map<std::string, Tensor>;

/// All tensors of a file, by name. Throws Error, naming the file and the tensor, when the file cannot be read or is malformed: cut
/// short, a header that is no JSON or too large, an unknown dtype, offsets out of range, overlapping, or not of the tensor's size.
TensorMap load_safetensors(const std::string& path);
/// The map of strings under `__metadata__`.
std::map<std::string, std::string> load_safetensors_metadata(const std::string& path);
/// Writes a file (by way of a temporary one beside it, so that the old file stays whole until the new one is). Throws Error when it cannot.
void save_safetensors(const std::string& path, const TensorMap& tensors, const std::map<std::string, std::string>& metadata = {});

}  // namespace tailor::io

namespace tailor::serialize {

/// Tensors by name on their way into a file.
class OutputArchive {
 public:
  void write(const std::string& key, const Tensor& tensor, bool is_buffer = false);
  void save_to(const std::string& path) const;

 private:
  io::TensorMap tensors_;
};

/// Tensors by name from a file.
class InputArchive {
 public:
  void load_from(const std::string& path);
  /// Copies into `tensor` where it is defined (sizes must agree), else makes it the one read. Throws Error when there is none of this name.
  void read(const std::string& key, Tensor& tensor, bool is_buffer = false) const;
  bool try_read(const std::string& key, Tensor& tensor, bool is_buffer = false) const;
  std::vector<std::string> keys() const;

 private:
  std::string path_;
  io::TensorMap tensors_;
};

}  // namespace tailor::serialize

namespace tailor {

// One tensor is named "0" in its file, those of a list "0", "1" ..., those of a module as in named_parameters() and named_buffers().
// All throw Error, naming the file, where it cannot be written, read, or holds something else.
void save(const Tensor& tensor, const std::string& path);
void load(Tensor& tensor, const std::string& path);
void save(const std::vector<Tensor>& tensors, const std::string& path);
void load(std::vector<Tensor>& tensors, const std::string& path);
void save(const nn::Module& module, const std::string& path);
/// Copies a file's tensors into the module's parameters and buffers; all of them must be there.
void load(nn::Module& module, const std::string& path);
template <class M>
requires std::is_base_of_v<nn::Module, M>
void save(const std::shared_ptr<M>& module, const std::string& path) { save(static_cast<const nn::Module&>(*module), path); }
template <class M>
requires std::is_base_of_v<nn::Module, M>
void load(const std::shared_ptr<M>& module, const std::string& path) { load(static_cast<nn::Module&>(*module), path); }
template <class M>
void save(const nn::ModuleHolder<M>& module, const std::string& path) {
  save(static_cast<const nn::Module&>(*module), path);
}
template <class M>
void load(const nn::ModuleHolder<M>& module, const std::string& path) {
  load(static_cast<nn::Module&>(*module), path);
}

}  // namespace tailor
