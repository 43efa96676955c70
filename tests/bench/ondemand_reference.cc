// What one core reaches on these bytes: simdjson's on-demand parser takes three
// fields out of each line of a file that is in memory and warm. Prints one line
// of JSON; whole_process.py sets our rate beside it.
//
//   ondemand_reference FILE
#include "core/base/check.h"

#include <simdjson.h>

#include <sys/stat.h>
#include <time.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string_view>

namespace {

// As much as is parsed before the clock starts.
constexpr size_t kWarmUpBytes = size_t{64} << 20;

struct Text {
  std::unique_ptr<char[]> bytes;
  size_t size = 0;
};

// The file, with the padding behind it that simdjson may read.
Text ReadWhole(const char* path) {
  struct stat stat {};
  CHECK_EQ(::stat(path, &stat), 0) << path;
  Text text;
  text.size = static_cast<size_t>(stat.st_size);
  text.bytes = std::make_unique<char[]>(text.size + simdjson::SIMDJSON_PADDING);
  std::ifstream in(path, std::ios::binary);
  in.read(text.bytes.get(), static_cast<std::streamsize>(text.size));
  CHECK_EQ(in.gcount(), stat.st_size) << path;
  return text;
}

struct Sum {
  uint64_t records = 0;
  // Of all three fields, so that none of them can be left out.
  uint64_t id = 0;
  uint64_t user_bytes = 0;
  double latency_ms = 0;
};

void Add(simdjson::ondemand::document& record, Sum& sum) {
  uint64_t id = 0;
  double latency_ms = 0;
  simdjson::ondemand::value user;
  CHECK_EQ(record["id"].get(id), simdjson::SUCCESS);
  CHECK_EQ(record["latency_ms"].get(latency_ms), simdjson::SUCCESS);
  CHECK_EQ(record["user"].get(user), simdjson::SUCCESS);
  std::string_view name;
  if (user.get(name) != simdjson::SUCCESS) name = {};  // It is null.
  ++sum.records;
  sum.id += id;
  sum.latency_ms += latency_ms;
  sum.user_bytes += name.size();
}

Sum Parse(const Text& text, size_t size) {
  simdjson::ondemand::parser parser;
  Sum sum;
  const char* at = text.bytes.get();
  const char* const end = at + size;
  while (at < end) {
    const void* const found =
        std::memchr(at, '\n', static_cast<size_t>(end - at));
    const char* const line_end =
        found == nullptr ? end : static_cast<const char*>(found);
    const auto line = static_cast<size_t>(line_end - at);
    simdjson::ondemand::document record;
    CHECK_EQ(
        parser.iterate(at, line, line + simdjson::SIMDJSON_PADDING).get(record),
        simdjson::SUCCESS);
    Add(record, sum);
    at = line_end + 1;
  }
  return sum;
}

double SecondsOf(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  CHECK_EQ(argc, 2) << "usage: ondemand_reference FILE";
  const Text text = ReadWhole(argv[1]);
  // Up to the end of a line.
  size_t warm_up = std::min(kWarmUpBytes, text.size);
  while (warm_up > 0 && text.bytes[warm_up - 1] != '\n') --warm_up;
  const Sum warm = Parse(text, warm_up);

  const double wall = SecondsOf(CLOCK_MONOTONIC);
  const double cpu = SecondsOf(CLOCK_THREAD_CPUTIME_ID);
  const Sum sum = Parse(text, text.size);
  std::printf(
      "{\"bytes\":%zu,\"records\":%ju,\"wall_s\":%.6f,\"cpu_s\":%.6f,"
      "\"sums\":[%ju,%ju,%.3f,%ju]}\n",
      text.size, static_cast<uintmax_t>(sum.records),
      SecondsOf(CLOCK_MONOTONIC) - wall,
      SecondsOf(CLOCK_THREAD_CPUTIME_ID) - cpu, static_cast<uintmax_t>(sum.id),
      static_cast<uintmax_t>(sum.user_bytes), sum.latency_ms,
      static_cast<uintmax_t>(warm.records));
  return 0;
}
