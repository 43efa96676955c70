#include "core/compress/compressor.h"

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/compress/decoder.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

using testing::Each;
using testing::Le;
using testing::SizeIs;

struct Codec {
  const char* name;
  Compression compression;
  int level;
};

class CompressorTest : public testing::TestWithParam<Codec> {
 protected:
  CompressorTest()
      : compressor_(MakeCompressor(GetParam().compression, GetParam().level)) {}

  absl::Status Take(absl::string_view bytes) {
    pieces_.emplace_back(bytes);
    return absl::OkStatus();
  }
  void AddMember(absl::string_view bytes, size_t piece_bytes) {
    const auto take = [this](absl::string_view out) { return Take(out); };
    compressor_->Begin();
    while (!bytes.empty()) {
      ASSERT_OK(compressor_->Add(bytes.substr(0, piece_bytes), take));
      bytes.remove_prefix(std::min(piece_bytes, bytes.size()));
    }
    ASSERT_OK(compressor_->End(take));
  }
  std::string Compressed() const {
    std::string all;
    for (const std::string& piece : pieces_) all += piece;
    return all;
  }
  // All of `bytes`, which must be whole members.
  static std::string Decompressed(absl::string_view bytes) {
    const auto decoder = MakeDecoder(GetParam().compression);
    std::string result;
    std::string out(1000, '\0');
    while (true) {
      const auto progress = decoder->Decode(bytes, std::span(out));
      EXPECT_EQ(decoder->defect(), std::nullopt);
      if (progress.consumed == 0 && progress.produced == 0) break;
      result.append(out, 0, progress.produced);
      bytes.remove_prefix(progress.consumed);
    }
    EXPECT_TRUE(bytes.empty());
    EXPECT_TRUE(decoder->MayEnd());
    return result;
  }
  static std::string Noise(size_t size) {
    Random random(7);
    std::string noise(size, '\0');
    for (char& c : noise) c = static_cast<char>(random.Uniform(256));
    return noise;
  }

  const std::unique_ptr<Compressor> compressor_;
  std::vector<std::string> pieces_;
};

TEST_P(CompressorTest, MembersComeBackOneBehindTheOther) {
  AddMember("one\ntwo\n", 3);
  const size_t first = Compressed().size();
  AddMember("three\n", 100);
  EXPECT_EQ(Decompressed(Compressed()), "one\ntwo\nthree\n");
  EXPECT_EQ(Decompressed(Compressed().substr(0, first)), "one\ntwo\n");
}

TEST_P(CompressorTest, EmptyMemberIsWhole) {
  AddMember("", 1);
  EXPECT_EQ(Decompressed(Compressed()), "");
}

TEST_P(CompressorTest, MuchLeavesInBlocks) {
  const std::string noise = Noise(size_t{1} << 20);
  AddMember(noise, 12345);
  EXPECT_THAT(pieces_, SizeIs(testing::Ge(8)));
  EXPECT_THAT(pieces_, Each(SizeIs(Le(Compressor::kOutputBlockBytes))));
  EXPECT_EQ(Decompressed(Compressed()), noise);
}

TEST_P(CompressorTest, MemberThatWasGivenUpLeavesNothingInTheNext) {
  const auto fail = [](absl::string_view) {
    return MakeError(Reason::STORAGE_FULL, "no room");
  };
  compressor_->Begin();
  EXPECT_THAT(compressor_->Add(Noise(size_t{1} << 20), fail),
              HasReason(Reason::STORAGE_FULL));
  AddMember("row\n", 100);
  EXPECT_EQ(Decompressed(Compressed()), "row\n");
}

TEST_P(CompressorTest, SaysWhatItHolds) {
  AddMember(Noise(size_t{1} << 20), 1 << 20);
  EXPECT_GT(compressor_->MemoryBytes(), Compressor::kOutputBlockBytes);
  EXPECT_LT(compressor_->MemoryBytes(), uint64_t{60} << 20);
}

INSTANTIATE_TEST_SUITE_P(
    All, CompressorTest,
    testing::Values(Codec{"Gzip", Compression::kGzip, 0},
                    Codec{"GzipLowest", Compression::kGzip, 1},
                    Codec{"GzipHighest", Compression::kGzip, 9},
                    Codec{"Zstd", Compression::kZstd, 0},
                    Codec{"ZstdLowest", Compression::kZstd, 1},
                    Codec{"ZstdHighest", Compression::kZstd, 12}),
    [](const auto& test) { return test.param.name; });

TEST(CompressionLevelsTest, HigherLevelsMakeLess) {
  Random random(3);
  std::string text;
  for (int i = 0; i < 20000; ++i) {
    absl::StrAppend(&text, "order ", random.Uniform(1000), " of user ",
                    random.Uniform(50), " is open\n");
  }
  for (const Compression compression :
       {Compression::kGzip, Compression::kZstd}) {
    std::vector<size_t> sizes;
    const CompressionLevels levels = LevelsOf(compression);
    for (const int level : {levels.lowest, levels.highest}) {
      size_t size = 0;
      const auto take = [&size](absl::string_view bytes) {
        size += bytes.size();
        return absl::OkStatus();
      };
      const auto compressor = MakeCompressor(compression, level);
      compressor->Begin();
      ASSERT_OK(compressor->Add(text, take));
      ASSERT_OK(compressor->End(take));
      sizes.push_back(size);
    }
    EXPECT_LT(sizes[1], sizes[0]);
  }
}

}  // namespace
}  // namespace penstock::core
