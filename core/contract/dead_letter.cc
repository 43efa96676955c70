#include "core/contract/dead_letter.h"

#include <absl/strings/str_cat.h>

namespace penstock::core {

std::string DeadLetterId(const DeadLetterOpen& open, const DeadLetter& letter) {
  if (open.level == FtModel::kExactlyOnce && letter.number.has_value()) {
    return absl::StrCat(open.incarnation, "/", open.connector, "/", letter.step,
                        "/", open.shard, "/", *letter.number);
  }
  return absl::StrCat(open.incarnation, "/", open.connector, "/p",
                      letter.partition, "/o", letter.offset);
}

}  // namespace penstock::core
