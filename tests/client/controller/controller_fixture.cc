#include "tests/client/controller/controller_fixture.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include <utility>

namespace penstock::client {

ControllerTest::ControllerTest() {
  options_.pipeline = "pipeline";
  options_.controller_id = "controller";
  options_.checkpoint_interval = absl::Seconds(1);
  options_.step_block = 8;
  options_.stop_at_end_of_input = true;
  // Those of the recovery path: controller_adopt_test.cc is about the other.
  options_.adopt_living = false;
}

core::FakeOutside::Connector& ControllerTest::AddConnector(size_t records,
                                                           std::string name,
                                                           size_t worker) {
  PipelineConnector connector;
  connector.name = name;
  connector.spec_bytes = absl::StrCat("spec of ", name);
  connector.level = core::FtModel::kExactlyOnce;
  connector.worker = worker;
  options_.connectors.push_back(std::move(connector));
  outside_.connectors[name];
  AddRecords(records, name);
  return outside_.connectors[name];
}

void ControllerTest::AddRecords(size_t records, const std::string& name) {
  auto& all = outside_.connectors.at(name).records;
  for (size_t i = 0; i < records; ++i) {
    all.push_back(absl::StrCat("record ", all.size(), " of ", name));
  }
}

void ControllerTest::Start() {
  Crash();
  end_.reset();
  options_.nonce = absl::StrCat("nonce-", disk_.state.epoch);
  store_ = std::make_unique<FakeStateStore>(executor_, disk_);
  controller_ = Controller::Create(options_, executor_, *store_,
                                   {&worker_, &other_worker_},
                                   [this](absl::Status status) {
                                     end_ = std::move(status);
                                     ++ends_;
                                   });
  if (hook_) {
    controller_->SetFaultHook(
        [this](FaultPoint point, const std::string& name) {
          hook_(point, name);
        });
  }
  controller_->Start();
}

void ControllerTest::Crash() {
  controller_ = nullptr;
  store_ = nullptr;
}

ConnectorProgress ControllerTest::Progress(const std::string& name) const {
  for (const ConnectorProgress& progress : controller_->Snapshot().connectors) {
    if (progress.name == name) return progress;
  }
  return {};
}

void ControllerTest::ExpectExactlyOnce(const std::string& name) {
  EXPECT_EQ(Outside(name).rows, Outside(name).records);
}

std::vector<core::FakeControl::Call> ControllerTest::CallsOf(
    core::ControlVerb verb) const {
  std::vector<core::FakeControl::Call> calls;
  for (const core::FakeControl::Call& call : worker_.calls()) {
    if (call.verb == verb) calls.push_back(call);
  }
  return calls;
}

}  // namespace penstock::client
