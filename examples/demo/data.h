#pragma once
// Reads the demo's data files.

#include <tailor/tailor.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace demo {

namespace tl = tailor;

struct Digits {
  tl::Tensor images;  // f32 [1797, 64], pixels / 16
  tl::Tensor labels;  // i64 [1797]
  tl::Tensor test;    // i64: the rows of the test part
};

inline Digits load_digits(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw tl::Error("cannot read " + path);
  std::vector<float> pixels;
  std::vector<int64_t> labels, test;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#' || line.rfind("split", 0) == 0) continue;
    std::vector<std::string> cells(1);
    for (char c : line) {
      if (c == ',')
        cells.emplace_back();
      else
        cells.back() += c;
    }
    if (cells.size() != 66) throw tl::Error(path + ": a row has " + std::to_string(cells.size()) + " cells, expected 66");
    if (cells[0] == "test") test.push_back(static_cast<int64_t>(labels.size()));
    labels.push_back(std::atoll(cells[1].c_str()));
    for (size_t i = 2; i < cells.size(); ++i) pixels.push_back(static_cast<float>(std::atof(cells[i].c_str())) / 16);
  }
  const auto rows = static_cast<int64_t>(labels.size());
  return {tl::from_blob(pixels.data(), {rows, 64}, tl::kFloat32).clone(), tl::from_blob(labels.data(), {rows}, tl::kInt64).clone(),
          tl::from_blob(test.data(), {static_cast<int64_t>(test.size())}, tl::kInt64).clone()};
}

/// Copies tensors of a weight file into the parameters and buffers of a module. `rename` maps the module's names to the file's.
template <class Rename>
void load_weights(tl::nn::Module& module, const std::string& path, Rename rename) {
  std::map<std::string, tl::Tensor> file;
  for (auto& [name, tensor] : tl::io::load_safetensors(path)) file[name] = tensor;
  tl::NoGradGuard no_grad;
  const auto copy = [&](const std::string& name, tl::Tensor into) {
    const auto it = file.find(rename(name));
    if (it == file.end()) throw tl::Error(path + " has no tensor " + rename(name));
    into.copy_(it->second);
  };
  for (auto& item : module.named_parameters()) copy(item.key(), item.value());
  for (auto& item : module.named_buffers()) copy(item.key(), item.value());
}

}  // namespace demo
