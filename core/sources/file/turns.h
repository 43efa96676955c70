// Whose turn it is to be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace penstock::core {

// Files are read by turns, a block each, so that a long one holds back no
// other. Only so many are under way at once, for each is open; after
// kTurnsMax turns one gives way to those that wait, if there are any.
//
//   Add ──▶ waiting ──▶ under way ──End──▶ gone
//              ▲            │ ▲
//              └──kTurnsMax─┘ └─ GoOn
//
// Owner:   a reader's tasks. Threads: thread-compatible.
// Bound:   the files added; kUnderWayMax under way.
class Turns {
 public:
  static constexpr size_t kUnderWayMax = 64;
  static constexpr uint32_t kTurnsMax = 16;

  // Requires: it is not in here.
  void Add(uint32_t id) { waiting_.push_back(id); }
  // Who is next; nullopt: nobody. It is out until it goes on.
  std::optional<uint32_t> Next();
  // The one that Next gave last has more to read.
  // Returns: false if it gave way, so that it need not stay open.
  bool GoOn(bool may_give_way);

  bool IsEmpty() const { return waiting_.empty() && under_way_.empty(); }

 private:
  struct Entry {
    uint32_t id = 0;
    uint32_t turns = 0;
  };

  std::deque<uint32_t> waiting_;
  std::deque<Entry> under_way_;
  Entry current_;
};

}  // namespace penstock::core
