#include "core/handoff/sink_handoff.h"

#include "core/handoff/basic_sink_handoff.h"

#include <utility>

namespace penstock::core {

std::unique_ptr<Handoff> MakeHandoff(std::unique_ptr<RowEncoder> encoder,
                                     RouteKind route, ShardQueues& queues,
                                     std::shared_ptr<InflightBudget> budget,
                                     ChunkConfig config, const Clock& clock) {
  CHECK(encoder != nullptr);
  switch (route) {
    case RouteKind::kKeyHash:
      return std::make_unique<SinkHandoff<RowEncoder, KeyHashRouter>>(
          std::move(encoder), KeyHashRouter(), queues, std::move(budget),
          config, clock);
    case RouteKind::kPartition:
      return std::make_unique<SinkHandoff<RowEncoder, PartitionRouter>>(
          std::move(encoder), PartitionRouter(), queues, std::move(budget),
          config, clock);
  }
  CHECK(false) << "route " << static_cast<int>(route);
  return nullptr;
}

}  // namespace penstock::core
