#include "server/rpc/session_hub.h"

#include "core/base/error.h"

#include <utility>

namespace penstock::server {
namespace {

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
      terms_(terms) {}

grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>*
SessionHub::Start(grpc::CallbackServerContext& context) {
  const std::shared_ptr<Session> session =
      Session::Start({.dispatcher = dispatcher_,
                      .commands = commands_,
                      .watches = watches_,
                      .executor = executor_,
                      .identity = identity_,
                      .terms = terms_},
                     context);
  absl::Status refused;
  {
    core::MutexLock lock(mu_);
    std::erase_if(sessions_, [](const auto& one) { return one.expired(); });
    if (shut_) {
      refused = GoingAway();
    } else if (sessions_.size() >= kSessionsMax) {
      refused = core::MakeError(core::Reason::MEMORY_REFUSED,
                                "holding a Session: this worker has as many "
                                "as it can hold");
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

}  // namespace penstock::server
