#include "client/cli/input_size.h"

#include "core/base/filesystem.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <cstdint>
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
                   const std::string& head = "") {
    std::string text = absl::StrCat("name: p\n", head, "connectors:\n");
    int number = 0;
    for (const std::string& source : sources) {
      absl::StrAppend(&text, "  - {name: c", ++number, ", source: {", source,
                      "}, format: {raw: {}}, sink: {\"null\": {}}}\n");
    }
    const auto pipeline = ParsePipelineFile(text, "p.yaml");
    EXPECT_OK(pipeline.status());
    return InputBytesOf(core::PosixFileSystem(), *pipeline);
  }
  std::string File(const std::string& name, const std::string& more = "") {
    return absl::StrCat("file: {path: '", directory_.Path(name), "'", more,
                        "}");
  }

  const core::TempDir directory_;
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

}  // namespace
}  // namespace penstock::client
