#include "core/connector/connector.h"

#include "core/connector/driver.h"
#include "core/connector/lanes.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

// Keeps the driver alive; its end is the connector's.
class DrivenConnector final : public Connector {
 public:
  explicit DrivenConnector(std::shared_ptr<Driver> driver)
      : driver_(std::move(driver)) {}
  DrivenConnector(const DrivenConnector&) = delete;
  DrivenConnector& operator=(const DrivenConnector&) = delete;
  ~DrivenConnector() override { driver_->Shut(); }

  void Open(Reply<OpenReply> reply) override {
    Submit(ImmediateCall(OpenCall{std::move(reply)}));
  }
  void Replay(ReplayRequest request, Reply<ReplayReply> reply) override {
    Submit(OrderedCall(ReplayCall{std::move(request), std::move(reply)}));
  }
  void Extend(Done done) override {
    Submit(OrderedCall(ExtendCall{std::move(done)}));
  }
  void Pause(Done done) override {
    Submit(OrderedCall(PauseCall{std::move(done)}));
  }
  void Queue(QueueRequest request, Reply<QueueReply> reply) override {
    Submit(OrderedCall(QueueCall{request, std::move(reply)}));
  }
  void Release(Step released_steps, Done done) override {
    Submit(ImmediateCall(ReleaseCall{released_steps, std::move(done)}));
  }
  void PrepareCheckpoint(PrepareCheckpointRequest request,
                         Reply<PrepareCheckpointReply> reply) override {
    Submit(ImmediateCall(PrepareCall{request, std::move(reply)}));
  }
  void CommitCheckpoint(CommitCheckpointRequest request, Done done) override {
    Submit(ImmediateCall(CommitCall{request, std::move(done)}));
  }
  void Disconnect(DisconnectRequest request,
                  Reply<DisconnectReply> reply) override {
    Submit(ImmediateCall(DisconnectCall{request, std::move(reply)}));
  }
  void GiveUpOpen() override { driver_->GiveUpOpen(); }
  void Supersede() override {
    Submit(ImmediateCall(SupersedeCall{[](const absl::Status& /*done*/) {}}));
  }
  void Drain(DrainScope scope, Done done) override {
    Submit(ImmediateCall(DrainCall{scope, std::move(done)}));
  }

  void Orphan(absl::Time unheard_since, std::function<bool()> still) override {
    Submit(ImmediateCall(OrphanCall{unheard_since, std::move(still),
                                    [](const absl::Status& /*done*/) {}}));
  }
  std::optional<absl::Duration> orphan_timeout() const override {
    return driver_->orphan_timeout();
  }
  void Update(UpdateRequest request, Reply<UpdateReply> reply) override {
    Submit(ImmediateCall(UpdateCall{std::move(request), std::move(reply)}));
  }

  std::shared_ptr<const StepResult> Retained(Step step) const override {
    return driver_->Retained(step);
  }
  ConnectorStatus Status() const override { return driver_->Status(); }
  std::vector<ErrorEntry> Errors(size_t count) const override {
    return driver_->state().health.Errors(count);
  }
  const std::string& instance() const override { return driver_->instance(); }
  const std::string& pipeline() const override {
    return driver_->state().request.fence.pipeline;
  }
  std::shared_ptr<CountWatch> completed() const override {
    return driver_->state().completed;
  }
  std::shared_ptr<CountWatch> checkpointed() const override {
    return driver_->state().checkpointed;
  }
  ParseErrorCounts ParseErrors() const override {
    return driver_->ParseErrors();
  }
  std::shared_ptr<const ConnectorMetrics> CustomMetrics() const override {
    return driver_->CustomMetrics();
  }

 private:
  // Last in its caller: a callback may have let go of this connector.
  template <typename Call>
  void Submit(Call call) {
    driver_->Submit(std::move(call));
  }

  // Shared by: its tasks, while they run.
  const std::shared_ptr<Driver> driver_;
};

}  // namespace

std::shared_ptr<Connector> Connector::Create(
    ConnectorRuntime runtime, OpenRequest request,
    std::unique_ptr<ConnectorObserver> observer) {
  return std::make_shared<DrivenConnector>(
      Driver::Create(runtime, std::move(request), std::move(observer)));
}

}  // namespace penstock::core
