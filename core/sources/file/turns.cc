#include "core/sources/file/turns.h"

namespace penstock::core {

std::optional<uint32_t> Turns::Next() {
  if (under_way_.size() < kUnderWayMax && !waiting_.empty()) {
    current_ = {.id = waiting_.front(), .turns = 0};
    waiting_.pop_front();
  } else if (!under_way_.empty()) {
    current_ = under_way_.front();
    under_way_.pop_front();
  } else {
    return std::nullopt;
  }
  ++current_.turns;
  return current_.id;
}

bool Turns::GoOn(bool may_give_way) {
  if (may_give_way && current_.turns >= kTurnsMax && !waiting_.empty()) {
    waiting_.push_back(current_.id);
    return false;
  }
  under_way_.push_back(current_);
  return true;
}

}  // namespace penstock::core
