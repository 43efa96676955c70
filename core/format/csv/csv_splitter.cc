#include "core/format/csv/csv_splitter.h"

namespace penstock::core {

CsvSplitter::CsvSplitter(const CsvDialect& dialect, size_t record_bytes_max)
    : dialect_(dialect),
      open_bytes_max_(CsvOpenBytesMax(record_bytes_max)),
      specials_(dialect, CsvSpecialBytes::Fields::kPassedOver) {}

std::optional<size_t> CsvSplitter::Input(absl::string_view data) {
  std::optional<size_t> boundary;
  specials_.Begin(data);
  size_t special = specials_.Next();
  // Where the record begins; before `data` it is below 0.
  auto begin = -static_cast<int64_t>(seen_);
  for (size_t at = 0; at < data.size();) {
    if (state_ != State::kField && state_ != State::kOutside &&
        state_ != State::kInside && state_ != State::kComment) {
      at = TakeByte(data, at);
      continue;
    }
    while (special < at) special = specials_.Next();
    if (special == data.size()) {
      if (state_ == State::kField || state_ == State::kOutside) {
        state_ = FieldBeginsAt(data, at, data.size()) ? State::kField
                                                      : State::kOutside;
      }
      break;
    }
    const int64_t size = static_cast<int64_t>(special) - begin;
    const bool is_too_long = size >= static_cast<int64_t>(open_bytes_max_);
    if (TakeSpecial(data, at, special, is_too_long)) {
      boundary = special + 1;
      begin = static_cast<int64_t>(special) + 1;
      state_ = State::kBegin;
    }
    at = special + 1;
  }
  seen_ = static_cast<size_t>(static_cast<int64_t>(data.size()) - begin);
  return boundary;
}

void CsvSplitter::Clear() {
  state_ = State::kBegin;
  seen_ = 0;
}

bool CsvSplitter::FieldBeginsAt(absl::string_view data, size_t since,
                                size_t at) const {
  while (at > since && IsCsvBlank(dialect_, data[at - 1])) --at;
  return at == since ? state_ == State::kField
                     : data[at - 1] == dialect_.delimiter;
}

size_t CsvSplitter::TakeByte(absl::string_view data, size_t at) {
  const char byte = data[at];
  switch (state_) {
    case State::kBegin:
      if (byte == kByteOrderMark[0]) {
        state_ = State::kMark1;
        return at + 1;
      }
      state_ = byte == dialect_.comment ? State::kComment : State::kField;
      return at;
    case State::kMark1:
    case State::kMark2: {
      const bool is_first = state_ == State::kMark1;
      if (byte == kByteOrderMark[is_first ? 1 : 2]) {
        state_ = is_first ? State::kMark2 : State::kBegin;
        return at + 1;
      }
      state_ = State::kOutside;
      return at;
    }
    case State::kEscaped:
      state_ = State::kInside;
      // An LF may be the end of what is too long.
      return byte == '\n' ? at : at + 1;
    case State::kClosing:
      if (byte == dialect_.quote && dialect_.escape == CsvEscape::kDoubled) {
        state_ = State::kInside;
        return at + 1;
      }
      state_ = State::kOutside;
      return at;
    case State::kField:
    case State::kOutside:
    case State::kInside:
    case State::kComment:
      break;
  }
  return at + 1;
}

bool CsvSplitter::TakeSpecial(absl::string_view data, size_t since, size_t at,
                              bool is_too_long) {
  const char byte = data[at];
  if (byte == '\n') {
    if (state_ != State::kInside || is_too_long) return true;
  } else if (state_ == State::kInside) {
    state_ = byte == dialect_.quote ? State::kClosing : State::kEscaped;
  } else if (state_ != State::kComment) {
    const bool opens = byte == dialect_.quote && FieldBeginsAt(data, since, at);
    state_ = opens ? State::kInside : State::kOutside;
  }
  return false;
}

}  // namespace penstock::core
