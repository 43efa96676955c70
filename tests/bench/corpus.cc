#include "tests/bench/corpus.h"

#include "core/base/random.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <array>
#include <cstdlib>

namespace penstock::core {
namespace {

template <size_t kCount>
absl::string_view PickOne(Random& random,
                          const std::array<absl::string_view, kCount>& from) {
  return from[random.Uniform(kCount)];
}

constexpr std::array<absl::string_view, 8> kServices = {
    "api-gateway", "billing", "auth",       "search",
    "inventory",   "notify",  "edge-cache", "ledger"};
constexpr std::array<absl::string_view, 6> kMethods = {"GET",  "GET", "GET",
                                                       "POST", "PUT", "DELETE"};
constexpr std::array<absl::string_view, 8> kMessages = {
    "request completed",      "cache miss for key",
    "user session refreshed", "upstream timed out, retrying",
    "payment captured",       "connection reset by peer",
    "slow query detected",    "rate limit applied"};
constexpr std::array<absl::string_view, 2> kQuotedMessages = {
    R"(said \"hello\", then left)", R"(bad field \"qty\", expected int)"};
constexpr std::array<absl::string_view, 2> kUnicodeMessages = {
    "gel\u00f6scht \u2013 d\u00e9j\u00e0 vu",
    "\u043e\u0448\u0438\u0431\u043a\u0430 \u0441\u0435\u0442\u0438"};
constexpr std::array<absl::string_view, 8> kTags = {
    "eu", "us", "prod", "canary", "beta", "mobile", "web", "batch"};

absl::string_view PickMessage(Random& random) {
  const uint64_t kind = random.Uniform(32);
  if (kind < 2) return PickOne(random, kQuotedMessages);
  if (kind == 2) return PickOne(random, kUnicodeMessages);
  return PickOne(random, kMessages);
}

void AppendRecord(uint64_t id, int64_t time_ms, Random& random,
                  std::string& text) {
  const uint64_t level = random.Uniform(10);
  const absl::string_view level_name =
      level < 7 ? "INFO" : (level < 9 ? "WARN" : "ERROR");
  const int status = level < 7 ? 200 : (level < 9 ? 429 : 500);
  std::string user = "null";
  if (random.Uniform(64) != 0) {
    user = absl::StrFormat("\"u%08x\"", random.Uniform(uint64_t{1} << 32));
  }
  absl::StrAppend(
      &text, "{\"id\":", id, ",\"ts\":\"",
      absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixMillis(time_ms),
                       absl::UTCTimeZone()),
      "\",\"level\":\"", level_name, "\",\"service\":\"",
      PickOne(random, kServices), "\",\"method\":\"", PickOne(random, kMethods),
      "\",\"status\":", status);
  absl::StrAppendFormat(&text, ",\"latency_ms\":%.3f,\"bytes\":%d",
                        random.Double() * 250,
                        random.Uniform(uint64_t{1} << 20));
  absl::StrAppend(&text, ",\"user\":", user,
                  ",\"ok\":", status == 200 ? "true" : "false",
                  ",\"message\":\"", PickMessage(random), "\"");
  absl::StrAppendFormat(&text, ",\"geo\":{\"lat\":%.5f,\"lon\":%.5f}",
                        random.Double() * 180 - 90,
                        random.Double() * 360 - 180);
  absl::StrAppend(&text, ",\"tags\":[\"", PickOne(random, kTags), "\",\"",
                  PickOne(random, kTags), "\"]}\n");
}

}  // namespace

size_t CorpusBytes() {
  const char* const mebibytes = std::getenv("PENSTOCK_BENCH_CORPUS_MIB");
  constexpr size_t kUsual = 64;
  return (mebibytes == nullptr ? kUsual : std::stoul(mebibytes)) << 20;
}

std::string MakeNdjsonCorpus(size_t bytes_min, uint64_t seed) {
  Random random(seed);
  std::string text;
  text.reserve(bytes_min + 512);
  int64_t time_ms = 1'700'000'000'000;
  for (uint64_t id = 1; text.size() < bytes_min; ++id) {
    time_ms += static_cast<int64_t>(random.Uniform(4));
    AppendRecord(id, time_ms, random, text);
  }
  return text;
}

std::string MakeCsvCorpus(size_t bytes_min, uint64_t seed) {
  Random random(seed);
  std::string text;
  text.reserve(bytes_min + 512);
  int64_t time_ms = 1'700'000'000'000;
  for (uint64_t id = 1; text.size() < bytes_min; ++id) {
    time_ms += static_cast<int64_t>(random.Uniform(4));
    const uint64_t level = random.Uniform(10);
    const int status = level < 7 ? 200 : (level < 9 ? 429 : 500);
    absl::StrAppend(
        &text, id, ",",
        absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixMillis(time_ms),
                         absl::UTCTimeZone()),
        ",", level < 7 ? "INFO" : (level < 9 ? "WARN" : "ERROR"), ",",
        PickOne(random, kServices), ",", PickOne(random, kMethods), ",",
        status);
    absl::StrAppendFormat(&text, ",%.3f,%d,", random.Double() * 250,
                          random.Uniform(uint64_t{1} << 20));
    if (random.Uniform(64) != 0) {
      absl::StrAppendFormat(&text, "u%08x", random.Uniform(uint64_t{1} << 32));
    }
    const std::string message =
        absl::StrReplaceAll(PickMessage(random), {{"\\\"", "\"\""}});
    const absl::string_view quote =
        message.find_first_of("\",") == std::string::npos ? "" : "\"";
    absl::StrAppend(&text, ",", status == 200 ? "true" : "false", ",", quote,
                    message, quote, "\n");
  }
  return text;
}

}  // namespace penstock::core
