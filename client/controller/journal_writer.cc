#include "client/controller/journal_writer.h"

#include <cstdint>
#include <iterator>
#include <utility>

namespace penstock::client {

void JournalWriter::Add(ConnectorSession& session,
                        std::shared_ptr<const core::StepResult> result) {
  waiting_.push_back({&session, std::move(result)});
  if (!writing_) WriteNext();
}

void JournalWriter::WriteNext() {
  if (waiting_.empty()) return;
  uint64_t bytes = 0;
  auto end = waiting_.begin();
  while (end != waiting_.end()) {
    bytes += BytesOf(*end->result);
    if (end != waiting_.begin() && bytes > kJournalBytesMax) break;
    ++end;
  }
  std::vector<Entry> entries(std::make_move_iterator(waiting_.begin()),
                             std::make_move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  StoreTransaction transaction;
  for (const Entry& entry : entries) {
    if (!context_.Pass(FaultPoint::kBeforeJournal, entry.session->name())) {
      return;
    }
    transaction.journal.push_back({entry.session->name(), *entry.result});
  }
  writing_ = true;
  store_.Commit(std::move(transaction),
                [this, entries = std::move(entries)] { OnWritten(entries); });
}

void JournalWriter::OnWritten(const std::vector<Entry>& entries) {
  // The next transaction is on its way before this one is looked at.
  writing_ = false;
  for (const Entry& entry : entries) {
    if (!context_.Pass(FaultPoint::kAfterJournal, entry.session->name())) {
      return;
    }
  }
  WriteNext();
  if (context_.tasks.closed()) return;
  for (const Entry& entry : entries) {
    entry.session->OnJournaled(entry.result);
  }
  // All of a session's first, so that one Release covers them.
  for (const Entry& entry : entries) {
    if (context_.tasks.closed()) return;
    entry.session->AfterJournal();
  }
}

}  // namespace penstock::client
