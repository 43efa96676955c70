#include "core/contract/parse_resume_info.h"

#include "core/base/error.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>

#include <optional>

namespace penstock::core {
namespace {

constexpr size_t kQuotedBytesMax = 512;

std::string Quote(absl::string_view state) {
  if (state.size() <= kQuotedBytesMax) return std::string(state);
  // Not within a UTF-8 sequence.
  size_t end = kQuotedBytesMax;
  while (end > 0 && (static_cast<unsigned char>(state[end]) & 0xc0) == 0x80) {
    --end;
  }
  return absl::StrCat(state.substr(0, end), "... (", state.size(), " bytes)");
}

absl::Status StateError(absl::string_view state, absl::string_view problem) {
  return MakeError(Reason::MALFORMED_FRAME,
                   absl::StrCat("unable to parse checkpointed connector state "
                                "(checkpointed state: ",
                                Quote(state), "; parse error: ", problem, ")"));
}

// simdjson takes elements by rvalue only; they are two words.
simdjson::dom::element Copy(const simdjson::dom::element& element) {
  return simdjson::dom::element(element);
}

}  // namespace

ResumeValue ResumeValue::operator[](absl::string_view name) const {
  return ResumeValue(text_, absl::StrCat(path_, ".", name),
                     element_[std::string_view(name.data(), name.size())]);
}

bool ResumeValue::HasValue() const {
  simdjson::dom::element element;
  return element_.get(element) == simdjson::SUCCESS && !element.is_null();
}

template <typename T>
absl::StatusOr<T> ResumeValue::Get(absl::string_view expected) const {
  T value;
  const simdjson::error_code error = element_.get(value);
  switch (error) {
    case simdjson::SUCCESS:
      return value;
    case simdjson::NO_SUCH_FIELD:
      return Invalid("is missing");
    case simdjson::INCORRECT_TYPE:
      return Invalid(absl::StrCat("is not ", expected));
    case simdjson::NUMBER_OUT_OF_RANGE:
      return Invalid(absl::StrCat("does not fit into ", expected));
    default:
      return Invalid(simdjson::error_message(error));
  }
}

absl::StatusOr<int64_t> ResumeValue::Int64() const {
  return Get<int64_t>("a signed 64-bit integer");
}

absl::StatusOr<uint64_t> ResumeValue::Uint64() const {
  return Get<uint64_t>("an unsigned 64-bit integer");
}

absl::StatusOr<bool> ResumeValue::Bool() const {
  return Get<bool>("a boolean");
}

absl::StatusOr<std::string> ResumeValue::String() const {
  const absl::StatusOr<std::string_view> text =
      Get<std::string_view>("a string");
  if (!text.ok()) return text.status();
  return std::string(*text);
}

absl::StatusOr<std::vector<ResumeValue>> ResumeValue::Elements() const {
  const absl::StatusOr<simdjson::dom::array> array =
      Get<simdjson::dom::array>("an array");
  if (!array.ok()) return array.status();
  std::vector<ResumeValue> elements;
  for (const simdjson::dom::element element : *array) {
    elements.push_back(ResumeValue(
        text_, absl::StrCat(path_, "[", elements.size(), "]"), Copy(element)));
  }
  return elements;
}

absl::StatusOr<std::vector<std::pair<std::string, ResumeValue>>>
ResumeValue::Members() const {
  const absl::StatusOr<simdjson::dom::object> object =
      Get<simdjson::dom::object>("an object");
  if (!object.ok()) return object.status();
  std::vector<std::pair<std::string, ResumeValue>> members;
  for (const simdjson::dom::key_value_pair member : *object) {
    std::string name(member.key);
    ResumeValue value(text_, absl::StrCat(path_, ".", name),
                      Copy(member.value));
    members.emplace_back(std::move(name), std::move(value));
  }
  return members;
}

absl::Status ResumeValue::Invalid(absl::string_view problem) const {
  return StateError(*text_, absl::StrCat(path_, " ", problem));
}

struct ResumeInfo::Document {
  std::string text;
  simdjson::dom::parser parser;
  simdjson::dom::element root;
};

ResumeInfo::ResumeInfo(std::unique_ptr<Document> document)
    : document_(std::move(document)) {}
ResumeInfo::ResumeInfo(ResumeInfo&&) noexcept = default;
ResumeInfo& ResumeInfo::operator=(ResumeInfo&&) noexcept = default;
ResumeInfo::~ResumeInfo() = default;

ResumeValue ResumeInfo::root() const {
  return ResumeValue(&document_->text, "$", Copy(document_->root));
}

absl::StatusOr<ResumeInfo> ParseResumeInfo(absl::string_view metadata) {
  auto document = std::make_unique<ResumeInfo::Document>();
  document->text = std::string(metadata);
  const simdjson::error_code error =
      document->parser.parse(document->text).get(document->root);
  if (error != simdjson::SUCCESS) {
    return StateError(metadata, simdjson::error_message(error));
  }
  return ResumeInfo(std::move(document));
}

}  // namespace penstock::core
