#include "core/format/msgpack/msgpack_checker.h"

#include "core/format/msgpack/msgpack_item.h"

#include <array>

namespace penstock::core {
namespace {

// An array or map that is open. Not initialised: there are many.
struct Level {
  // Values to come, of a map keys, too.
  uint64_t left;
  bool is_map;
  // Of a map: what the value under the name read last is for the key.
  KeyTracker::Member member;
};

// One walk.
class Walk {
 public:
  Walk(absl::string_view text, const KeyPath* key) : text_(text) {
    if (key != nullptr) tracker_.emplace(*key, /*has_escapes=*/false);
  }

  MsgpackVerdict Check() {
    do {
      if (!ReadItem()) return verdict_;
      CloseLevels();
    } while (depth_ > 0);
    // The value itself is good, and so is its key.
    if (at_ < text_.size()) verdict_.fault = MsgpackFault::kTrailingData;
    verdict_.position = at_;
    return verdict_;
  }

 private:
  bool ReadItem() {
    const size_t begin = at_;
    if (at_ == text_.size() ||
        text_.size() - at_ < MsgpackHeadSize(text_[at_])) {
      return Fail(MsgpackFault::kCutOff, text_.size());
    }
    const MsgpackHead head = ReadMsgpackHead(text_.data() + at_);
    if (head.kind == MsgpackKind::kInvalid) {
      return Fail(MsgpackFault::kSyntax, at_);
    }
    at_ += head.size;
    if (text_.size() - at_ < head.payload) {
      return Fail(MsgpackFault::kCutOff, text_.size());
    }
    const absl::string_view payload = text_.substr(at_, head.payload);
    at_ += head.payload;
    const bool is_container =
        head.kind == MsgpackKind::kArray || head.kind == MsgpackKind::kMap;
    if (depth_ > 0) Tell(head, payload, begin);
    if (!is_container) return true;
    if (depth_ == levels_.size()) return Fail(MsgpackFault::kTooDeep, begin);
    levels_[depth_++] = {.left = head.values,
                         .is_map = head.kind == MsgpackKind::kMap,
                         .member = KeyTracker::Member::kElsewhere};
    return true;
  }

  // Tells the tracker of the item, in an array or map.
  void Tell(const MsgpackHead& head, absl::string_view payload, size_t begin) {
    Level& level = levels_[depth_ - 1];
    const bool is_name = level.is_map && level.left % 2 == 0;
    --level.left;
    if (!tracker_.has_value()) return;
    if (is_name) {
      level.member =
          head.kind == MsgpackKind::kStr
              ? tracker_->OnMember(static_cast<uint32_t>(depth_), payload)
              : KeyTracker::Member::kElsewhere;
      // This name replaces one like it.
      if (level.member != KeyTracker::Member::kElsewhere) verdict_.key.reset();
      return;
    }
    if (!level.is_map) return;
    if (head.kind == MsgpackKind::kMap) tracker_->OnObject(level.member);
    if (level.member == KeyTracker::Member::kKey) verdict_.key = begin;
  }

  void CloseLevels() {
    while (depth_ > 0 && levels_[depth_ - 1].left == 0) {
      if (tracker_.has_value() && levels_[depth_ - 1].is_map) {
        tracker_->OnObjectEnd(static_cast<uint32_t>(depth_));
      }
      --depth_;
    }
  }

  // Always false.
  bool Fail(MsgpackFault fault, size_t position) {
    verdict_ = {.fault = fault, .position = position, .key = std::nullopt};
    return false;
  }

  const absl::string_view text_;
  std::optional<KeyTracker> tracker_;
  size_t at_ = 0;
  size_t depth_ = 0;
  std::array<Level, kMsgpackDepthMax> levels_;
  MsgpackVerdict verdict_;
};

}  // namespace

MsgpackVerdict CheckMsgpack(absl::string_view text, const KeyPath* key) {
  return Walk(text, key).Check();
}

}  // namespace penstock::core
