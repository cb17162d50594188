// safetensors files: round trips, and every way in which a file can be wrong.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tailor/tailor.h"

using namespace tailor;

namespace {

/// A file of this test, removed at its end.
struct Path {
  std::string name =
      (std::filesystem::temp_directory_path() / ("tailor_" + std::to_string(::getpid()) + "_" + std::to_string(++count))).string();
  ~Path() { std::remove(name.c_str()); }
  static inline int count = 0;
};

/// Writes header and data as they are, and gives the error that loading throws.
std::string error_of(const std::string& header, const std::string& data, uint64_t length_or = UINT64_MAX) {
  Path path;
  const uint64_t length = length_or == UINT64_MAX ? header.size() : length_or;
  std::ofstream out(path.name, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&length), 8);
  out << header << data;
  out.close();
  try {
    io::load_safetensors(path.name);
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_EQ(text.rfind(path.name + ": ", 0), 0u) << text;
    return text.substr(path.name.size() + 2);
  }
  return "no error";
}

}  // namespace

TEST(Safetensors, RoundTripOfEveryDtype) {
  io::TensorMap all;
  for (int t = 0; t < kScalarTypeCount; ++t) {
    const auto dtype = static_cast<ScalarType>(t);
    all["t" + std::to_string(t)] = tensor({{1, 0, 1}, {0, 1, 1}}, dtype);
  }
  all["scalar"] = tensor(2.5);
  all["empty"] = zeros({0, 3});
  all["strided"] = arange(6).view({2, 3}).t();
  Path path;
  io::save_safetensors(path.name, all, {{"format", "pt"}});
  const io::TensorMap read = io::load_safetensors(path.name);
  ASSERT_EQ(read.size(), all.size());
  for (const auto& [name, tensor] : all) {
    EXPECT_EQ(read.at(name).dtype(), tensor.dtype());
    EXPECT_TRUE(equal(read.at(name), tensor)) << name;
  }
  EXPECT_EQ(io::load_safetensors_metadata(path.name).at("format"), "pt");
}

TEST(Safetensors, MalformedFilesAreErrors) {
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(error_of(good, "12345678"), "no error");
  EXPECT_EQ(error_of(good, "1234567"), "tensor 'a': data_offsets [0, 8] lie outside of the file's 7 bytes of data");
  EXPECT_EQ(error_of(good, "123456789"), "1 bytes after the last tensor");
  EXPECT_EQ(error_of(good, "12345678", 1000), "cut short: the header has 1000 bytes, the file " + std::to_string(16 + good.size()));
  EXPECT_EQ(error_of(good, "12345678", uint64_t{1} << 60), "the header is too large (1152921504606846976 bytes; at most 100000000)");
  EXPECT_NE(error_of("{\"a\":", "").find("the header is no valid JSON"), std::string::npos);
  EXPECT_EQ(error_of("[1]", ""), "the header is no JSON object");
  EXPECT_EQ(error_of(R"({"a":{"dtype":"F4","shape":[2],"data_offsets":[0,8]}})", "12345678"), "tensor 'a': unknown dtype 'F4'");
  EXPECT_EQ(error_of(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "12345678"),
            "tensor 'a': data_offsets span 8 bytes, but F32 [3] takes 12");
  EXPECT_EQ(error_of(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "12345678"),
            "tensor 'a': a size is not a non-negative integer");
  EXPECT_EQ(error_of(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", ""),
            "tensor 'a': the sizes are too large");
  EXPECT_EQ(error_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", "12345678"),
            "tensor 'a': data_offsets [8, 0] lie outside of the file's 8 bytes of data");
  EXPECT_EQ(
      error_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})", "123456"),
      "tensor 'b': its data overlaps another tensor's");
  EXPECT_EQ(error_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})", "1234"), "tensor 'a': a gap of 2 bytes before its data");
  EXPECT_EQ(error_of(R"({"a":{"dtype":"U8","shape":[1]}})", "1"), "tensor 'a': expected an object with dtype, shape and data_offsets");
  EXPECT_EQ(error_of(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})", ""),
            "the name 'a' occurs twice");
  EXPECT_EQ(error_of(R"({"__metadata__":{"a":1}})", ""), "__metadata__ holds something other than strings");
}

TEST(Safetensors, FilesThatCannotBeRead) {
  EXPECT_THROW(io::load_safetensors("/no/such/file"), Error);
  EXPECT_THROW(io::load_safetensors("/tmp"), Error);
  EXPECT_THROW(io::save_safetensors("/no/such/folder/file", {{"a", ones({1})}}), Error);
  Path path;
  std::ofstream(path.name) << "abc";
  EXPECT_THROW(io::load_safetensors(path.name), Error);
}

TEST(Safetensors, SaveAndLoadOfModules) {
  Path path;
  nn::Sequential a(nn::Linear(2, 3), nn::BatchNorm1d(3)), b(nn::Linear(2, 3), nn::BatchNorm1d(3));
  a(ones({4, 2}));
  save(a, path.name);
  load(b, path.name);
  for (const auto& item : a->named_parameters()) EXPECT_TRUE(equal(item.value().detach(), b->named_parameters()[item.key()].detach()));
  for (const auto& item : a->named_buffers()) EXPECT_TRUE(equal(item.value(), b->named_buffers()[item.key()]));
  nn::Sequential other(nn::Linear(2, 4), nn::BatchNorm1d(4));
  EXPECT_THROW(load(other, path.name), Error);
  nn::Sequential longer(nn::Linear(2, 3), nn::BatchNorm1d(3), nn::Linear(3, 1));
  EXPECT_THROW(load(longer, path.name), Error);
}

TEST(Safetensors, SaveAndLoadOfTensors) {
  Path path;
  save(tensor({1.0, 2.0}), path.name);
  Tensor t;
  load(t, path.name);
  EXPECT_TRUE(equal(t, tensor({1.0, 2.0})));
  save(std::vector<Tensor>{ones({2}), zeros({3})}, path.name);
  std::vector<Tensor> list;
  load(list, path.name);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[1].numel(), 3);
}
