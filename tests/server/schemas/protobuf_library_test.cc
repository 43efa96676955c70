// Protobuf as read here against the library: of random messages, of messages
// in pieces, and of damaged ones.
#include "tests/server/schemas/protobuf_record.h"

#include <absl/strings/escaping.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace penstock::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr char kEverything[] = R"(syntax = "proto3";
package t;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
enum Color { NONE = 0; RED = 1; BLUE = 5; ROT = -7; }
message All {
  int32 i32 = 1; int64 i64 = 2; uint32 u32 = 3; uint64 u64 = 4;
  sint32 s32 = 5; sint64 s64 = 6; fixed32 f32 = 7; fixed64 f64 = 8;
  sfixed32 sf32 = 9; sfixed64 sf64 = 10; float f = 11; double d = 12;
  bool b = 13; string s = 14; bytes by = 15; Color e = 16;
  optional int32 o32 = 17; optional string os = 18; optional Color oe = 1000;
  repeated int32 r32 = 20; repeated sint64 rs64 = 21 [packed = false];
  repeated double rd = 22; repeated string rs = 23; repeated Color re = 24;
  repeated bool rb = 25; repeated fixed32 rf = 26; repeated All ra = 27;
  map<string, int64> ms = 30; map<int32, string> mi = 31;
  map<bool, All> ma = 32; map<uint64, Color> me = 33;
  map<sint32, bytes> mb = 34;
  oneof one { int64 o1 = 40; string o2 = 41; All o3 = 42; Inner o4 = 43; }
  oneof two { bool p1 = 44; Inner p2 = 45; }
  Inner inner = 50; All again = 51;
  google.protobuf.Timestamp at = 60; google.protobuf.Duration took = 61;
  google.protobuf.Int64Value w64 = 62; google.protobuf.StringValue ws = 63;
  repeated google.protobuf.BoolValue wb = 64;
  message Inner { string a_b = 2; int32 a = 1; repeated Inner more = 3; }
}
)";

class RandomMessage {
 public:
  explicit RandomMessage(std::mt19937_64& random) : random_(random) {}

  void Fill(Message& message, int depth) {
    const Descriptor& type = *message.GetDescriptor();
    if (FillWellKnown(message)) return;
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      const bool is_message =
          field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
      if (is_message && depth == 0) continue;
      if (Below(is_message ? 4 : 2) != 0) continue;
      const uint64_t count = field.is_repeated() ? Below(4) : 1;
      for (uint64_t n = 0; n < count; ++n) Set(message, field, depth);
    }
  }

 private:
  uint64_t Below(uint64_t end) { return random_() % end; }
  // Small ones and those at the ends of ranges are as likely as others.
  uint64_t Number() {
    const uint64_t raw = random_() >> Below(64);
    return Below(2) == 0 ? raw : ~raw;
  }
  std::string Text() {
    std::string text;
    for (uint64_t n = Below(4); n > 0; --n) text += Below(2) == 0 ? "ü" : "a\"";
    return text;
  }

  bool FillWellKnown(Message& message) {
    const std::string& name = message.GetDescriptor()->full_name();
    const bool is_time = name == "google.protobuf.Timestamp";
    if (!is_time && name != "google.protobuf.Duration") return false;
    const auto seconds = static_cast<int64_t>(Below(250'000'000'000));
    const Reflection& of = *message.GetReflection();
    of.SetInt64(&message, message.GetDescriptor()->field(0), seconds);
    of.SetInt32(&message, message.GetDescriptor()->field(1),
                static_cast<int32_t>(Below(1000) * (Below(2) ? 1 : 1'000'000)));
    return true;
  }

  void Set(Message& message, const FieldDescriptor& field, int depth) {
    const Reflection& of = *message.GetReflection();
    const bool adds = field.is_repeated();
#define PENSTOCK_SET(Kind, value)               \
  adds ? of.Add##Kind(&message, &field, value)  \
       : of.Set##Kind(&message, &field, value); \
  break
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        PENSTOCK_SET(Int32, static_cast<int32_t>(Number()));
      case FieldDescriptor::CPPTYPE_INT64:
        PENSTOCK_SET(Int64, static_cast<int64_t>(Number()));
      case FieldDescriptor::CPPTYPE_UINT32:
        PENSTOCK_SET(UInt32, static_cast<uint32_t>(Number()));
      case FieldDescriptor::CPPTYPE_UINT64:
        PENSTOCK_SET(UInt64, Number());
      case FieldDescriptor::CPPTYPE_DOUBLE:
        PENSTOCK_SET(Double, static_cast<double>(Number()) / 1024);
      case FieldDescriptor::CPPTYPE_FLOAT:
        PENSTOCK_SET(Float, static_cast<float>(Number()) / 1024);
      case FieldDescriptor::CPPTYPE_BOOL:
        PENSTOCK_SET(Bool, Below(2) == 0);
      case FieldDescriptor::CPPTYPE_ENUM:
        PENSTOCK_SET(EnumValue, static_cast<int>(Below(7)));
      case FieldDescriptor::CPPTYPE_STRING:
        PENSTOCK_SET(String, field.type() == FieldDescriptor::TYPE_BYTES
                                 ? std::string("\xff\0z", Below(4))
                                 : Text());
      case FieldDescriptor::CPPTYPE_MESSAGE:
        Fill(adds ? *of.AddMessage(&message, &field)
                  : *of.MutableMessage(&message, &field),
             depth - 1);
        break;
    }
#undef PENSTOCK_SET
  }

  std::mt19937_64& random_;
};

// Of a map's equal keys leaves the last one, as those who wrote the library
// say; it keeps all until somebody asks for one.
void DropOldEntries(Message& message) {
  const Reflection& of = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  of.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      DropOldEntries(*of.MutableMessage(&message, field));
      continue;
    }
    std::map<std::string, std::string> entries;
    for (int i = 0; i < of.FieldSize(message, field); ++i) {
      Message& one = *of.MutableRepeatedMessage(&message, field, i);
      DropOldEntries(one);
      // Of an entry itself it keeps them.
      one.DiscardUnknownFields();
      std::string key;
      if (field->is_map()) {
        google::protobuf::TextFormat::PrintFieldValueToString(
            one, one.GetDescriptor()->map_key(), -1, &key);
      } else {
        key = std::to_string(i);
      }
      entries[key] = one.SerializeAsString();
    }
    if (!field->is_map()) continue;
    of.ClearField(&message, field);
    for (const auto& [key, entry] : entries) {
      ASSERT_TRUE(of.AddMessage(&message, field)->ParseFromString(entry));
    }
  }
}

// That of a message which it has read and printed anew: unknown fields gone.
void ExpectSame(ProtobufText& text, const std::string& record) {
  const auto theirs = text.NewMessage();
  ASSERT_TRUE(theirs->ParseFromString(record));
  theirs->DiscardUnknownFields();
  DropOldEntries(*theirs);
  const std::string json = text.ToJson(record);
  const auto ours = text.NewMessage();
  const auto read =
      google::protobuf::util::JsonStringToMessage(json, ours.get());
  ASSERT_TRUE(read.ok()) << read.ToString() << "\n" << json;
  EXPECT_TRUE(
      google::protobuf::util::MessageDifferencer::Equals(*theirs, *ours))
      << theirs->DebugString() << "\n"
      << json;
}

constexpr int kRounds = 300;

TEST(ProtobufLibraryTest, ReadsTheSameOfRandomMessages) {
  ProtobufText text(kEverything, "t.All");
  for (int seed = 0; seed < kRounds; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    const auto message = text.NewMessage();
    RandomMessage(random).Fill(*message, 3);
    ExpectSame(text, message->SerializeAsString());
    if (HasFailure()) return;
  }
}

// One behind the other they are one: what is single is put together, of a oneof
// the last one counts.
TEST(ProtobufLibraryTest, PutsPiecesTogetherTheSameWay) {
  ProtobufText text(kEverything, "t.All");
  for (int seed = 0; seed < kRounds; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    std::string record;
    for (int piece = 0; piece < 3; ++piece) {
      const auto message = text.NewMessage();
      RandomMessage(random).Fill(*message, 2);
      record += message->SerializeAsString();
    }
    ExpectSame(text, record);
    if (HasFailure()) return;
  }
}

TEST(ProtobufLibraryTest, FindsTheSameFaultsInDamage) {
  // It would say each time what is wrong.
  const google::protobuf::LogSilencer silencer;
  ProtobufText text(kEverything, "t.All");
  int good = 0;
  int bad = 0;
  for (int seed = 0; seed < 10 * kRounds; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    const auto message = text.NewMessage();
    RandomMessage(random).Fill(*message, 2);
    std::string record = message->SerializeAsString();
    if (record.empty()) continue;
    switch (random() % 4) {
      case 0:
        record.resize(random() % record.size());
        break;
      case 1:
        record.erase(random() % record.size(), 1 + random() % 3);
        break;
      case 2:
        record.insert(random() % record.size(), 1, static_cast<char>(random()));
        break;
      default:
        record[random() % record.size()] = static_cast<char>(random());
    }
    const std::string json = text.ToJson(record);
    const bool is_good = !absl::StartsWith(json, "fault");
    ASSERT_EQ(is_good, text.IsGood(record)) << json << "\n"
                                            << absl::BytesToHexString(record);
    ++(is_good ? good : bad);
    // What JSON cannot say is no fault of the bytes.
    if (is_good && !absl::StartsWith(json, "value fault") &&
        !absl::StrContains(json, "NaN")) {
      ExpectSame(text, record);
      if (HasFailure()) return;
    }
  }
  // Of each there are many.
  EXPECT_GT(good, kRounds);
  EXPECT_GT(bad, kRounds);
}

constexpr char kOld[] = R"(syntax = "proto2";
package t;
enum Color { RED = 1; BLUE = 2; }
message Old {
  required int32 id = 1;
  optional Color color = 2;
  repeated Color colors = 3 [packed = true];
  repeated Color more = 4;
  optional string text = 5;
  repeated Old inner = 7;
}
)";

TEST(ProtobufLibraryTest, FindsTheSameFaultsInDamagedMessagesOfProto2) {
  // It would say each time what is missing.
  const google::protobuf::LogSilencer silencer;
  ProtobufText text(kOld, "t.Old");
  for (int seed = 0; seed < 10 * kRounds; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    std::string record = text.FromJson(
        R"({"id":1,"color":"BLUE","colors":["RED","BLUE"],"more":["RED"],)"
        R"("text":"x","inner":[{"id":2},{"id":3,"color":"RED"}]})");
    record[random() % record.size()] = static_cast<char>(random() % 16);
    const std::string json = text.ToJson(record);
    const bool is_good = !absl::StartsWith(json, "fault");
    ASSERT_EQ(is_good, text.IsGood(record)) << json << "\n"
                                            << absl::BytesToHexString(record);
    if (is_good) ExpectSame(text, record);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace penstock::server
