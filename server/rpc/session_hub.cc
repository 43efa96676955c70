#include "server/rpc/session_hub.h"

#include "core/base/error.h"

#include <utility>

namespace penstock::server {
namespace {

constexpr absl::Duration kRetryDelay = absl::Seconds(1);

absl::Status GoingAway() {
  return core::MakeError(core::Reason::SHUTTING_DOWN,
                         "holding a Session: this worker is going away");
}

}  // namespace

SessionHub::SessionHub(Dispatcher& dispatcher, PositionCache& positions,
                       WatchHub& watches, core::Executor& executor,
                       WorkerIdentity identity, SessionTerms terms)
    : dispatcher_(dispatcher),
      watches_(watches),
      executor_(executor),
      commands_(dispatcher, positions),
      identity_(std::move(identity)),
      terms_(terms),
      use_(nullptr, [unused = unused_](const void*) { unused->Notify(); }) {}

grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>*
SessionHub::Start(grpc::CallbackServerContext& context) {
  const std::shared_ptr<Session> session =
      Session::Start({.dispatcher = dispatcher_,
                      .commands = commands_,
                      .watches = watches_,
                      .executor = executor_,
                      .identity = identity_,
                      .terms = terms_,
                      .use = use_},
                     context);
  absl::Status refused;
  {
    core::MutexLock lock(mu_);
    std::erase_if(sessions_, [](const auto& one) { return one.expired(); });
    if (shut_) {
      refused = GoingAway();
    } else if (sessions_.size() >= kSessionsMax) {
      refused = core::WithRetryDelay(
          core::MakeError(core::Reason::BUDGET_EXCEEDED,
                          "holding a Session: this worker has as many as it "
                          "can hold; ask again later, or make single calls"),
          kRetryDelay);
    } else {
      sessions_.push_back(session);
    }
  }
  if (!refused.ok()) session->End(std::move(refused));
  // It lives until OnDone, for it holds itself.
  return session.get();
}

void SessionHub::Shutdown() {
  std::vector<std::weak_ptr<Session>> sessions;
  {
    core::MutexLock lock(mu_);
    shut_ = true;
    std::swap(sessions, sessions_);
  }
  for (const auto& one : sessions) {
    if (const auto session = one.lock()) session->End(GoingAway());
  }
}

void SessionHub::Wait() {
  use_.reset();
  unused_->WaitForNotification();
}

}  // namespace penstock::server
