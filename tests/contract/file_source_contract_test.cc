// The source "file" under the contract of all sources: over a file in memory on
// an executor of the test, and over a file on disk on real threads.
#include "core/base/path_policy.h"
#include "core/base/thread_pool_executor.h"
#include "core/format/ndjson/ndjson_format.h"
#include "core/format/raw/raw_format.h"
#include "core/sources/file/file_source.h"
#include "tests/contract/source_suite.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

enum class Format { kRaw, kNdjson };
// How the file is named and read.
enum class Mode { kSingle, kPattern, kFollowed };

// One file with a record a line. What the bytes are and what becomes of them is
// the same for both file systems; how they get there is theirs.
class FileSourceDriver : public SourceDriver {
 public:
  explicit FileSourceDriver(Format format, Mode mode = Mode::kSingle)
      : format_(format), mode_(mode) {}

  SourceCapabilities capabilities() const override {
    return {.level = FtModel::kExactlyOnce,
            .ends = mode_ != Mode::kFollowed,
            .has_bad_records = true,
            // What is followed is waited for.
            .can_break = mode_ != Mode::kFollowed,
            .can_tamper = true};
  }

  std::vector<OwnedRecord> Write(size_t count) override {
    std::vector<OwnedRecord> records;
    for (size_t i = 0; i < count; ++i) {
      const size_t number = written_++;
      OwnedRecord record;
      record.offset = static_cast<int64_t>(text_.size());
      if (format_ == Format::kNdjson) {
        record.key = absl::StrCat("user-", number % 7);
        record.value = absl::StrCat("{\"id\":", number, ",\"u\":{\"k\":\"",
                                    *record.key, "\"}}");
      } else {
        record.value =
            absl::StrCat("line ", number, std::string(number % 30, '.'));
      }
      absl::StrAppend(&text_, *record.value, "\n");
      records.push_back(std::move(record));
    }
    Store(text_);
    return records;
  }
  void WriteBad() override {
    // No bytes are bad for raw, but there may be too many of them.
    absl::StrAppend(&text_, format_ == Format::kNdjson
                                ? "{\"id\": no JSON}"
                                : std::string(2 * kRawBytesMax, 'x'));
    text_ += '\n';
    Store(text_);
  }
  void Tamper() override {
    // The first digit of the first record's number, or the first letter.
    const size_t at = format_ == Format::kNdjson ? 6 : 0;
    text_[at] = text_[at] == '9' ? '8' : '9';
    Store(text_);
  }

  Made Make(const MakeOptions& options) override {
    FileSourceConfig config;
    config.path = path();
    if (mode_ == Mode::kPattern) config.path += "*";
    config.follow = mode_ == Mode::kFollowed;
    config.block_bytes = options.read_bytes;
    Made made;
    made.endpoint = std::make_unique<FileSource>(config, environment());
    if (format_ == Format::kNdjson) {
      NdjsonConfig ndjson;
      ndjson.key = "u.k";
      made.parser = *MakeNdjsonParser(ndjson);
    } else {
      RawConfig raw;
      raw.record_bytes_max = kRawBytesMax;
      made.parser = *MakeRawParser(raw);
    }
    return made;
  }

 protected:
  // Makes the file hold `text`, in place.
  virtual void Store(absl::string_view text) = 0;
  virtual std::string path() const = 0;
  virtual Environment environment() = 0;

  const PathPolicy paths_{{}};

 private:
  static constexpr size_t kRawBytesMax = 100;

  const Format format_;
  const Mode mode_;
  std::string text_;
  size_t written_ = 0;
};

class FakeFileDriver final : public FileSourceDriver {
 public:
  explicit FakeFileDriver(Format format, Mode mode = Mode::kSingle)
      : FileSourceDriver(format, mode) {
    files_.Put(kPath, "");
  }

  void Break() override {
    files_.FailNext(FileOperation::kReadAt, path(),
                    absl::InternalError("the disk is gone"), 1'000'000);
  }
  absl::AnyInvocable<void()> MakePump() override {
    return [this] { executor_.RunUntilIdle(); };
  }

 protected:
  void Store(absl::string_view text) override { files_.Put(path(), text); }
  std::string path() const override { return kPath; }
  Environment environment() override {
    return {.files = files_,
            .io = executor_,
            .clock = executor_.clock(),
            .paths = paths_};
  }

 private:
  static constexpr char kPath[] = "/data/input";

  FakeFileSystem files_;
  ManualExecutor executor_;
};

class PosixFileDriver final : public FileSourceDriver {
 public:
  explicit PosixFileDriver(Format format)
      : FileSourceDriver(format), path_(directory_.Path("input")) {
    StoreText("");
  }

  // Cut off: nothing of it can be read any more.
  void Break() override { Store(""); }

 protected:
  void Store(absl::string_view text) override {
    const auto file = PosixFileSystem().OpenForAppend(path(), {.create = true});
    ASSERT_TRUE(file.ok() && (*file)->Truncate(0).ok() &&
                (*file)->Append(text).ok());
  }
  std::string path() const override { return directory_.Path("input"); }
  Environment environment() override {
    return {.files = PosixFileSystem(),
            .io = executor_,
            .clock = executor_.clock(),
            .paths = paths_};
  }

 private:
  void StoreText(absl::string_view text) {
    const auto file = PosixFileSystem().OpenForAppend(path_, {.create = true});
    ASSERT_TRUE(file.ok() && (*file)->Truncate(0).ok() &&
                (*file)->Append(text).ok());
  }

  TempDir directory_;
  const std::string path_;
  ThreadPoolExecutor executor_{"io", 2};
};

template <typename Driver>
std::unique_ptr<SourceDriver> MakeRawDriver() {
  return std::make_unique<Driver>(Format::kRaw);
}
template <typename Driver>
std::unique_ptr<SourceDriver> MakeNdjsonDriver() {
  return std::make_unique<Driver>(Format::kNdjson);
}

template <Mode mode>
std::unique_ptr<SourceDriver> MakeSearchingDriver() {
  return std::make_unique<FakeFileDriver>(Format::kRaw, mode);
}

INSTANTIATE_TEST_SUITE_P(
    File, SourceContractTest,
    testing::Values(
        SourceDriverFactory{"FakeRaw", MakeRawDriver<FakeFileDriver>},
        SourceDriverFactory{"FakePattern", MakeSearchingDriver<Mode::kPattern>},
        SourceDriverFactory{"FakeFollowed",
                            MakeSearchingDriver<Mode::kFollowed>},
        SourceDriverFactory{"FakeNdjson", MakeNdjsonDriver<FakeFileDriver>},
        SourceDriverFactory{"PosixRaw", MakeRawDriver<PosixFileDriver>},
        SourceDriverFactory{"PosixNdjson", MakeNdjsonDriver<PosixFileDriver>}),
    SourceDriverName);

}  // namespace
}  // namespace penstock::core
