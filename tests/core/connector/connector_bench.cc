// What a command costs that moves no data: the driver's own share of an empty
// Queue and of a Release, without any transport.
#include "tests/core/connector/harness.h"

#include <benchmark/benchmark.h>

#include <cstdlib>

namespace penstock::core {
namespace {

void BM_Connector_EmptyQueue(benchmark::State& state) {
  Harness harness;
  harness.MustOpen();
  harness.MustExtend();
  QueueRequest request;
  request.step = 1;
  for (auto _ : state) {
    bool answered = false;
    harness.connector->Queue(
        request, [&answered](const absl::StatusOr<QueueReply>& reply) {
          answered = reply.ok() && reply->no_step.has_value();
        });
    if (!answered) std::abort();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Connector_EmptyQueue);

void BM_Connector_Release(benchmark::State& state) {
  Harness harness;
  harness.MustOpen();
  for (auto _ : state) {
    bool answered = false;
    harness.connector->Release(
        0, [&answered](const absl::Status& status) { answered = status.ok(); });
    if (!answered) std::abort();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Connector_Release);

}  // namespace
}  // namespace penstock::core
