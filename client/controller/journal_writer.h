// Journals step results, grouped. Upholds INV-2, INV-3.
#pragma once

#include "client/controller/connector_session.h"
#include "client/controller/controller_context.h"
#include "client/controller/store_committer.h"
#include "core/connector/requests.h"

#include <deque>
#include <memory>
#include <vector>

namespace penstock::client {

// One transaction is under way at any time; whatever arrived meanwhile, of all
// connectors, goes into the next one, up to kJournalBytesMax. So the store's
// latency costs no throughput, and one lost worker holds back nobody.
//
// Owner:   the controller. Threads: confined to its strand.
// Bound:   per connector unjournaled_max results, kept by the sessions.
class JournalWriter {
 public:
  JournalWriter(ControllerContext& context, StoreCommitter& store)
      : context_(context), store_(store) {}

  // Requires: results of one session come in the order of their steps.
  // Ensures: session.OnJournaled, in that order, once it is durable.
  void Add(ConnectorSession& session,
           std::shared_ptr<const core::StepResult> result);

 private:
  struct Entry {
    // Lives as long as the controller.
    ConnectorSession* session;
    std::shared_ptr<const core::StepResult> result;
  };
  void WriteNext();
  void OnWritten(const std::vector<Entry>& entries);

  ControllerContext& context_;
  StoreCommitter& store_;
  std::deque<Entry> waiting_;
  bool writing_ = false;
};

}  // namespace penstock::client
