// A damaged file gives what comes before the damage, then one defect; how much
// is asked for at a time changes neither: in a replay it is other amounts.
#include "core/base/random.h"
#include "core/compress/compression.h"
#include "core/compress/decoder.h"
#include "tests/support/compress.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

struct Outcome {
  std::string content;
  // "truncated" if the input ended within a member.
  std::string defect;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// Reads `in_bytes` and asks for `out_bytes` at a time.
Outcome Decode(absl::string_view file, size_t in_bytes, size_t out_bytes) {
  const std::unique_ptr<Decoder> decoder = MakeDecoder(Compression::kGzip);
  Outcome outcome;
  std::string out(out_bytes, '\0');
  absl::string_view piece = file.substr(0, in_bytes);
  file.remove_prefix(piece.size());
  while (true) {
    const Decoder::Progress progress =
        decoder->Decode(piece, std::span<char>(out));
    outcome.content.append(out, 0, progress.produced);
    piece.remove_prefix(progress.consumed);
    if (decoder->defect().has_value()) {
      outcome.defect = decoder->defect()->tag;
      return outcome;
    }
    if (progress.consumed > 0 || progress.produced > 0) continue;
    if (!piece.empty()) ADD_FAILURE() << piece.size() << " bytes are stuck";
    if (file.empty() || !piece.empty()) break;
    piece = file.substr(0, in_bytes);
    file.remove_prefix(piece.size());
  }
  if (!decoder->MayEnd()) outcome.defect = "truncated";
  return outcome;
}

// Well above what isa-l decodes ahead (64 KiB), and not all alike.
std::string Content() {
  Random random(11);
  std::string content;
  while (content.size() < 200'000) {
    absl::StrAppend(&content, "{\"id\":", random.Uniform(1'000'000),
                    ",\"word\":\"w", random.Uniform(50), "\"}\n");
  }
  return content;
}

// As the file source reads.
constexpr size_t kInputBytes = 65'536;

void ExpectTheSameForEachRoom(const std::string& file,
                              absl::string_view content) {
  const Outcome whole = Decode(file, kInputBytes, 1 << 20);
  EXPECT_NE(whole.defect, "");
  for (const size_t out_bytes : {65'536, 4'097, 10'000, 70'000}) {
    const Outcome outcome = Decode(file, kInputBytes, out_bytes);
    EXPECT_EQ(outcome.defect, whole.defect) << out_bytes;
    EXPECT_EQ(outcome.content.size(), whole.content.size()) << out_bytes;
    EXPECT_TRUE(outcome.content == whole.content);
  }
  if (whole.defect == "truncated") {
    EXPECT_TRUE(absl::StartsWith(content, whole.content));
  }
}

// At a cut amid a block isa-l may keep the last symbols whose bits are all
// there, because it looks up several at once: which, depends on the pieces of
// the input.
TEST(GzipDamageTest, PiecesOfTheInputMoveTheEndAtACutByTwoBytesAtMost) {
  const std::string content = Content();
  const std::string file = Gzip(content);
  for (size_t cut = 1; cut < file.size(); cut += file.size() / 40) {
    SCOPED_TRACE(cut);
    const absl::string_view some(file.data(), cut);
    const std::string whole = Decode(some, kInputBytes, 1 << 20).content;
    for (const size_t in_bytes : {1, 100, 1'000, 4'096}) {
      const std::string pieces = Decode(some, in_bytes, 1 << 20).content;
      EXPECT_TRUE(absl::StartsWith(content, pieces));
      EXPECT_LE(pieces.size(), whole.size() + 2);
      EXPECT_GE(pieces.size() + 2, whole.size());
    }
  }
}

TEST(GzipDamageTest, EveryCutGivesTheSameContentForEachRoom) {
  const std::string content = Content();
  const std::string file = Gzip(content);
  for (size_t cut = 1; cut < file.size(); cut += file.size() / 40) {
    SCOPED_TRACE(cut);
    ExpectTheSameForEachRoom(file.substr(0, cut), content);
  }
}

TEST(GzipDamageTest, EveryFlippedByteGivesTheSameContentForEachRoom) {
  const std::string content = Content();
  const std::string file = Gzip(content);
  Random random(5);
  // Behind the header, some of whose bytes mean nothing.
  for (size_t at = 10; at < file.size(); at += file.size() / 150) {
    SCOPED_TRACE(at);
    std::string damaged = file;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 + random.Uniform(255)));
    ExpectTheSameForEachRoom(damaged, content);
  }
}

TEST(GzipDamageTest, ContentComesByteByByteUpToTheDamage) {
  const std::string file = Gzip(Content());
  std::string damaged = file;
  damaged[file.size() / 2] ^= 0x55;
  const Outcome whole = Decode(damaged, damaged.size(), 1 << 20);
  EXPECT_EQ(Decode(damaged, damaged.size(), 1), whole);
}

}  // namespace
}  // namespace penstock::core
