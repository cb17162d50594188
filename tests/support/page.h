#pragma once
// Shared checks on pages and traces.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tailor::testing {

/// Every tag is closed in order (void ones by "/>"), characters are escaped, and nothing is loaded from anywhere.
inline void expect_well_formed(const std::string& page) {
  std::vector<std::string> open;
  for (size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at)) {
    const size_t end = page.find('>', at);
    ASSERT_NE(end, std::string::npos) << page.substr(at, 80);
    std::string tag = page.substr(at + 1, end - at - 1);
    at = end;
    if (tag.starts_with("!")) continue;
    ASSERT_EQ(tag.find('<'), std::string::npos) << tag;
    ASSERT_EQ(std::count(tag.begin(), tag.end(), '\'') % 2, 0) << tag;
    const bool closing = tag.starts_with("/"), alone = tag.ends_with("/");
    const std::string name = tag.substr(closing ? 1 : 0, tag.find_first_of(" /", 1) - (closing ? 1 : 0));
    if (alone) continue;
    if (!closing) {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty()) << tag;
    ASSERT_EQ(open.back(), name) << "near " << page.substr(end > 200 ? end - 200 : 0, 260);
    open.pop_back();
  }
  EXPECT_TRUE(open.empty()) << open.back();
  for (size_t at = page.find('&'); at != std::string::npos; at = page.find('&', at + 1)) {
    const size_t end = page.find(';', at);
    ASSERT_LT(end - at, 7u) << page.substr(at, 20);
  }
}

inline void expect_self_contained_page(const std::string& page) {
  expect_well_formed(page);
  for (const char* part : {"http:", "https:", "src=", "href=", "url(", "@import", "<script", "<link"})
    EXPECT_EQ(page.find(part), std::string::npos) << part;
  EXPECT_NE(page.find("name='viewport' content='width=device-width"), std::string::npos);
  EXPECT_NE(page.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_NE(page.find("charset='utf-8'"), std::string::npos);
}

/// Each thread's "B" and "E" match like brackets, in order of time.
inline void expect_matching_trace(const nlohmann::json& trace) {
  std::map<int, std::vector<std::string>> open;
  std::map<int, double> latest;
  int spans = 0;
  for (const auto& e : trace.at("traceEvents")) {
    const int thread = e.at("tid");
    const double ts = e.at("ts");
    ASSERT_GE(ts, latest[thread]) << e;
    latest[thread] = ts;
    ASSERT_TRUE(e.contains("pid") && e.contains("cat")) << e;
    if (e.at("ph") == "B") open[thread].push_back(e.at("name"));
    if (e.at("ph") != "E") continue;
    ++spans;
    ASSERT_FALSE(open[thread].empty()) << e;
    ASSERT_EQ(open[thread].back(), e.at("name").get<std::string>());
    open[thread].pop_back();
  }
  for (const auto& [thread, names] : open) EXPECT_TRUE(names.empty()) << names.back();
  EXPECT_GT(spans, 0);
}

}  // namespace tailor::testing
