#include "proto/wire/session_lane.h"

#include "proto/penstock/v1/session.pb.h"

namespace penstock::wire {

const std::string* OrderedConnector(const v1::SessionCommand& command) {
  switch (command.command_case()) {
    case v1::SessionCommand::kReplay:
      return &command.replay().connector().connector();
    case v1::SessionCommand::kExtend:
      return &command.extend().connector().connector();
    case v1::SessionCommand::kPause:
      return &command.pause().connector().connector();
    case v1::SessionCommand::kQueue:
      return &command.queue().connector().connector();
    case v1::SessionCommand::kOpenConnector:
    case v1::SessionCommand::kDeleteConnector:
    case v1::SessionCommand::kGetConnector:
    case v1::SessionCommand::kRelease:
    case v1::SessionCommand::kPrepareCheckpoint:
    case v1::SessionCommand::kCommitCheckpoint:
    case v1::SessionCommand::kDisconnect:
    case v1::SessionCommand::COMMAND_NOT_SET:
      return nullptr;
  }
  return nullptr;
}

}  // namespace penstock::wire
