#include "core/record/value_arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

TEST(ValueArenaTest, HoldsNothingAtFirst) {
  EXPECT_EQ(ValueArena().MemoryBytes(), 0u);
}

TEST(ValueArenaTest, EmptyTextAndNoValuesCostNothing) {
  ValueArena arena;
  EXPECT_EQ(arena.Copy(""), "");
  EXPECT_TRUE(arena.Values(0).empty());
  EXPECT_EQ(arena.MemoryBytes(), 0u);
}

TEST(ValueArenaTest, WhatItGaveOutStaysWhileItGrows) {
  ValueArena arena;
  std::vector<absl::string_view> copies;
  std::vector<std::span<Value>> spans;
  for (size_t i = 0; i < 5000; ++i) {
    copies.push_back(arena.Copy(std::to_string(i)));
    spans.push_back(arena.Values(i % 3 + 1));
    for (Value& value : spans.back()) {
      EXPECT_TRUE(value.is_null());
      value = Value::String(copies.back());
    }
  }
  for (size_t i = 0; i < 5000; ++i) {
    ASSERT_EQ(copies[i], std::to_string(i));
    ASSERT_EQ(spans[i].back().AsString(), std::to_string(i));
  }
}

TEST(ValueArenaTest, WhatWasNotWrittenIsUsedForWhatComesNext) {
  ValueArena arena;
  const auto write = [](absl::string_view text) {
    return [text](char* to) {
      std::copy(text.begin(), text.end(), to);
      return text.size();
    };
  };
  const absl::string_view first = arena.Write(4'000, write("one"));
  const absl::string_view second = arena.Write(4'000, write("two"));
  EXPECT_EQ(first, "one");
  EXPECT_EQ(second, "two");
  EXPECT_EQ(arena.Write(0, write("")), "");
  EXPECT_EQ(arena.MemoryBytes(), 4'096u);
}

TEST(ValueArenaTest, ValuesAreAlignedAfterAnyText) {
  ValueArena arena;
  for (size_t i = 1; i < 40; ++i) {
    arena.Copy(std::string(i, 'x'));
    const auto address = reinterpret_cast<uintptr_t>(arena.Values(1).data());
    ASSERT_EQ(address % alignof(Value), 0u) << i;
  }
}

TEST(ValueArenaTest, ALargeTextGetsMemoryOfItsOwn) {
  ValueArena arena;
  const std::string large(1'000'000, 'x');
  EXPECT_EQ(arena.Copy(large), large);
  EXPECT_GE(arena.MemoryBytes(), large.size());
  EXPECT_LE(arena.MemoryBytes(), large.size() + 4096);
}

TEST(ValueArenaTest, MemoryStaysNearWhatIsUsed) {
  ValueArena arena;
  for (int i = 0; i < 10'000; ++i) arena.Copy(std::string(100, 'x'));
  EXPECT_GE(arena.MemoryBytes(), 1'000'000u);
  EXPECT_LE(arena.MemoryBytes(), 1'500'000u);
}

TEST(ValueArenaTest, MovingMovesNoBytes) {
  ValueArena arena;
  const absl::string_view text = arena.Copy("text");
  ValueArena moved = std::move(arena);
  EXPECT_EQ(text, "text");
  EXPECT_GT(moved.MemoryBytes(), 0u);
  arena = ValueArena();
  arena.Copy("other");
  EXPECT_EQ(text, "text");
}

}  // namespace
}  // namespace penstock::core
