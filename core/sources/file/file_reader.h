// Reads a file on an executor, without a thread of its own.
#pragma once

#include "core/contract/component.h"
#include "core/contract/consumer.h"
#include "core/contract/parser.h"
#include "core/contract/reader.h"
#include "core/sources/file/file_position.h"
#include "core/sources/file/open_file.h"

#include <cstddef>
#include <memory>
#include <string>

namespace penstock::core {

// The reader of the source "file".
//
//                Replay, Skip: one task a result, then the report
//                    │
//   opened ──────────┴──Extend──▶ reading ──end──▶ ended
//                                  │   ▲              (Queue still drains)
//            Pause, queue is full ─┘   └─ Extend, a flush made room
//
// Each reading task reads one block, parses it, stages the batch with the
// position behind it, and posts the next. Of a block that makes more than one
// result the rest waits for the next task. Tasks run in a strand on the I/O
// executor, so they are serial; a Queue is answered inline, by flushing the
// InputQueue. While nothing is to be read there is no task, no block and no
// parser memory.
//
// Owner:     the connector's driver. Outlived by consumer and environment.
// Threads:   Request by the driver; reports come from it (Queue) and from the
//            I/O executor (all others).
// Lifecycle: until Disconnect or a fatal error; then it says nothing more. The
//            destructor waits for the block that is being read.
// Bound:     InputConsumer::MaxQueuedBytes() and one result staged, and
//            FragmentReader's.
class FileReader final : public InputReader {
 public:
  struct Options {
    // Where to start: at its end.
    FilePosition position;
    size_t block_bytes = 0;
  };

  FileReader(const Environment& environment, InputConsumer& consumer,
             OpenFile file, std::unique_ptr<Parser> parser, Options options);
  ~FileReader() override;

  void Request(InputReaderCommand command) override;
  bool IsClosed() const override;

 private:
  class Work;
  // Shared by: this and its tasks in the executor.
  const std::shared_ptr<Work> work_;
};

}  // namespace penstock::core
