// Protobuf over 4 MiB of log records, a message each: rows of them here, beside
// what the library takes to parse the same into objects that nobody reads.
#include "core/base/check.h"
#include "core/format/protobuf/protobuf_format.h"
#include "core/record/block.h"
#include "server/schemas/protobuf_compiler.h"
#include "server/schemas/protobuf_files.h"
#include "tests/bench/corpus.h"

#include <absl/strings/str_split.h>
#include <absl/strings/string_view.h>
#include <benchmark/benchmark.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/util/json_util.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::server {
namespace {

constexpr char kFile[] = R"(syntax = "proto3";
message Log {
  int64 id = 1; string ts = 2; string level = 3; string service = 4;
  int32 status = 5; double latency_ms = 6; int64 bytes = 7; string user = 8;
  bool ok = 9; string message = 10; repeated string tags = 11;
}
)";
constexpr size_t kCorpusBytes = size_t{4} << 20;

// The library's, and records that it wrote.
class Corpus {
 public:
  Corpus()
      : files_(*ProtobufFiles::Parse({.text = kFile, .type = "PROTOBUF"})),
        prototype_(factory_.GetPrototype(files_->file().message_type(0))) {
    google::protobuf::util::JsonParseOptions options;
    options.ignore_unknown_fields = true;
    const std::string text = core::MakeNdjsonCorpus(kCorpusBytes, 42);
    const std::unique_ptr<google::protobuf::Message> message(prototype_->New());
    for (const absl::string_view line :
         absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      message->Clear();
      const auto read = google::protobuf::util::JsonStringToMessage(
          std::string(line), message.get(), options);
      CHECK(read.ok()) << read.ToString();
      records_.push_back(message->SerializeAsString());
      bytes_ += records_.back().size();
    }
  }

  const google::protobuf::Message& prototype() const { return *prototype_; }
  std::shared_ptr<const core::ProtobufSchema> schema() const {
    return TabulateProtobuf(files_->file());
  }
  const std::vector<std::string>& records() const { return records_; }

  void Count(benchmark::State& state) const {
    const auto rounds = static_cast<int64_t>(state.iterations());
    state.SetBytesProcessed(rounds * static_cast<int64_t>(bytes_));
    state.SetItemsProcessed(rounds * static_cast<int64_t>(records_.size()));
  }

 private:
  const std::unique_ptr<ProtobufFiles> files_;
  google::protobuf::DynamicMessageFactory factory_;
  const google::protobuf::Message* const prototype_;
  std::vector<std::string> records_;
  size_t bytes_ = 0;
};

const Corpus& TheCorpus() {
  static const Corpus& corpus = *new Corpus;
  return corpus;
}

void BM_ProtobufParse_Rows(benchmark::State& state) {
  const Corpus& corpus = TheCorpus();
  core::ProtobufParser parser(
      {.schema = {{{.name = "id", .type = core::SqlType::kBigint},
                   {.name = "level"},
                   {.name = "service"},
                   {.name = "status", .type = core::SqlType::kInteger},
                   {.name = "latency_ms", .type = core::SqlType::kDouble},
                   {.name = "bytes", .type = core::SqlType::kBigint},
                   {.name = "user"},
                   {.name = "ok", .type = core::SqlType::kBoolean},
                   {.name = "message"},
                   {.name = "tags",
                    .type = core::SqlType::kArray,
                    .children = {{.name = "element"}}}}},
       .written_with = corpus.schema()});
  std::vector<std::shared_ptr<core::Block>> blocks;
  for (const std::string& record : corpus.records()) {
    blocks.push_back(std::make_shared<core::Block>(record.size()));
    std::memcpy(blocks.back()->data(), record.data(), record.size());
  }
  for (auto _ : state) {
    for (size_t i = 0; i < blocks.size(); ++i) {
      const core::ParseResult result = parser.Parse(
          {.block = blocks[i],
           .size = static_cast<uint32_t>(corpus.records()[i].size()),
           .is_last = true});
      CHECK_EQ(result.records, 1u);
    }
  }
  corpus.Count(state);
}
BENCHMARK(BM_ProtobufParse_Rows);

// Objects that are made anew in memory that is used again.
void BM_ProtobufLibrary_Arena(benchmark::State& state) {
  const Corpus& corpus = TheCorpus();
  std::vector<char> memory(size_t{64} << 10);
  google::protobuf::ArenaOptions options;
  options.initial_block = memory.data();
  options.initial_block_size = memory.size();
  google::protobuf::Arena arena(options);
  for (auto _ : state) {
    for (const std::string& record : corpus.records()) {
      google::protobuf::Message* const message = corpus.prototype().New(&arena);
      CHECK(message->ParseFromString(record));
      benchmark::DoNotOptimize(message);
      arena.Reset();
    }
  }
  corpus.Count(state);
}
BENCHMARK(BM_ProtobufLibrary_Arena);

// One object that is cleared.
void BM_ProtobufLibrary_Reused(benchmark::State& state) {
  const Corpus& corpus = TheCorpus();
  const std::unique_ptr<google::protobuf::Message> message(
      corpus.prototype().New());
  for (auto _ : state) {
    for (const std::string& record : corpus.records()) {
      CHECK(message->ParseFromString(record));
      benchmark::DoNotOptimize(message.get());
    }
  }
  corpus.Count(state);
}
BENCHMARK(BM_ProtobufLibrary_Reused);

}  // namespace
}  // namespace penstock::server
