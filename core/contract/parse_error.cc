#include "core/contract/parse_error.h"

namespace penstock::core {

uint64_t ParseError::MemoryBytes() const {
  return sizeof(ParseError) + tag.size() + input.size() + description.size() +
         (field.has_value() ? field->size() : 0) + invalid_text.size() +
         suggestion.size();
}

std::vector<BadRecord> ToBadRecords(uint32_t partition,
                                    const std::vector<ParseError>& errors) {
  std::vector<BadRecord> bad;
  bad.reserve(errors.size());
  for (const ParseError& error : errors) {
    bad.push_back({.partition = partition,
                   .offset = static_cast<int64_t>(error.byte_offset),
                   .tag = error.tag,
                   .description = error.description,
                   .text = error.invalid_text});
  }
  return bad;
}

}  // namespace penstock::core
