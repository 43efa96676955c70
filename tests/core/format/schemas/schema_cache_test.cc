#include "core/format/schemas/schema_cache.h"

#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/base/notification.h"
#include "core/base/path_policy.h"
#include "core/format/avro/avro_format.h"
#include "tests/core/format/avro/avro_bytes.h"
#include "tests/core/format/parse_text.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/manual_executor.h"
#include "tests/support/status_matchers.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr absl::string_view kRecord =
    R"({"type":"record","name":"r","fields":[{"name":"v","type":"long"}]})";

// What the configuration calls bad.
constexpr uint32_t kBadId = 7'777;

// Answers in the order it is told to.
class ScriptedSource final : public SchemaSource {
 public:
  struct Script {
    Mutex mu;
    std::deque<absl::StatusOr<RegisteredSchema>> answers ABSL_GUARDED_BY(mu);
    int asked ABSL_GUARDED_BY(mu) = 0;
  };
  explicit ScriptedSource(Script& script) : script_(script) {}

  absl::StatusOr<RegisteredSchema> Fetch(
      uint32_t /*id*/, const std::stop_token& /*stop*/) override {
    MutexLock lock(script_.mu);
    ++script_.asked;
    absl::StatusOr<RegisteredSchema> answer = script_.answers.front();
    if (script_.answers.size() > 1) script_.answers.pop_front();
    return answer;
  }

 private:
  Script& script_;
};

class SchemaCacheTest : public testing::Test {
 protected:
  MakeSchemaSource MakeSource() {
    return [this](const SchemaRegistryConfig&, const Environment&) {
      return std::make_unique<ScriptedSource>(script_);
    };
  }
  void SetUp() override {
    ASSERT_OK(cache_.Start(environment_));
    cache_.SetWake([this] {
      MutexLock lock(mu_);
      ++wakes_;
      woken_.NotifyAll();
    });
  }
  void Answer(std::string text) {
    Answer(RegisteredSchema{.text = std::move(text)});
  }
  void Answer(absl::StatusOr<RegisteredSchema> answer) {
    MutexLock lock(script_.mu);
    script_.answers.push_back(std::move(answer));
  }
  int asked() {
    MutexLock lock(script_.mu);
    return script_.asked;
  }
  // Asks, and, where that fetches, waits for the answer to come and asks again.
  bool Ask(uint32_t id, bool is_due = true) {
    int wakes = 0;
    {
      MutexLock lock(mu_);
      wakes = wakes_;
    }
    if (cache_.IsReady(AvroBytes().Framed(id))) return true;
    if (!is_due) return false;
    {
      MutexLock lock(mu_);
      woken_.Wait(mu_, [this, wakes] {
        mu_.AssertHeld();
        return wakes_ != wakes;
      });
    }
    return cache_.IsReady(AvroBytes().Framed(id));
  }

  ScriptedSource::Script script_;
  Mutex mu_;
  CondVar woken_;
  int wakes_ ABSL_GUARDED_BY(mu_) = 0;
  FakeFileSystem files_;
  ManualExecutor executor_;
  const PathPolicy paths_{{}};
  const Environment environment_{.files = files_,
                                 .io = executor_,
                                 .clock = executor_.clock(),
                                 .paths = paths_};
  SchemaCache cache_{
      {.bad_schema_ids = {kBadId}}, MakeSource(), AvroLanguage()};
};

TEST_F(SchemaCacheTest, ASchemaIsAskedForOnce) {
  Answer(std::string(kRecord));
  EXPECT_TRUE(Ask(7));
  ASSERT_NE(cache_.Find(7), nullptr);
  EXPECT_NE(cache_.Find(7)->schema, nullptr);
  EXPECT_TRUE(Ask(7));
  EXPECT_EQ(asked(), 1);
  EXPECT_EQ(cache_.Find(8), nullptr);
}

TEST_F(SchemaCacheTest, WhatHasNoNumberWaitsForNothing) {
  EXPECT_TRUE(cache_.IsReady(""));
  EXPECT_TRUE(cache_.IsReady("\x01zzzz"));
  EXPECT_EQ(asked(), 0);
}

TEST_F(SchemaCacheTest, ARegistryThatIsDownIsAskedAgainAfterAWhile) {
  Answer(MakeError(Reason::UNAVAILABLE, "it is down"));
  EXPECT_FALSE(Ask(7));
  EXPECT_EQ(cache_.Health().condition, Condition::kDegraded);
  EXPECT_THAT(cache_.Health().reason,
              HasSubstr("wait for schema 7 of the registry: it is down"));
  EXPECT_FALSE(Ask(7, /*is_due=*/false));
  EXPECT_EQ(asked(), 1);
  Answer(std::string(kRecord));
  executor_.fake_clock().Advance(SchemaCache::kBackoffMin);
  // The first answer is the one before the last.
  EXPECT_FALSE(Ask(7));
  executor_.fake_clock().Advance(SchemaCache::kBackoffMax);
  EXPECT_TRUE(Ask(7));
  EXPECT_EQ(asked(), 3);
  EXPECT_EQ(cache_.Health().condition, Condition::kOk);
}

// That a registry does not know it depends on the time: no verdict may.
TEST_F(SchemaCacheTest, AnUnknownNumberIsAskedForUntilItIsKnown) {
  constexpr int kTimes = 20;
  for (int i = 0; i < kTimes; ++i) {
    Answer(MakeError(Reason::NOT_FOUND, "there is no 9"));
  }
  Answer(std::string(kRecord));
  for (int i = 0; i < kTimes; ++i) {
    EXPECT_FALSE(Ask(9));
    EXPECT_EQ(cache_.Find(9), nullptr);
    EXPECT_EQ(cache_.Health().condition, Condition::kDegraded);
    EXPECT_THAT(cache_.Health().reason,
                HasSubstr("schema 9 of the registry: there is no 9"));
    executor_.fake_clock().Advance(SchemaCache::kBackoffMax);
  }
  EXPECT_TRUE(Ask(9));
  ASSERT_NE(cache_.Find(9), nullptr);
  EXPECT_NE(cache_.Find(9)->schema, nullptr);
  EXPECT_EQ(asked(), kTimes + 1);
  EXPECT_EQ(cache_.Health().condition, Condition::kOk);
}

// A number that damage made would be waited for, for ever.
TEST_F(SchemaCacheTest, ANumberThatIsCalledBadIsNeverAskedFor) {
  EXPECT_TRUE(cache_.IsReady(AvroBytes().Framed(kBadId)));
  EXPECT_EQ(asked(), 0);
  ASSERT_NE(cache_.Find(kBadId), nullptr);
  EXPECT_EQ(cache_.Find(kBadId)->schema, nullptr);
  EXPECT_THAT(cache_.Find(kBadId)->problem,
              HasSubstr("schema 7777 is called bad"));
  EXPECT_EQ(cache_.Health().condition, Condition::kOk);
}

TEST_F(SchemaCacheTest, OneThatIsNoneOfAvroIsAskedForOnce) {
  Answer(RegisteredSchema{.text = "{}", .type = "JSON"});
  EXPECT_TRUE(Ask(1));
  EXPECT_EQ(cache_.Find(1)->schema, nullptr);
  EXPECT_EQ(cache_.Find(1)->problem, "schema 1 is of type JSON, must be AVRO");
  EXPECT_EQ(asked(), 1);
}

// Messages written with it are good, so that none may be passed over.
TEST_F(SchemaCacheTest, OneThatCannotBeReadHereIsWaitedFor) {
  Answer(std::string(R"({"type":"record","name":"r","fields":)"
                     R"([{"name":"v","type":"elsewhere.T"}]})"));
  Answer(std::string(kRecord));
  EXPECT_FALSE(Ask(1));
  EXPECT_EQ(cache_.Find(1), nullptr);
  EXPECT_EQ(cache_.Health().condition, Condition::kDegraded);
  EXPECT_THAT(cache_.Health().reason, HasSubstr("elsewhere.T"));
  executor_.fake_clock().Advance(SchemaCache::kBackoffMax);
  EXPECT_TRUE(Ask(1));
  EXPECT_NE(cache_.Find(1)->schema, nullptr);
}

TEST_F(SchemaCacheTest, ReferencesDeclareTypesOfTheSchema) {
  Answer(RegisteredSchema{
      .text = R"({"type":"record","name":"r","fields":)"
              R"([{"name":"v","type":"b.T"},{"name":"w","type":"a.E"}]})",
      .references = {
          {.name = "a.E",
           .text = R"({"type":"enum","name":"a.E","symbols":["X"]})"},
          {.name = "b.T",
           .text = R"({"type":"record","name":"b.T","fields":)"
                   R"([{"name":"e","type":"a.E"}]})"}}});
  EXPECT_TRUE(Ask(1));
  ASSERT_NE(cache_.Find(1), nullptr);
  const auto schema =
      std::dynamic_pointer_cast<const AvroSchema>(cache_.Find(1)->schema);
  ASSERT_NE(schema, nullptr);
  const AvroNode& root = schema->root();
  EXPECT_THAT(root.names, ElementsAre("v", "w"));
  EXPECT_EQ(schema->node(root.children[0]).type, AvroType::kRecord);
  EXPECT_EQ(schema->node(root.children[1]).type, AvroType::kEnum);
}

TEST_F(SchemaCacheTest, NumbersWithoutSchemasPutNoSchemaOut) {
  Answer(std::string(kRecord));
  Answer(RegisteredSchema{.text = "{}", .type = "JSON"});
  EXPECT_TRUE(Ask(0));
  for (uint32_t id = 1; id <= SchemaCache::kSchemasMax; ++id) {
    EXPECT_TRUE(Ask(id));
  }
  EXPECT_NE(cache_.Find(0), nullptr);
  EXPECT_EQ(cache_.Find(1), nullptr);
  EXPECT_NE(cache_.Find(SchemaCache::kSchemasMax), nullptr);
}

TEST_F(SchemaCacheTest, ThoseUnusedForLongestAreDropped) {
  Answer(std::string(kRecord));
  for (uint32_t id = 0; id < SchemaCache::kSchemasMax; ++id) {
    EXPECT_TRUE(Ask(id));
  }
  EXPECT_TRUE(Ask(0));
  EXPECT_TRUE(Ask(1'000));
  EXPECT_NE(cache_.Find(0), nullptr);
  EXPECT_EQ(cache_.Find(1), nullptr);
}

TEST_F(SchemaCacheTest, WhatIsKeptTakesNoMoreMemoryThanItMay) {
  // A name for each of many symbols takes more memory than text.
  std::string symbols = R"({"type":"enum","name":"e","symbols":["a")";
  for (int i = 0; i < 100'000; ++i) symbols += R"(,"a")";
  Answer(symbols + "]}");
  size_t first = 0;
  for (uint32_t id = 0; id < 10; ++id) {
    EXPECT_TRUE(Ask(id));
    EXPECT_NE(cache_.Find(id)->schema, nullptr);
    if (id == 0) first = cache_.kept_bytes();
  }
  EXPECT_GT(10 * first, SchemaCache::kBytesMax);
  EXPECT_LE(cache_.kept_bytes(), SchemaCache::kBytesMax);
  EXPECT_EQ(cache_.kept_bytes() % first, 0u);
  EXPECT_EQ(cache_.Find(0), nullptr);
}

TEST_F(SchemaCacheTest, WhatIsSaidOfARegistryIsCut) {
  std::string text;
  while (text.size() < 2 * SchemaCache::kReasonBytesMax) text += "€";
  Answer(MakeError(Reason::UNAVAILABLE, text));
  EXPECT_FALSE(Ask(7));
  EXPECT_LE(cache_.Health().reason.size(), SchemaCache::kReasonBytesMax + 64);
  EXPECT_TRUE(IsUtf8(cache_.Health().reason));
}

TEST_F(SchemaCacheTest, TheParserReadsByTheNumberInEachMessage) {
  AvroConfig config;
  config.registry = {.url = "http://unused:1"};
  const std::unique_ptr<Parser> parser = *MakeAvroParser(
      config, {{{.name = "v", .type = SqlType::kBigint}}}, MakeSource());
  MessageGate& gate = *GateOf(*parser);
  ASSERT_OK(gate.Start(environment_));
  Notification came;
  gate.SetWake([&] { came.Notify(); });
  Answer(std::string(kRecord));
  const std::string message = AvroBytes().Long(5).Framed(3);
  // A source that does not ask gets a bad record.
  EXPECT_THAT(ParseWhole(*parser, message).tags(),
              ElementsAre("unknown_schema"));
  EXPECT_FALSE(gate.IsReady(message));
  came.WaitForNotification();
  EXPECT_TRUE(gate.IsReady(message));
  const ParsedText parsed = ParseWhole(*parser, message);
  EXPECT_THAT(parsed.rows, ElementsAre("int64 5"));
  EXPECT_THAT(parsed.values(), ElementsAre(message));
  EXPECT_THAT(ParseWhole(*parser, "{}").tags(), ElementsAre("bad_frame"));
  // Places are those of the message, the number of its schema included.
  const ParsedText bad = ParseWhole(*parser, message + "x");
  ASSERT_THAT(bad.tags(), ElementsAre("trailing_data"));
  EXPECT_THAT(bad.errors[0].description, HasSubstr("at byte 6"));
}

}  // namespace
}  // namespace penstock::core
