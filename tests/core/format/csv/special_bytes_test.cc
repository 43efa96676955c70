#include "core/format/csv/special_bytes.h"

#include "tests/support/test_rng.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

// Of many windows, with few or many of them.
std::string RandomText(Random& random) {
  std::string text(random.Uniform(4'000), 'x');
  const uint64_t distance = 1 + random.Uniform(40);
  for (char& c : text) {
    if (random.Uniform(distance) == 0) c = ",\"\n\r\\x"[random.Uniform(6)];
  }
  return text;
}

// Those of RFC 4180; behind the last one the text's end.
std::vector<uint32_t> OffsetsOf(const std::string& text) {
  std::vector<uint32_t> offsets;
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::string(",\"\n\r").find(text[i]) == std::string::npos) continue;
    offsets.push_back(static_cast<uint32_t>(i));
  }
  offsets.push_back(static_cast<uint32_t>(text.size()));
  return offsets;
}

TEST(CsvSpecialBytesTest, FindsEachOnceAndThenTheEnd) {
  Random random = TestRandom();
  CsvSpecialBytes specials(CsvDialect(), CsvSpecialBytes::Fields::kFound);
  for (int round = 0; round < 500; ++round) {
    const std::string text = RandomText(random);
    specials.Begin(text);
    for (const uint32_t offset : OffsetsOf(text)) {
      ASSERT_EQ(specials.Next(), offset);
    }
    EXPECT_EQ(specials.Next(), text.size());
  }
}

TEST(CsvSpecialBytesTest, GoesBackIntoAnEarlierWindow) {
  Random random = TestRandom();
  CsvSpecialBytes specials(CsvDialect(), CsvSpecialBytes::Fields::kFound);
  for (int round = 0; round < 500; ++round) {
    const std::string text = RandomText(random);
    const std::vector<uint32_t> offsets = OffsetsOf(text);
    specials.Begin(text);
    const size_t back = random.Uniform(offsets.size());
    for (size_t i = 0; i < back; ++i) specials.Next();
    const CsvSpecialBytes::Place place = specials.place();
    const size_t on = random.Uniform(offsets.size() - back + 1);
    for (size_t i = 0; i < on; ++i) specials.Next();
    specials.GoBack(place, back == 0 ? 0 : offsets[back - 1] + 1);
    for (size_t i = back; i < offsets.size(); ++i) {
      ASSERT_EQ(specials.Next(), offsets[i]) << i << " of " << offsets.size();
    }
  }
}

}  // namespace
}  // namespace penstock::core
