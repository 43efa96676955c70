// Which rows of a batch does a target refuse?
// See core/handoff/README.md; upholds INV-11.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace penstock::core {

// Rows [begin, end) of a batch, counted from 0.
struct RowRange {
  size_t begin = 0;
  size_t end = 0;
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

// Decides what is to be tried, and concludes from the answers; it touches
// neither rows nor target.
//
// First each range is tried by itself and halved while it is refused, down to
// single rows. This finds every row that is bad whatever stands beside it. In
// mode kProbe the batch without them is then written as one; if that is refused
// as well, some rows are bad only together (two of one key, say), and Resume
// searches on: for the shortest beginning of the batch that is refused, whose
// last row is then the bad one, so that of rows which exclude each other the
// first is kept.
//
// Only a trial is believed, never the write that was refused: that one may have
// met rows which an earlier attempt of the same batch, whose answer was lost,
// has stored meanwhile. A trial that begins afterwards is answered OK then (see
// OutputEndpoint, Retry).
//
// Owner:     a shard worker. Threads: confined to its strand.
// Lifecycle: one batch, from its first refusal until it is settled.
// Bound:     TrialsMax; memory: one bit a row (while rows are sought that are
//            bad together: eight bytes a row) and what TakeFound has not taken.
class BadRowSearch {
 public:
  enum class Mode {
    // A trial is rolled back.
    kProbe,
    // A trial that is taken is stored: nothing is left to write at the end.
    kStore,
  };
  struct Found {
    size_t row = 0;
    absl::Status error;
  };
  // Refusals in a row of a batch in which nothing is found, before it is given
  // up.
  static constexpr int kFruitlessMax = 3;

  // Requires: rows > 0.
  BadRowSearch(size_t rows, Mode mode);

  // What to try next: the rows of the range that are not bad. The same until
  // it is answered, so that a trial without an answer is made again. nullopt:
  // the search is over.
  std::optional<RowRange> Next() const;
  void OnTaken();
  // `error`: of kind kBadRow. If it names a row, counted over those tried, that
  // one is bad.
  void OnRefused(const absl::Status& error);

  // kProbe: the batch without the bad rows was refused as well. False: nothing
  // more can be found out.
  // Requires: Next() is nullopt.
  [[nodiscard]] bool Resume();

  bool IsBad(size_t row) const { return bad_[row]; }
  size_t bad_count() const { return bad_count_; }
  // The rows found since the last call, in the order in which they were found.
  std::vector<Found> TakeFound();
  size_t untaken() const { return found_.size(); }

  uint64_t trials() const { return trials_; }
  // The most trials in which `bad` of `rows` rows are found, `together` of
  // them bad only beside others.
  static uint64_t TrialsMax(size_t rows, size_t bad, size_t together);

 private:
  // The shortest refused beginning of `rows`: that of `taken` rows is taken,
  // that of `refused` rows is not, if it is not 0.
  struct Together {
    std::vector<size_t> rows;
    size_t taken = 0;
    size_t refused = 0;
    // With which it was.
    absl::Status error;
  };

  // The row that `error` names, in `range`.
  std::optional<size_t> NamedRow(RowRange range,
                                 const absl::Status& error) const;
  void AddBad(size_t row, const absl::Status& error);
  void OnRefusedAlone(const absl::Status& error);
  void OnRefusedTogether(const absl::Status& error);
  // How many of `together_->rows` are to be tried.
  size_t TogetherCount() const;
  // Concludes, if taken and refused have met.
  void NarrowTogether();

  const Mode mode_;
  std::vector<bool> bad_;
  size_t bad_count_ = 0;
  std::vector<Found> found_;
  // To be tried by themselves, the next one last. Free of bad rows.
  std::vector<RowRange> alone_;
  std::optional<Together> together_;
  // Whether a row was found since the batch was refused last.
  bool found_any_ = false;
  int fruitless_ = 0;
  uint64_t trials_ = 0;
};

}  // namespace penstock::core
