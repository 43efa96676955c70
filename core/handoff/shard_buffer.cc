#include "core/handoff/shard_buffer.h"

#include <exception>

namespace penstock::core {

absl::Status EncoderThrew(Reason reason) {
  constexpr absl::string_view kWhat = "the encoder threw: ";
  try {
    throw;
  } catch (const std::exception& error) {
    return MakeError(reason, absl::StrCat(kWhat, error.what()));
  } catch (...) {
    return MakeError(
        reason, absl::StrCat(kWhat, "something that is no std::exception"));
  }
}

}  // namespace penstock::core
