// What tests of the dispatcher begin with.
#pragma once

#include "server/dispatch/dispatcher.h"
#include "tests/core/connector/harness.h"
#include "tests/support/fake_filesystem.h"
#include "tests/support/status_matchers.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace penstock::server {

// A dispatcher over the connector harness's fakes, on one thread.
class DispatcherFixture : public testing::Test {
 protected:
  DispatcherFixture() : paths_({}) {
    harness_.request.spec.limits.memory_max = uint64_t{1} << 30;
    MakeDispatcher();
  }

  void MakeDispatcher() { MakeDispatcher(executor()); }
  void MakeDispatcher(core::Executor& io) {
    dispatcher_ = nullptr;
    auto dispatcher = Dispatcher::Create(
        {.memory_max = uint64_t{4} << 30, .orphan_timeout = orphan_timeout_},
        core::ConnectorRuntime{.executor = executor(),
                               .io = io,
                               .environment = {.files = files_,
                                               .io = executor(),
                                               .clock = executor().clock(),
                                               .paths = paths_},
                               .registry = harness_.registry,
                               .random_seed = 0},
        MakeFileFenceStore(files_, "/state"), nullptr);
    EXPECT_OK(dispatcher.status());
    dispatcher_ = *std::move(dispatcher);
  }

  core::ManualExecutor& executor() { return harness_.executor; }
  static core::Fence FenceOf(uint64_t epoch) {
    return {.pipeline = "pipeline",
            .controller_id = "c",
            .epoch = epoch,
            .nonce = "nonce-of-it"};
  }
  core::CommandHeader Header(uint64_t epoch) const {
    core::CommandHeader header;
    header.fence = FenceOf(epoch);
    header.ref = {.connector = "connector", .instance = instance_};
    return header;
  }
  core::Answer<core::OpenReply> StartOpen(uint64_t epoch) {
    core::OpenRequest request = harness_.request;
    request.fence = FenceOf(epoch);
    request.writer = {.epoch = epoch, .open_number = 1};
    core::Answer<core::OpenReply> answer;
    dispatcher_->Open(request, answer.Callback());
    return answer;
  }
  void Open(uint64_t epoch) {
    const core::Answer<core::OpenReply> answer = StartOpen(epoch);
    executor().RunUntilIdle();
    ASSERT_OK(answer.status());
    instance_ = answer->instance;
    core::Answer<core::Nothing> extended;
    dispatcher_->Extend(Header(epoch), extended.Callback());
    executor().RunUntilIdle();
    ASSERT_OK(extended.status());
  }
  core::Answer<core::QueueReply> Queue(core::CommandHeader header,
                                       absl::Duration wait) {
    core::QueueRequest queue;
    queue.step = 0;
    queue.wait = wait;
    core::Answer<core::QueueReply> answer;
    dispatcher_->Queue(std::move(header), queue, answer.Callback());
    return answer;
  }

  core::Harness harness_;
  // Of the dispatcher that is made next.
  absl::Duration orphan_timeout_ = absl::InfiniteDuration();
  core::FakeFileSystem files_;
  const core::PathPolicy paths_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::string instance_;
};

}  // namespace penstock::server
