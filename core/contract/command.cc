#include "core/contract/command.h"

namespace penstock::core {
namespace {

struct ToNonFt {
  using Result = std::optional<NonFtInputReaderCommand>;

  Result operator()(const ReplayCommand&) const { return std::nullopt; }
  Result operator()(const SkipCommand&) const { return std::nullopt; }
  Result operator()(const ExtendCommand&) const {
    return NonFtTransition{PipelineState::kRunning};
  }
  Result operator()(const PauseCommand&) const {
    return NonFtTransition{PipelineState::kPaused};
  }
  Result operator()(const QueueCommand&) const { return NonFtQueue{}; }
  Result operator()(const DisconnectCommand&) const {
    return NonFtTransition{PipelineState::kTerminated};
  }
};

}  // namespace

std::optional<NonFtInputReaderCommand> AsNonFt(
    const InputReaderCommand& command) {
  return std::visit(ToNonFt{}, command);
}

}  // namespace penstock::core
