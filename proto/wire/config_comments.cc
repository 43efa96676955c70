#include "proto/wire/config_comments.h"

#include "core/base/check.h"

#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <absl/strings/string_view.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <cstddef>
#include <map>
#include <vector>

namespace penstock {
// Made of spec.proto by the build.
extern const unsigned char kSpecComments[];
extern const std::size_t kSpecCommentsSize;
}  // namespace penstock

namespace penstock::wire {
namespace {

using google::protobuf::FileDescriptorSet;

// By message or message.field, which is how FileDescriptorProto numbers them.
using Comments = std::map<std::vector<int>, std::string>;

std::string OneLine(const std::string& comment) {
  return absl::StrJoin(
      absl::StrSplit(comment, absl::ByAnyChar(" \n"), absl::SkipEmpty()), " ");
}

const Comments& AllComments() {
  // Lifetime: the process; read-only once made.
  static const Comments* const all = [] {
    FileDescriptorSet set;
    CHECK(
        set.ParseFromArray(kSpecComments, static_cast<int>(kSpecCommentsSize)));
    auto* comments = new Comments;
    for (const auto& location : set.file(0).source_code_info().location()) {
      if (!location.has_leading_comments()) continue;
      comments->emplace(
          std::vector<int>(location.path().begin(), location.path().end()),
          OneLine(location.leading_comments()));
    }
    return comments;
  }();
  return *all;
}

// Where FileDescriptorProto has it; of a message that is inside of another,
// which spec.proto has none of, nothing.
constexpr int kMessagesOfFile = 4;
constexpr int kFieldsOfMessage = 2;

std::string Find(const google::protobuf::Descriptor& message,
                 std::vector<int> below) {
  const bool is_ours =
      message.file()->name() == "proto/penstock/v1/spec.proto" &&
      message.containing_type() == nullptr;
  if (!is_ours) return "";
  std::vector<int> path = {kMessagesOfFile, message.index()};
  path.insert(path.end(), below.begin(), below.end());
  const auto found = AllComments().find(path);
  return found == AllComments().end() ? "" : found->second;
}

// The end of the sentence that begins `text`: a full stop before a blank or the
// end, or a semicolon.
std::size_t EndOfSentence(absl::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool stop = text[i] == '.' || text[i] == ';';
    if (stop && (i + 1 == text.size() || text[i + 1] == ' ')) return i;
  }
  return text.size();
}

}  // namespace

std::string CommentOf(const google::protobuf::Descriptor& message) {
  return Find(message, {});
}

std::string CommentOf(const google::protobuf::FieldDescriptor& field) {
  return Find(*field.containing_type(), {kFieldsOfMessage, field.index()});
}

std::string DefaultIn(const std::string& comment) {
  constexpr absl::string_view kMark = "Default: ";
  const std::size_t at = absl::string_view(comment).find(kMark);
  if (at == absl::string_view::npos) return "";
  const absl::string_view rest =
      absl::string_view(comment).substr(at + kMark.size());
  return std::string(rest.substr(0, EndOfSentence(rest)));
}

}  // namespace penstock::wire
