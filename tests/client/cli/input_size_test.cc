#include "client/cli/input_size.h"

#include "core/base/clock.h"
#include "core/base/filesystem.h"
#include "tests/support/fake_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>

namespace penstock::client {
namespace {

class InputSizeTest : public testing::Test {
 protected:
  InputSizeTest() {
    std::ofstream(directory_.Path("a.log")) << std::string(100, 'a');
    std::ofstream(directory_.Path("b.log")) << std::string(23, 'b');
    // gzip's magic number.
    std::ofstream(directory_.Path("c.gz")) << "\x1f\x8b\x08 and so on";
  }
  // Of a pipeline with one connector for each of these sources.
  uint64_t BytesOf(std::initializer_list<std::string> sources,
                   const std::string& head = "",
                   const std::string& format = "raw: {}") {
    std::string text = absl::StrCat("name: p\n", head, "connectors:\n");
    int number = 0;
    for (const std::string& source : sources) {
      absl::StrAppend(&text, "  - {name: c", ++number, ", source: {", source,
                      "}, format: {", format, "}, sink: {\"null\": {}}}\n");
    }
    const auto pipeline = ParsePipelineFile(text, "p.yaml");
    EXPECT_OK(pipeline.status());
    return InputBytesOf(core::PosixFileSystem(), *clock_, *pipeline);
  }
  std::string File(const std::string& name, const std::string& more = "") {
    return absl::StrCat("file: {path: '", directory_.Path(name), "'", more,
                        "}");
  }

  const core::TempDir directory_;
  core::FakeClock still_;
  const core::Clock* clock_ = &still_;
};

// Of a disk on which each look takes long.
class SlowClock final : public core::Clock {
 public:
  absl::Time Now() const override { return now_; }
  absl::Time SteadyNow() const override {
    return now_ += absl::Milliseconds(300);
  }

 private:
  mutable absl::Time now_ = absl::UnixEpoch();
};

TEST_F(InputSizeTest, IsThatOfAllFilesThatMatch) {
  EXPECT_EQ(BytesOf({File("*.log")}), 123u);
  EXPECT_EQ(BytesOf({File("a.log"), File("b.log", ", compression: none")}),
            123u);
}

TEST_F(InputSizeTest, IsUnknownAsSoonAsThatOfOneIs) {
  EXPECT_EQ(BytesOf({File("*.log", ", follow: true")}), 0u);
  EXPECT_EQ(BytesOf({File("c.gz")}), 0u);
  EXPECT_EQ(BytesOf({File("*")}), 0u);
  EXPECT_EQ(BytesOf({File("no-such")}), 0u);
  EXPECT_EQ(BytesOf({File("a.log"), File("no-such")}), 0u);
  EXPECT_EQ(BytesOf({File("a.log")},
                    "workers: [{name: far, address: '127.0.0.1:7070'}]\n"),
            0u);
}

// Of others nobody can say how their bytes and those of their records compare.
TEST_F(InputSizeTest, IsKnownOfLinesOnly) {
  EXPECT_EQ(BytesOf({File("a.log")}, "", "ndjson: {}"), 100u);
  EXPECT_EQ(BytesOf({File("a.log")}, "", "json: {}"), 0u);
  EXPECT_EQ(BytesOf({File("a.log")}, "", "msgpack: {}"), 0u);
}

// Where it would take long to find out, nobody is kept waiting.
TEST_F(InputSizeTest, IsUnknownOfVeryManyDirectories) {
  for (int i = 0; i < 300; ++i) {
    const std::string name = directory_.Path(absl::StrCat("d", i));
    std::filesystem::create_directory(name);
    std::ofstream(name + "/x.txt") << "x";
    if (i == 9) {
      EXPECT_EQ(BytesOf({File("**/*.txt")}), 10u);
    }
  }
  EXPECT_EQ(BytesOf({File("**/*.txt")}), 0u);
}

TEST_F(InputSizeTest, IsUnknownWhereTheDiskIsSlow) {
  const SlowClock slow;
  clock_ = &slow;
  EXPECT_EQ(BytesOf({File("a.log")}), 100u);
  EXPECT_EQ(BytesOf({File("?.log"), File("?.log"), File("?.log")}), 0u);
}

}  // namespace
}  // namespace penstock::client
