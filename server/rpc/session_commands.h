// The commands of one session: put together, kept in order, answered by id.
#pragma once

#include "core/connector/requests.h"
#include "proto/penstock/v1/session.pb.h"
#include "proto/wire/fragments.h"
#include "proto/wire/requests.h"
#include "server/rpc/commands.h"
#include "server/rpc/session_outbound.h"

#include <absl/status/status.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace penstock::server {

// A command of the ordered lane waits here only for fragments: its own, or
// those of one before it of the same connector.
//
// Owner:     a session. Threads: confined to its strand; answers come on any
//            thread, straight into the outbound queue.
// Bound:     `kFragmentBytesMax` of announced wholes, `kWaitingMax` commands
//            behind one that is not whole.
class SessionCommands {
 public:
  static constexpr uint64_t kFragmentBytesMax = uint64_t{128} << 20;
  static constexpr size_t kWaitingMax = 64;

  // `use`: of `commands`; each answer holds it until it came.
  SessionCommands(const Commands& commands,
                  std::shared_ptr<SessionOutbound> outbound,
                  std::shared_ptr<const void> use)
      : commands_(commands),
        outbound_(std::move(outbound)),
        use_(std::move(use)) {}

  // In whose name commands are given. Before the first.
  void SetFence(const core::Fence& fence);
  // Errors end the session: INVALID_REQUEST. What is wrong with one command is
  // its answer.
  absl::Status OnCommand(v1::SessionCommand& command);
  absl::Status OnFragment(const v1::CommandFragment& fragment);
  // Nothing more comes: what waits for data, and what waits behind it, is
  // answered that it never will, and the outbound queue is woken once
  // AllAnswered.
  void OnEnd();
  // Whether every command that was begun has its answer in the outbound queue.
  bool AllAnswered() const { return tally_->unanswered == 0; }

 private:
  // A command whose fragments are on their way, or wait for their turn.
  struct Upload {
    std::string connector;
    std::optional<wire::DecodedOpen> open;
    std::optional<wire::DecodedReplay> replay;
    wire::FragmentAssembler assembler;
    uint64_t announced = 0;
    bool is_whole = false;
    absl::Status failed;
  };
  // What waits for its turn in the ordered lane of one connector.
  struct Waiting {
    uint64_t id = 0;
    // Absent: an upload.
    std::optional<v1::SessionCommand> command;
  };

  void Begin(v1::SessionCommand& command);
  void BeginOpen(uint64_t id, const v1::OpenConnectorStart& start);
  void BeginReplay(uint64_t id, const v1::ReplayStart& start);
  // Errors: BUDGET_EXCEEDED.
  absl::Status AddUpload(uint64_t id, const wire::Part& part, Upload upload);
  void Run(v1::SessionCommand& command);
  void RunUpload(uint64_t id);
  void RunWaiting(const std::string& connector);
  void Fail(uint64_t id, const absl::Status& status);

  // An answer that goes into its arm of a reply: `arm` is its setter.
  template <typename Response>
  Commands::Answer<Response> AnswerOf(uint64_t id,
                                      Response* (v1::SessionReply::*arm)());

  const Commands& commands_;
  const std::shared_ptr<SessionOutbound> outbound_;
  const std::shared_ptr<const void> use_;
  // Shared with the answers. Either end sees what the other has just done: in
  // the order of all of them.
  struct Tally {
    std::atomic<uint64_t> unanswered{0};
    std::atomic<bool> has_ended{false};
  };
  const std::shared_ptr<Tally> tally_ = std::make_shared<Tally>();
  v1::Fence fence_;
  uint64_t last_id_ = 0;
  uint64_t announced_ = 0;
  std::map<uint64_t, Upload> uploads_;
  // By connector; none is empty.
  std::map<std::string, std::deque<Waiting>> waiting_;
};

}  // namespace penstock::server
