#include "tests/core/format/random_lines.h"

#include <absl/strings/string_view.h>

#include <array>
#include <utility>

namespace penstock::core {
namespace {

template <size_t kCount>
absl::string_view PickOne(Random& random,
                          const std::array<absl::string_view, kCount>& from) {
  return from[random.Uniform(kCount)];
}

constexpr std::array<absl::string_view, 6> kBlanks = {"", "",   "",
                                                      "", "\t", "  "};
constexpr std::array<absl::string_view, 14> kCharacters = {"a",
                                                           "bc",
                                                           "key",
                                                           " ",
                                                           ",",
                                                           "}",
                                                           R"(\")",
                                                           R"(\\)",
                                                           R"(\n)",
                                                           R"(\u0041)",
                                                           R"(\ud83d\ude80)",
                                                           "\u00e9",
                                                           "\u20ac",
                                                           "\U0001f680"};
constexpr std::array<absl::string_view, 13> kScalars = {
    "0",
    "-1",
    "12.5",
    "1e3",
    "-0.25E-2",
    "123456789012345678901234567",
    "true",
    "false",
    "null",
    "7",
    "1234567.123456789",
    "-123456789012345",
    "9007199254740993"};
// Few, so that paths match.
constexpr std::array<absl::string_view, 6> kNames = {"a",         "b",  "c",
                                                     R"(\u0061)", "ab", ""};

std::string RandomString(Random& random) {
  std::string text = "\"";
  for (uint64_t left = random.Uniform(6); left > 0; --left) {
    text += std::string(PickOne(random, kCharacters));
  }
  return text + "\"";
}

void AppendValue(Random& random, int depth_max, std::string& text);

void AppendBlank(Random& random, std::string& text) {
  text += std::string(PickOne(random, kBlanks));
}

void AppendContainer(Random& random, int depth_max, bool is_array,
                     std::string& text) {
  text += is_array ? '[' : '{';
  const uint64_t size = random.Uniform(5);
  for (uint64_t i = 0; i < size; ++i) {
    if (i > 0) text += ',';
    AppendBlank(random, text);
    if (!is_array) {
      text += '"';
      text += std::string(PickOne(random, kNames));
      text += '"';
      AppendBlank(random, text);
      text += ':';
      AppendBlank(random, text);
    }
    AppendValue(random, depth_max - 1, text);
    AppendBlank(random, text);
  }
  text += is_array ? ']' : '}';
}

void AppendValue(Random& random, int depth_max, std::string& text) {
  const uint64_t kind = random.Uniform(depth_max > 0 ? 5 : 3);
  if (kind == 0) {
    text += RandomString(random);
  } else if (kind < 3) {
    text += std::string(PickOne(random, kScalars));
  } else {
    AppendContainer(random, depth_max, kind == 3, text);
  }
}

char RandomByte(Random& random) {
  constexpr absl::string_view kLikely =
      "{}[],:\"\\0123456789-+.eEtrufalsn \t\r";
  if (random.Bernoulli(0.7)) return kLikely[random.Uniform(kLikely.size())];
  const char byte = static_cast<char>(random.Uniform(256));
  return byte == '\n' ? '\0' : byte;
}

}  // namespace

std::string RandomJson(Random& random, int depth_max) {
  std::string text;
  AppendBlank(random, text);
  if (depth_max > 0 && random.Bernoulli(0.8)) {
    AppendContainer(random, depth_max, random.Bernoulli(0.2), text);
  } else {
    AppendValue(random, depth_max, text);
  }
  AppendBlank(random, text);
  return text;
}

std::string Damage(std::string text, Random& random) {
  for (uint64_t times = 1 + random.Uniform(3); times > 0; --times) {
    if (text.empty()) {
      text += RandomByte(random);
      continue;
    }
    const size_t at = random.Uniform(text.size());
    switch (random.Uniform(4)) {
      case 0:
        text[at] = RandomByte(random);
        break;
      case 1:
        text.insert(at, 1, RandomByte(random));
        break;
      case 2:
        text.erase(at, 1 + random.Uniform(3));
        break;
      default:
        std::swap(text[at], text[random.Uniform(text.size())]);
        break;
    }
  }
  return text;
}

std::string RandomNdjson(Random& random, size_t lines) {
  std::string text;
  for (size_t i = 0; i < lines; ++i) {
    const uint64_t kind = random.Uniform(10);
    if (kind == 0) {
      AppendBlank(random, text);
    } else if (kind < 3) {
      text += Damage(RandomJson(random), random);
    } else {
      text += RandomJson(random);
    }
    if (random.Uniform(20) == 0) text += "\"\\";
    if (random.Uniform(20) == 0) text += '\\';
    if (random.Uniform(5) == 0) text += '\r';
    if (i + 1 < lines || random.Bernoulli(0.5)) text += '\n';
  }
  return text;
}

std::string RandomJsonStream(Random& random, size_t values) {
  // Many that may stand between two, some that may not.
  constexpr std::array<absl::string_view, 15> kBetween = {
      ",",  ",\n", "\n", " ",    ", ", ",\r\n  ", "]\n[", "\n",
      "[]", "]",   ",,", "\n\n", "",   "\n",      ","};
  std::string text = random.Bernoulli(0.5) ? "[" : "";
  for (size_t i = 0; i < values; ++i) {
    std::string value = RandomJson(random);
    // White space may be a line end.
    for (char& c : value) {
      if (c == '\t') c = '\n';
    }
    if (random.Bernoulli(0.25)) value = Damage(std::move(value), random);
    text += value;
    if (i + 1 < values || random.Bernoulli(0.5)) {
      text += std::string(PickOne(random, kBetween));
    }
  }
  if (random.Bernoulli(0.5)) text += "\n]\n";
  return text;
}

std::string RandomChanges(Random& random, size_t lines) {
  constexpr std::array<absl::string_view, 14> kMembers = {
      R"("op")",    R"("op")",     R"("before")", R"("before")", R"("after")",
      R"("after")", R"("after")",  R"("insert")", R"("insert")", R"("delete")",
      R"("ts_ms")", R"("source")", R"("schema")", R"("\u006fp")"};
  constexpr std::array<absl::string_view, 8> kOps = {
      R"("c")", R"("r")", R"("u")", R"("d")",
      R"("d")", R"("t")", R"("m")", "7"};
  std::string text;
  for (size_t i = 0; i < lines; ++i) {
    std::string line = "{";
    const uint64_t members = 1 + random.Uniform(4);
    for (uint64_t member = 0; member < members; ++member) {
      if (member > 0) line += ',';
      AppendBlank(random, line);
      const absl::string_view name = PickOne(random, kMembers);
      line += std::string(name);
      line += ':';
      AppendBlank(random, line);
      line += name.size() == 4 ? std::string(PickOne(random, kOps))
                               : RandomJson(random, 2);
    }
    line += '}';
    if (random.Bernoulli(0.2)) line = R"({"schema":1,"payload":)" + line + "}";
    if (random.Bernoulli(0.1)) line = Damage(std::move(line), random);
    text += line;
    text += random.Bernoulli(0.1) ? "\r\n" : "\n";
  }
  return text;
}

std::string RandomRawLines(Random& random, size_t lines) {
  std::string text;
  for (size_t i = 0; i < lines; ++i) {
    for (uint64_t left = random.Uniform(40); left > 0; --left) {
      text += RandomByte(random);
    }
    if (i + 1 < lines || random.Bernoulli(0.5)) text += '\n';
  }
  return text;
}

}  // namespace penstock::core
