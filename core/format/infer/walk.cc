#include "core/format/infer/walk.h"

#include "core/base/json_text.h"
#include "core/format/msgpack/msgpack_item.h"
#include "core/format/msgpack/msgpack_json.h"
#include "core/format/msgpack/msgpack_rows.h"
#include "core/format/ndjson/json_token.h"
#include "core/format/ndjson/json_tokens.h"

#include <cmath>
#include <cstdint>
#include <string>

namespace penstock::core {
namespace {

// A record is no column, so that its members are at depth 0.
constexpr int kRecordDepth = -1;
constexpr int kDepthMax = static_cast<int>(ValueGuess::kDepthMax);

std::string Unescaped(absl::string_view content) {
  return content.find('\\') == absl::string_view::npos ? std::string(content)
                                                       : JsonUnescape(content);
}

class JsonWalk {
 public:
  JsonWalk(absl::string_view value, GuessProgress& progress)
      : tokens_(value), progress_(progress) {}

  void Observe(ValueGuess& guess, int depth) {
    switch (tokens_.Peek()) {
      case 'n':
        tokens_.TakeScalar();
        return guess.AddNull();
      case '"': {
        const std::string text = Unescaped(tokens_.TakeString());
        return guess.Add(ClassifyString(text), text, progress_);
      }
      case 't':
      case 'f':
        return guess.Add(
            {.of = ValueClass::kBoolean, .fits = SetOf(SqlType::kBoolean)},
            tokens_.TakeScalar(), progress_);
      case '[':
        return ObserveArray(guess, depth);
      case '{':
        return ObserveObject(guess, depth);
      default: {
        const absl::string_view token = tokens_.TakeScalar();
        return guess.Add(ClassifyNumber(token), token, progress_);
      }
    }
  }

 private:
  void ObserveArray(ValueGuess& guess, int depth) {
    if (depth >= kDepthMax) {
      tokens_.TakeValue();
      return guess.AddOpaque(ValueClass::kArray, true, progress_);
    }
    guess.AddArray(progress_);
    for (tokens_.Skip(); tokens_.Peek() != ']'; SkipComma()) {
      ObserveIn(guess, guess.Element(progress_), depth);
    }
    tokens_.Skip();
  }

  void ObserveObject(ValueGuess& guess, int depth) {
    if (depth >= kDepthMax) {
      tokens_.TakeValue();
      return guess.AddOpaque(ValueClass::kObject, true, progress_);
    }
    guess.AddObject(progress_);
    for (tokens_.Skip(); tokens_.Peek() != '}'; SkipComma()) {
      const std::string name = Unescaped(tokens_.TakeString());
      tokens_.Skip();
      ObserveIn(guess, guess.Member(name, progress_), depth);
    }
    tokens_.Skip();
  }

  void ObserveIn(ValueGuess& parent, ValueGuess* place, int depth) {
    if (place != nullptr) return Observe(*place, depth + 1);
    tokens_.TakeValue();
    parent.SetOpaque();
  }

  void SkipComma() {
    if (tokens_.Peek() == ',') tokens_.Skip();
  }

  ScannedTokens tokens_;
  GuessProgress& progress_;
};

class MsgpackWalk {
 public:
  MsgpackWalk(absl::string_view value, GuessProgress& progress)
      : cursor_(value), progress_(progress) {}

  void Observe(ValueGuess& guess, int depth) {
    const MsgpackKind kind = cursor_.PeekKind();
    if (kind == MsgpackKind::kArray || kind == MsgpackKind::kMap) {
      return ObserveContainer(guess, kind == MsgpackKind::kMap, depth);
    }
    const MsgpackItem item = cursor_.Take();
    if (kind == MsgpackKind::kNil) return guess.AddNull();
    ObserveSingle(item, guess);
  }

 private:
  void ObserveContainer(ValueGuess& guess, bool is_map, int depth) {
    const ValueClass of = is_map ? ValueClass::kObject : ValueClass::kArray;
    if (depth >= kDepthMax) {
      std::string json;
      const bool is_json =
          MsgpackToJson(cursor_.TakeValue(), json) == ValueFault::kNone;
      return guess.AddOpaque(of, is_json, progress_);
    }
    is_map ? guess.AddObject(progress_) : guess.AddArray(progress_);
    const uint32_t count = cursor_.Take().count;
    for (uint32_t i = 0; i < count; ++i) {
      if (!is_map) {
        ObserveIn(guess, guess.Element(progress_), depth);
        continue;
      }
      if (cursor_.PeekKind() == MsgpackKind::kStr) {
        const absl::string_view name = cursor_.Take().bytes;
        if (!IsUtf8(name)) guess.SetNotJson();
        ObserveIn(guess, guess.Member(name, progress_), depth);
        continue;
      }
      ValueGuess* const key = guess.Key(progress_);
      ObserveIn(guess, key, depth);
      ObserveIn(guess, key == nullptr ? nullptr : guess.Element(progress_),
                depth);
    }
  }

  void ObserveIn(ValueGuess& parent, ValueGuess* place, int depth) {
    if (place != nullptr) return Observe(*place, depth + 1);
    std::string json;
    if (MsgpackToJson(cursor_.TakeValue(), json) != ValueFault::kNone) {
      parent.SetNotJson();
    }
    parent.SetOpaque();
  }

  void ObserveSingle(const MsgpackItem& item, ValueGuess& guess) {
    MsgpackDigits digits;
    switch (item.kind) {
      case MsgpackKind::kBool:
        return guess.Add(
            {.of = ValueClass::kBoolean, .fits = SetOf(SqlType::kBoolean)},
            PrintMsgpack(item, digits), progress_);
      case MsgpackKind::kNegative:
      case MsgpackKind::kUnsigned: {
        const absl::string_view text = PrintMsgpack(item, digits);
        return guess.Add(ClassifyNumber(text), text, progress_);
      }
      case MsgpackKind::kFloat32:
      case MsgpackKind::kFloat64: {
        const absl::string_view text = PrintMsgpack(item, digits);
        return guess.Add(ClassifyFloat(item, text), text, progress_);
      }
      case MsgpackKind::kStr:
        if (!IsUtf8(item.bytes)) break;
        return guess.Add(ClassifyString(item.bytes), item.bytes, progress_);
      case MsgpackKind::kBin:
        return guess.Add({.of = ValueClass::kBinary,
                          .fits = SetOf(SqlType::kVarbinary),
                          .is_json = false},
                         "bytes", progress_);
      default:
        if (item.ext_type != kMsgpackMoment) break;
        return guess.Add(ClassifyMoment(item.bytes), "a moment", progress_);
    }
    guess.Add({.of = ValueClass::kForeign, .is_json = false}, item.bytes,
              progress_);
  }

  static ClassifiedValue ClassifyFloat(const MsgpackItem& item,
                                       absl::string_view text) {
    const bool is_short = item.kind == MsgpackKind::kFloat32;
    ClassifiedValue value;
    if (std::isfinite(item.real)) {
      value = ClassifyNumber(text);
    } else {
      value.fits = SetOf(SqlType::kDecimal);
      value.is_infinite = std::isinf(item.real);
      value.is_json = false;
    }
    value.of = is_short ? ValueClass::kReal : ValueClass::kDouble;
    // A float that is whole is still one.
    value.fits &= SetOf(SqlType::kDecimal);
    value.fits |= SetOf(SqlType::kDouble);
    if (is_short) value.fits |= SetOf(SqlType::kReal);
    return value;
  }

  static ClassifiedValue ClassifyMoment(absl::string_view bytes) {
    Value value;
    if (ReadMsgpackMoment(bytes, 9, value) != ValueFault::kNone) {
      return {.of = ValueClass::kForeign, .is_json = false};
    }
    return {.of = ValueClass::kTimestamptz,
            .fits = SetOf(SqlType::kTimestamptz),
            .is_fine = ReadMsgpackMoment(bytes, 6, value) != ValueFault::kNone,
            .is_json = false};
  }

  MsgpackCursor cursor_;
  GuessProgress& progress_;
};

}  // namespace

void ObserveJson(absl::string_view value, ValueGuess& record,
                 GuessProgress& progress) {
  JsonWalk(value, progress).Observe(record, kRecordDepth);
}

void ObserveMsgpack(absl::string_view value, ValueGuess& record,
                    GuessProgress& progress) {
  MsgpackWalk(value, progress).Observe(record, kRecordDepth);
}

}  // namespace penstock::core
