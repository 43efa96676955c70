#include "server/admin/event_log.h"

#include "core/base/log.h"
#include "core/connector/state_machine.h"

#include <utility>

namespace penstock::server {

EventLog::EventLog(DispatchObserver& next, const core::Clock& clock)
    : next_(next), clock_(clock), shared_(MakeLimit()) {}

EventLog::Limit EventLog::MakeLimit() const {
  return std::make_shared<core::RateLimit>(kEventsPerWindow, kWindow, clock_);
}

EventLog::Limit EventLog::LimitOf(const std::string& connector,
                                  const std::string& tag) {
  core::MutexLock lock(mu_);
  const auto of_connector = limits_.find(connector);
  if (of_connector != limits_.end()) {
    const auto found = of_connector->second.find(tag);
    if (found != of_connector->second.end()) return found->second;
  }
  if (tags_ >= kTagsMax) return shared_;
  ++tags_;
  return limits_[connector].emplace(tag, MakeLimit()).first->second;
}

void EventLog::OnOpened(const std::string& connector) {
  LOG(INFO).With("connector", connector) << "opened";
  next_.OnOpened(connector);
}

void EventLog::OnRemoved(const std::string& connector,
                         const std::string& instance) {
  LOG(INFO).With("connector", connector).With("instance", instance)
      << "removed";
  {
    core::MutexLock lock(mu_);
    const auto found = limits_.find(connector);
    if (found != limits_.end()) {
      tags_ -= found->second.size();
      limits_.erase(found);
    }
  }
  next_.OnRemoved(connector, instance);
}

void EventLog::OnChanged(const std::string& connector) {
  next_.OnChanged(connector);
}

void EventLog::OnState(const std::string& connector,
                       const std::string& instance, const std::string& pipeline,
                       core::ConnectorState previous,
                       core::ConnectorState state) {
  if (state == core::ConnectorState::kFailed) {
    LOG(ERROR)
            .With("connector", connector)
            .With("pipeline", pipeline)
            .With("instance", instance)
            .With("previous_state", core::StateName(previous))
        << "failed: it does nothing more until it is opened again";
  }
  next_.OnState(connector, instance, pipeline, previous, state);
}

void EventLog::OnError(const std::string& connector,
                       const core::ErrorEntry& error) {
  const Limit limit = LimitOf(connector, error.tag);
  if (error.fatal) {
    LOG(ERROR)
            .With("connector", connector)
            .With("tag", error.tag)
            .With("count", error.index)
        << error.text;
  } else {
    LOG_EVERY(WARNING, *limit)
            .With("connector", connector)
            .With("tag", error.tag)
            .With("count", error.index)
        << error.text;
  }
  next_.OnError(connector, error);
}

void EventLog::OnParseErrors(const std::string& connector,
                             const std::vector<core::ParseError>& errors) {
  next_.OnParseErrors(connector, errors);
}

void EventLog::OnTransaction(const std::string& connector, bool started,
                             std::optional<std::string> label) {
  next_.OnTransaction(connector, started, std::move(label));
}

}  // namespace penstock::server
