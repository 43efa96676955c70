// The contract suite for sources, over the smallest right source.
#include "deploy/examples/source/memory_source.h"
#include "tests/contract/source_suite.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

namespace penstock::core {
namespace {

class MemoryDriver final : public SourceDriver {
 public:
  SourceCapabilities capabilities() const override {
    return {.level = FtModel::kExactlyOnce};
  }
  std::vector<OwnedRecord> Write(size_t count) override {
    std::vector<OwnedRecord> written;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t number = log_.size();
      const std::string text =
          absl::StrCat("record ", number, std::string(number % 40 + 12, '.'));
      log_.Append(text);
      OwnedRecord record;
      record.value = text;
      record.partition = MemoryLog::PartitionOf(number);
      record.offset = static_cast<int64_t>(number);
      written.push_back(record);
    }
    return written;
  }
  void WriteBad() override { log_.Append(std::string(MemoryLog::kBad)); }
  void Break() override { log_.Break(); }
  void Tamper() override { log_.Replace(0, "tampered"); }
  Made Make(const MakeOptions& options) override {
    return {
        .endpoint = std::make_unique<MemorySource>(log_, options.read_bytes),
        .parser = nullptr};
  }

 private:
  MemoryLog log_;
};

INSTANTIATE_TEST_SUITE_P(Memory, SourceContractTest,
                         testing::Values(SourceDriverFactory{
                             "plain",
                             [] { return std::make_unique<MemoryDriver>(); }}),
                         SourceDriverName);

}  // namespace
}  // namespace penstock::core
