// Devices, processor features and log channels.
#include "runtime/device.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/cpu.h"
#include "runtime/log.h"

namespace tailor {
namespace {

TEST(Device, ParsesAndPrints) {
  EXPECT_EQ(Device("cpu"), Device(kCPU));
  EXPECT_EQ(Device("cpu:0").str(), "cpu:0");
  EXPECT_EQ(Device("cuda:1"), Device(kCUDA, 1));
  EXPECT_EQ(Device("cuda").str(), "cuda");
  EXPECT_EQ(Device("cuda:12").str(), "cuda:12");
}

TEST(Device, ErrorsQuoteTheText) {
  const auto message = [](const char* text) -> std::string {
    try {
      Device device(text);
      return "no error";
    } catch (const Error& e) { return e.what(); }
  };
  EXPECT_EQ(message("gpu"), "Device: expected \"cpu\", \"cuda\" or \"cuda:INDEX\", got \"gpu\"");
  EXPECT_EQ(message(""), "Device: expected \"cpu\", \"cuda\" or \"cuda:INDEX\", got \"\"");
  for (const char* text : {"cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:01", "cuda:128", "cuda:99999999999"})
    EXPECT_EQ(message(text), "Device: invalid index in \"" + std::string(text) + "\"");
  EXPECT_EQ(message("cpu:1"), "Device: the CPU's index must be 0 or absent, got \"cpu:1\"");
}

TEST(Cpu, FeaturesAreConsistent) {
  const CpuFeatures& f = cpu_features();
  EXPECT_FALSE(f.name.empty());
  EXPECT_TRUE(f.avx2 || !f.avx512);
  EXPECT_GE(f.l2_bytes, f.l1_bytes);
}

std::vector<std::string> lines;

TEST(Log, ChannelsAreOffUntilAskedFor) {
  set_log_sink([](LogChannel c, std::string_view tag, std::string_view text) {
    lines.push_back(std::string(to_string(c)) + "|" + std::string(tag) + "|" + std::string(text));
  });
  set_logs("");
  EXPECT_FALSE(log_enabled(LogChannel::Guards));
  log(LogChannel::Guards, "f/0", "unseen");
  set_logs("guards, +graph_breaks");
  EXPECT_TRUE(log_enabled(LogChannel::Guards));
  EXPECT_FALSE(log_enabled(LogChannel::Guards, LogLevel::Debug));
  EXPECT_TRUE(log_enabled(LogChannel::GraphBreaks, LogLevel::Debug));
  EXPECT_FALSE(log_enabled(LogChannel::Perf));
  log(LogChannel::Guards, "f/0", "seen");
  EXPECT_EQ(lines, std::vector<std::string>{"guards|f/0|seen"});
  set_logs("all");
  for (int c = 0; c < kLogChannels; ++c) EXPECT_TRUE(log_enabled(static_cast<LogChannel>(c)));
  set_logs("");
  set_log_sink(nullptr);
}

TEST(Log, UnknownChannelsAreNamed) {
  try {
    set_logs("guard");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(
        e.what(),
        "TAILOR_LOGS: unknown channel \"guard\", expected guards, recompiles, graph_breaks, graph, fusion, code, perf, cache or all");
  }
}

}  // namespace
}  // namespace tailor
