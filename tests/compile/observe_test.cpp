// What is said about compiled functions: log lines, traces, explanations, statistics, pages.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <thread>

#include "ir/graph.h"
#include "support/expect.h"
#include "support/page.h"
#include "tailor/artifact_cache.h"

namespace tailor {
namespace {

using Json = nlohmann::json;
using testing::f32;

struct Line {
  LogChannel channel;
  std::string tag, text;
};
std::mutex lines_mutex;
std::vector<Line> lines;

/// Collects the lines of `channels` while it lives.
struct CatchLines {
  explicit CatchLines(std::string_view channels) {
    lines.clear();
    set_log_sink([](LogChannel channel, std::string_view tag, std::string_view text) {
      std::lock_guard lock(lines_mutex);
      lines.push_back({channel, std::string(tag), std::string(text)});
    });
    set_logs(channels);
  }
  ~CatchLines() {
    set_logs("");
    set_log_sink(nullptr);
  }
};

::testing::AssertionResult some_line(const std::string& tag, const std::string& text) {
  const std::regex wanted(text), tagged(tag);
  std::string all;
  for (const Line& l : lines) {
    if (std::regex_search(l.text, wanted) && std::regex_match(l.tag, tagged)) return ::testing::AssertionSuccess();
    all += "[" + l.tag + "] " + l.text + "\n";
  }
  return ::testing::AssertionFailure() << "no line [" << tag << "] " << text << " in\n" << all;
}

CompileOptions named(const char* name) { return {.name = name, .dynamic = Dynamic::Never}; }

TEST(Logs, RecompilesInTheirForm) {
  CatchLines caught("recompiles");
  auto f = compile([](const Tensor& x) { return x + 1; }, named("layer"));
  f(ones({64, 3}));
  EXPECT_TRUE(lines.empty());
  f(ones({48, 3}));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].tag, "layer/1/0");
  const std::regex form(
      R"(Recompiling layer \(observe_test\.cpp:\d+\) because guard args\[0\]\.size\(0\) == 64 failed: got 48 \(first needed at observe_test\.cpp:\d+\))");
  EXPECT_TRUE(std::regex_match(lines[0].text, form)) << lines[0].text;
  EXPECT_EQ(lines[1].tag, "layer/0/0");
  EXPECT_TRUE(lines[1].text.starts_with("entry 0: guard args[0].size(0) == 64 failed: got 48")) << lines[1].text;
  // One line for each entry, with its first failing guard; the headline is that of the entry used last.
  lines.clear();
  f(ones({32, 3}, kDouble));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(some_line("layer/2/0", R"(^Recompiling layer .* because guard args\[0\]\.dtype\(\) == f32 failed: got f64)"));
  EXPECT_TRUE(some_line("layer/0/.", "^entry 0: guard"));
  EXPECT_TRUE(some_line("layer/1/.", "^entry 1: guard"));
  // Without a name.
  lines.clear();
  auto g = compile([](const Tensor& x) { return x + 1; }, {.dynamic = Dynamic::Never});
  g(ones({1}));
  g(ones({2}));
  EXPECT_TRUE(some_line(R"(observe_test\.cpp:\d+/1/0)",
                        R"(^Recompiling fn \(observe_test\.cpp:\d+\) because guard args\[0\]\.size\(0\) == 1 failed: got 2)"));
}

TEST(Logs, SuggestionsAreDetail) {
  CatchLines caught("+recompiles");
  auto f = compile([](const Tensor& x) { return x + 1; }, named("f"));
  f(ones({4}));
  f(ones({5}));
  EXPECT_TRUE(some_line("f/0/0", "^suggestion: "));
}

TEST(Logs, WhyACallIsNotRecompiled) {
  CatchLines caught("recompiles");
  CompileOptions options = named("f");
  options.cache_size_limit = 1;
  options.at_limit = CacheLimitPolicy::RunEager;
  auto f = compile([](const Tensor& x) { return x + 1; }, options);
  f(ones({4}));
  f(ones({5}));
  EXPECT_TRUE(some_line(
      "f/-/0",
      R"(^Not recompiling f .* because guard args\[0\]\.size\(0\) == 4 failed: got 5 .*; it runs eagerly: cache_size_limit is reached)"));
}

TEST(Logs, LiftsPathsEvictionsAndBreaks) {
  CatchLines caught("recompiles,graph_breaks,cache");
  double k = 1;
  bool read = false;
  CompileOptions options = named("f");
  options.cache_size_limit = 1;
  auto f = compile([&](const Tensor& x) { return read ? x * x.sum().item<double>() : x * k; }, options);
  f(f32({1}));
  k = 2;
  f(f32({1}));
  EXPECT_TRUE(some_line("f/0/.", R"(^Recompiling f \(observe_test\.cpp:\d+\) because step 1: other of mul == 1\.0 failed: got 2\.0 )"
                                 R"(\(first needed at observe_test\.cpp:\d+\); it becomes a run-time argument$)"));
  read = true;
  f(f32({1}));
  EXPECT_TRUE(some_line("f/0/.", R"(^Recompiling f .* because step 1: op == mul failed: got sum at observe_test\.cpp:\d+ )"
                                 R"(\(first needed at observe_test\.cpp:\d+\); a new path is recorded$)"));
  EXPECT_TRUE(some_line("f/0/.", R"(^a segment ends: host code needs a tensor's data, at observe_test\.cpp:\d+)"));
  f(f32({1, 2}));
  EXPECT_TRUE(some_line("f/0/.", "^evicted: cache_size_limit is reached"));
  std::set<LogChannel> seen;
  for (const Line& l : lines) seen.insert(l.channel);
  EXPECT_TRUE(seen.contains(LogChannel::GraphBreaks));
  EXPECT_TRUE(seen.contains(LogChannel::Cache));
}

TEST(Logs, EveryLineOfACompileIsTagged) {
  CatchLines caught("guards,graph,fusion,+code,perf");
  double k = 3;
  auto f = compile([&](const Tensor& x) { return (x * k + 0.0625).tanh(); }, named("f"));
  f(f32({1, 2, 3}));
  for (const LogChannel channel : {LogChannel::Guards, LogChannel::Graph, LogChannel::Fusion, LogChannel::Code, LogChannel::Perf}) {
    EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [&](const Line& l) { return l.channel == channel; })) << to_string(channel);
  }
  for (const Line& l : lines) EXPECT_TRUE(std::regex_match(l.tag, std::regex("f/0/[01]"))) << l.tag << ": " << l.text;
  EXPECT_TRUE(some_line("f/0/0", "loop nest: mul add tanh"));
  EXPECT_TRUE(some_line("f/0/0", "define .* @"));  // LLVM IR
  EXPECT_TRUE(
      some_line("f/0/0", R"(\d+ ops in 1 kernels, compiled in .* ms \(passes .*, lower .*, LLVM .*, link .*\), \d+ bytes of code)"));
  EXPECT_TRUE(some_line("f/0/.", R"(args\[0\]\.size\(0\) == 3  # observe_test\.cpp:\d+)"));
  // The second attempt says so.
  lines.clear();
  k = 5;
  f(f32({1, 2, 3}));
  EXPECT_TRUE(some_line("f/0/1", "loop nest: mul add tanh"));
}

TEST(Logs, UnknownChannelsAreNamed) {
  try {
    set_logs("guards,poetry");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_STREQ(
        e.what(),
        "TAILOR_LOGS: unknown channel \"poetry\", expected guards, recompiles, graph_breaks, graph, fusion, code, perf, cache or all");
  }
}

// ---- traces --------------------------------------------------------------------------------------------------------

TEST(Trace, HasEveryPhaseAndMatches) {
  set_artifact_cache("");  // a kernel found on disk would need no compiler
  start_trace();
  auto f = compile([](const Tensor& x) { return (x * 3 + 0.03125).sigmoid(); }, named("traced"));
  for (int i = 0; i < 3; ++i) f(f32({1, 2}));
  f(f32({1}));
  std::thread([&] { f(f32({1})); }).join();
  stop_trace();
  const Json trace = Json::parse(trace_json());
  testing::expect_matching_trace(trace);
  std::set<std::string> categories, threads;
  for (const auto& e : trace.at("traceEvents")) {
    categories.insert(e.at("cat"));
    threads.insert(e.at("tid").dump());
  }
  for (const char* category : {"call", "guard", "trace", "follow", "compile", "passes", "lower", "llvm", "link", "run", "kernel", "miss"})
    EXPECT_TRUE(categories.contains(category)) << category;
  EXPECT_GE(threads.size(), 2u);
  int calls = 0;
  for (const TraceEvent& e : trace_events()) {
    if (e.category != "call") continue;
    ++calls;
    ASSERT_EQ(e.args.size(), 3u);
    EXPECT_EQ(e.args[0].first, "function");
    EXPECT_TRUE(e.args[0].second.starts_with("traced (observe_test.cpp:"));
    EXPECT_EQ(e.args[1].first, "outcome");
  }
  EXPECT_EQ(calls, 5);
  f(f32({1}));  // not recorded any more
  EXPECT_EQ(Json::parse(trace_json()), trace);
}

// Each launch of a segment is a span of its own within the run, named after its ops.
TEST(Trace, HasASpanForEachLaunch) {
  const Tensor w = ones({16, 16}), v = ones({16, 16});
  auto f = compile([&](const Tensor& x) { return softmax(matmul(relu(matmul(x, w)), v), 1); }, named("launches"));
  const Tensor x = ones({4, 16});
  f(x);
  f(x);
  const int kernels = f.stats().kernels;
  start_trace();
  f(x);
  stop_trace();
  int spans = 0;
  const TraceEvent* run = nullptr;
  const std::vector<TraceEvent> events = trace_events();
  for (const TraceEvent& e : events) {
    if (e.category == "run") run = &e;
    if (e.category != "kernel") continue;
    ++spans;
    EXPECT_NE(e.name, "kernel") << "it has no name";
    ASSERT_NE(run, nullptr);
    EXPECT_LE(run->begin_ns, e.begin_ns);
    EXPECT_GE(run->end_ns, e.end_ns);
  }
  EXPECT_EQ(spans, kernels);
}

TEST(Trace, CallsThatThrowAreClosed) {
  start_trace();
  auto f = compile([](const Tensor& x) -> Tensor { throw std::runtime_error(x.defined() ? "no" : ""); });
  EXPECT_THROW(f(f32({1})), std::runtime_error);
  stop_trace();
  testing::expect_matching_trace(Json::parse(trace_json()));
}

TEST(Trace, IsWrittenToAFile) {
  const std::string path = (std::filesystem::temp_directory_path() / ("tailor_trace_" + std::to_string(getpid()) + ".json")).string();
  start_trace();
  compile([](const Tensor& x) { return x + 1; })(f32({1}));
  stop_trace();
  save_trace(path);
  std::ifstream in(path);
  testing::expect_matching_trace(Json::parse(in));
  std::filesystem::remove(path);
  try {
    save_trace("/no/such/folder/trace.json");
    ADD_FAILURE();
  } catch (const Error& e) { EXPECT_STREQ(e.what(), "cannot write the trace to /no/such/folder/trace.json"); }
}

TEST(Trace, StartsAnewAndWhileThreadsRun) {
  auto f = compile([](const Tensor& x) { return x + 1; });
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      const Tensor x = ones({2});
      while (!stop) f(x);
    });
  for (int i = 0; i < 20; ++i) {
    start_trace();
    f(ones({2}));
    (void)trace_events();
    if (i % 3 == 0) stop_trace();
  }
  stop = true;
  for (auto& t : threads) t.join();
  stop_trace();
  testing::expect_matching_trace(Json::parse(trace_json()));
}

// ---- data ----------------------------------------------------------------------------------------------------------

TEST(Explain, TextJsonAndData) {
  auto f = compile([](const Tensor& x, const Tensor& w) { return matmul(x, w).relu(); }, named("f"));
  f(ones({2, 3}), ones({3, 4}));
  const Explanation miss = explain(f)(ones({5, 3}), ones({3, 4}));
  EXPECT_EQ(miss.outcome, "miss: recorded and compiled");
  ASSERT_EQ(miss.misses.size(), 1u);
  EXPECT_EQ(miss.misses[0].subject, "args[0].size(0)");
  EXPECT_FALSE(miss.misses[0].suggestion.empty());
  const Json json = Json::parse(miss.json());
  EXPECT_EQ(json.at("misses").at(0).at("guard"), "args[0].size(0) == 2");
  EXPECT_EQ(json.at("misses").at(0).at("actual"), "5");
  EXPECT_EQ(json.at("entry"), 1);
  EXPECT_GT(json.at("guards").size(), 5u);
  const ir::Graph graph = ir::parse_graph(json.at("segments").at(0).at("graph").get<std::string>());
  EXPECT_NO_THROW(ir::verify(graph));
  const std::string text = miss.text();
  EXPECT_NE(text.find("entry 0: args[0].size(0) == 2 failed: got 5"), std::string::npos) << text;
  EXPECT_NE(text.find("suggestion: "), std::string::npos) << text;
  const Explanation hit = explain(f)(ones({5, 3}), ones({3, 4}));
  EXPECT_EQ(hit.outcome, "hit: followed cached code");
  EXPECT_TRUE(hit.misses.empty());
}

// What makes a segment be compiled again is told like a guard that fails: step, expected, actual, line.
// A call that does something else in sizes that nothing was recorded in says what, too. Its sizes are no reason: they may be any.
TEST(Explain, AnotherPathInOtherSizes) {
  bool further = false;
  const Tensor w = ones({3, 3}).requires_grad_();
  const auto f = compile([&](const Tensor& x) {
    const Tensor y = mm(x, w).view({x.size(0) * 3});
    return further ? y.flip({0}) : y.cumsum(0);
  });
  {
    const NoGradGuard no_grad;
    for (const int64_t n : {2, 3, 4}) f(ones({n, 3}));
  }
  EXPECT_EQ(f.stats().divergences, 0u);
  const Explanation mode = explain(f)(ones({5, 3}));
  EXPECT_EQ(f.stats().divergences, 1u);
  ASSERT_EQ(mode.misses.size(), 1u);
  EXPECT_EQ(mode.misses[0].kind, "path");
  EXPECT_EQ(mode.misses[0].subject, "step 1: modes");
  further = true;
  const Explanation op = explain(f)(ones({6, 3}));
  ASSERT_EQ(op.misses.size(), 1u);
  EXPECT_EQ(op.misses[0].guard, "step 3: op == cumsum");
}

TEST(Explain, NumbersPathsAndResultsThatOutliveTheCall) {
  double k = 2;
  bool further = false, keep = false;
  ScalarType type = kFloat32;
  std::vector<Tensor> kept;
  auto f = compile(
      [&](const Tensor& x) {
        Tensor y = x * k;
        Tensor z = further ? y.sum(0) : y + ones({2}, type);
        if (keep) kept.push_back(y);
        return z * 3;
      },
      named("f"));
  const auto explained = [&] {
    const Explanation e = explain(f)(f32({1, 2}));
    EXPECT_EQ(e.misses.size(), 1u);
    return e;
  };
  f(f32({1, 2}));
  k = 2.5;
  const MissRecord lift = explained().misses.at(0);
  EXPECT_EQ(lift.kind, "lift");
  EXPECT_EQ(lift.step, 1);
  EXPECT_EQ(lift.guard, "step 1: other of mul == 2.0");
  EXPECT_EQ(lift.expected, "2.0");
  EXPECT_EQ(lift.actual, "2.5");
  EXPECT_TRUE(std::regex_match(lift.source, std::regex(R"(observe_test\.cpp:\d+)"))) << lift.source;
  EXPECT_FALSE(lift.suggestion.empty());
  k = 7;
  EXPECT_TRUE(explain(f)(f32({1, 2})).misses.empty());
  keep = true;
  const MissRecord outlives = explained().misses.at(0);
  EXPECT_EQ(outlives.kind, "kept");
  EXPECT_EQ(outlives.guard, "step 5: values that outlive the call == 1");
  EXPECT_EQ(outlives.actual, "2");
  further = true;
  const Explanation path = explained();
  EXPECT_EQ(path.misses.at(0).kind, "path");
  EXPECT_EQ(path.misses.at(0).guard, "step 2: op == full");
  EXPECT_TRUE(std::regex_match(path.misses.at(0).actual, std::regex(R"(sum at observe_test\.cpp:\d+)"))) << path.misses.at(0).actual;
  EXPECT_NE(path.text().find("entry 0: step 2: op == full failed: got sum at observe_test.cpp:"), std::string::npos) << path.text();
  further = false;
  type = kFloat64;
  EXPECT_EQ(explained().misses.at(0).guard, "step 2: dtype of full == f32");
  const Json told = Json::parse(f.stats().json()).at("recent_misses");
  ASSERT_EQ(told.size(), 4u);
  EXPECT_EQ(told.at(0).at("kind"), "lift");
  EXPECT_EQ(told.at(0).at("step"), 1);
  EXPECT_EQ(told.at(0).at("expected"), "2.0");
  EXPECT_NE(f.stats().text().find("recompile of entry 0: step 1: other of mul == 2.0 failed: got 2.5"), std::string::npos);
  EXPECT_NE(report_html({f.report()}, {}).find("step 1: other of mul == 2.0"), std::string::npos);
}

TEST(Explain, AFullListOfMissesHidesNone) {
  CompileOptions options = named("f");
  options.cache_size_limit = 64;
  auto f = compile([](const Tensor& x) { return x + 1; }, options);
  for (int64_t n = 1; n < 15; ++n) f(ones({n}));
  EXPECT_EQ(f.stats().recent_misses.size(), 32u);
  EXPECT_EQ(explain(f)(ones({30})).misses.size(), 14u);
}

TEST(Stats, PrintAndParse) {
  auto f = compile([](const Tensor& x) { return x + 1; }, named("f"));
  for (int i = 0; i < 5; ++i) f(ones({2}));
  f(ones({3}));
  {
    StanceScope eager(Stance::ForceEager);
    f(ones({3}));
  }
  const Stats s = f.stats();
  const std::string text = s.text();
  for (const char* part : {"calls 7: 4 hits (57.1 %)", "2 misses", "ran eagerly 1: 1 by stance", "2 entries",
                           "miss of entry 0: args[0].size(0) == 2 failed: got 3"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  std::ostringstream printed;
  printed << s;
  EXPECT_EQ(printed.str(), text);
  const Json json = Json::parse(s.json());
  EXPECT_EQ(json.at("calls"), 7);
  EXPECT_EQ(json.at("hits"), 4);
  EXPECT_EQ(json.at("eager").at("by_stance"), 1);
  for (const char* field :
       {"guard_us", "follow_us", "run_us", "hit_rate", "recompile_rate", "average_call_us", "break_even", "storms", "recent_misses"})
    EXPECT_TRUE(json.contains(field)) << field;
}

TEST(Report, NamesThatAreNoText) {
  auto f = compile([](const Tensor& x) { return x + 1; }, {.name = "<f> \"& 'x' \xff"});
  start_trace();
  f(ones({2}));
  stop_trace();
  EXPECT_TRUE(Json::accept(f.report().json()));
  EXPECT_TRUE(Json::accept(explain(f)(ones({2})).json()));
  EXPECT_TRUE(Json::accept(trace_json()));
  const std::string page = report_html({f.report()}, trace_events());
  testing::expect_self_contained_page(page);
  EXPECT_NE(page.find("&lt;f&gt; &quot;&amp; &#39;x&#39; ?"), std::string::npos);
}

TEST(Report, ShowsMissesWithoutATraceToo) {
  auto f = compile([](const std::map<std::string, Tensor>& m) { return m.at("a.b") + 1; }, named("f"));
  f({{"a.b", ones({2})}});
  f({{"a.b", ones({3})}});
  const std::string page = report_html({f.report()}, {});
  testing::expect_self_contained_page(page);
  EXPECT_NE(page.find("failed: got <code>3</code>"), std::string::npos) << page;
  EXPECT_NE(page.find("No call was traced"), std::string::npos);
  EXPECT_NE(page.find("<summary><code>args[0][&quot;a.b&quot;]</code></summary>"), std::string::npos) << page;
  EXPECT_EQ(f.report().entries.size(), 2u);
}

}  // namespace
}  // namespace tailor
