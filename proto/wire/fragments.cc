#include "proto/wire/fragments.h"

#include "core/base/check.h"
#include "core/base/checksum.h"
#include "core/base/error.h"
#include "proto/penstock/v1/common.pb.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace penstock::wire {
namespace {

absl::Status Malformed(absl::string_view what, uint64_t offset) {
  return core::MakeError(core::Reason::MALFORMED_FRAME, what,
                         {{"offset", absl::StrCat(offset)}});
}

}  // namespace

Part PartOf(absl::string_view whole) {
  return {whole.size(), core::Checksum64(whole)};
}

v1::PartRef ToProto(const Part& part) {
  v1::PartRef result;
  result.set_length(part.length);
  result.set_hash(part.hash);
  return result;
}

Part FromProto(const v1::PartRef& part) { return {part.length(), part.hash()}; }

v1::Fragment FragmentAt(absl::string_view whole, uint64_t offset,
                        size_t bytes_max) {
  CHECK_LE(offset, whole.size());
  const absl::string_view piece = whole.substr(offset, bytes_max);
  v1::Fragment result;
  result.set_offset(offset);
  result.set_data(piece.data(), piece.size());
  return result;
}

FragmentAssembler::FragmentAssembler(Part announced, uint64_t bytes_max)
    : announced_(announced), bytes_max_(bytes_max) {}

absl::Status FragmentAssembler::Add(const v1::Fragment& fragment) {
  if (announced_.length > bytes_max_) {
    return core::MakeError(core::Reason::RECORD_TOO_LARGE,
                           absl::StrCat("a part of ", announced_.length,
                                        " bytes was announced, at most ",
                                        bytes_max_, " are accepted"),
                           {{"bytes", absl::StrCat(announced_.length)},
                            {"limit", absl::StrCat(bytes_max_)}});
  }
  if (fragment.offset() != whole_.size()) {
    return Malformed(absl::StrCat("a fragment begins at ", fragment.offset(),
                                  " where ", whole_.size(), " is next"),
                     whole_.size());
  }
  if (fragment.data().size() > announced_.length - whole_.size()) {
    return Malformed(
        absl::StrCat("fragments are longer than the ", announced_.length,
                     " bytes that were announced"),
        whole_.size());
  }
  whole_ += fragment.data();
  return absl::OkStatus();
}

absl::StatusOr<std::string> FragmentAssembler::Finish() && {
  if (!complete()) {
    return Malformed(absl::StrCat("fragments end after ", whole_.size(), " of ",
                                  announced_.length, " bytes"),
                     whole_.size());
  }
  if (core::Checksum64(whole_) != announced_.hash) {
    return Malformed("fragments do not have the hash that was announced",
                     whole_.size());
  }
  return std::move(whole_);
}

}  // namespace penstock::wire
