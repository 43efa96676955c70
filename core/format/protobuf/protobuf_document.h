// Where the fields of a Protobuf record lie.
#pragma once

#include "core/format/protobuf/protobuf_schema.h"
#include "core/format/protobuf/protobuf_wire.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::core {

// Deepest nesting of messages and groups.
inline constexpr size_t kProtobufDepthMax = 64;

enum class ProtobufFault : uint8_t {
  kNone,
  // The bytes end inside of a value.
  kCutOff,
  // No field can have it: number 0, a kind of value that there is not, the end
  // of a group that did not begin.
  kBadTag,
  // A number of more bytes than any has.
  kBadNumber,
  // A length beyond what there is.
  kBadLength,
  // Packed numbers of which the last is not whole.
  kBadPacked,
  // A string of proto3 that is no UTF-8.
  kNotUtf8,
  // A required field (proto2) is not there.
  kNoRequired,
  kTooDeep,
  // Messages whose fields are more, set or not, than so many bytes may stand
  // for.
  kTooMany,
};

// A value in the record, or packed ones.
struct ProtobufItem {
  // Which of its message's fields.
  uint32_t field = 0;
  // Its bytes, without tag and length. A message that came in several pieces:
  // the first of them.
  uint32_t begin = 0;
  uint32_t size = 0;
  // The item behind it and all in it.
  uint32_t end = 0;
  // Several values of a repeated field, one behind the other.
  bool is_packed = false;
};

// Checks a record and finds its fields, whatever their order, as those who
// wrote Protocol Buffers say: of a single one the last counts, of a oneof the
// member that came last; messages that came in pieces are put together; fields
// that the schema does not have are passed over, and so are values of another
// kind than the schema's.
//
// Items stand in the order of the fields' numbers, each before what is in it;
// the first is the record itself.
//
// Owner:   a parser. Threads: thread-compatible.
// Bound:   while it holds a record, an item (20 bytes) for each two of its
// bytes
//          at most, and while it reads as many (16 bytes) besides; between
//          records no more than kKeptItemsMax of both.
class ProtobufDocument {
 public:
  // Fields of all messages: so many and kFieldsPerByte for each byte.
  static constexpr uint64_t kFieldsMin = uint64_t{1} << 20;
  static constexpr uint64_t kFieldsPerByte = 16;
  static constexpr size_t kKeptItemsMax = 16'384;

  // Reads record[begin..] as `message`. What was read before is gone. On a
  // fault `at` is the byte that is wrong, or the message in which it is.
  // Lifetime: until the next Read a view of both.
  // Requires: begin <= record.size() < 4 GiB.
  ProtobufFault Read(const ProtobufSchema& schema, uint32_t message,
                     absl::string_view record, size_t begin, size_t& at);

  const ProtobufSchema& schema() const { return *schema_; }
  uint32_t root() const { return root_; }
  absl::string_view record() const { return record_; }
  const ProtobufItem& item(uint32_t number) const { return items_[number]; }

 private:
  struct Range {
    size_t begin = 0;
    size_t end = 0;
  };
  struct Found {
    uint32_t field = 0;
    uint32_t begin = 0;
    uint32_t size = 0;
    bool is_packed = false;
  };

  // Each: false is a fault.
  bool Fail(ProtobufFault fault, size_t at);
  // Adds the items of a message in those pieces.
  bool ReadMessage(uint32_t message, std::span<const Range> pieces);
  // Adds items of what was found of one field, found_[first..last).
  bool AddField(const ProtobufField& field, size_t first, size_t last);
  bool AddMessage(const ProtobufField& field, uint32_t place,
                  std::span<const Range> pieces);
  // Puts what a piece has into found_.
  bool Scan(const ProtobufMessage& message, Range piece);
  bool AddFound(const ProtobufMessage& message, uint32_t number,
                ProtobufWire wire, Range value);
  bool AddPacked(const ProtobufField& field, uint32_t place, Range value);
  // Passes a value; sets `value` to its bytes.
  bool PassValue(uint32_t number, ProtobufWire wire, size_t& at, size_t end,
                 Range& value);
  bool PassGroup(uint32_t number, size_t& at, size_t end, Range& value);
  bool ReadTag(size_t& at, size_t end, uint32_t& number, ProtobufWire& wire);
  // Of members of a oneof, only what belongs to the last one stays; what goes
  // must be good all the same, but for required fields.
  bool SettleOneofs(const ProtobufMessage& message, size_t first);
  bool CheckUnused(const ProtobufField& field, const Found& unused);
  bool HasRequired(const ProtobufMessage& message, size_t first) const;

  const ProtobufSchema* schema_ = nullptr;
  uint32_t root_ = 0;
  absl::string_view record_;
  std::vector<ProtobufItem> items_;
  // Of the messages that are being read, the innermost last.
  std::vector<Found> found_;
  size_t depth_ = 0;
  uint64_t fields_left_ = 0;
  bool is_unused_ = false;
  ProtobufFault fault_ = ProtobufFault::kNone;
  size_t fault_at_ = 0;
};

}  // namespace penstock::core
