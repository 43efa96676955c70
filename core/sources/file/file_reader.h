// Reads files on an executor, without a thread of its own.
#pragma once

#include "core/base/directory_events.h"
#include "core/contract/component.h"
#include "core/contract/consumer.h"
#include "core/contract/parser.h"
#include "core/contract/reader.h"
#include "core/sources/file/config.h"
#include "core/sources/file/open_file.h"
#include "core/sources/file/source_position.h"

#include <memory>
#include <optional>
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
// Each reading task reads one block of one file, parses it, stages the batch
// with the position behind it, and posts the next. Of a block that makes more
// than one result the rest waits for the file's next turn. Tasks run in a
// strand on the I/O executor, so they are serial; a Queue is answered inline,
// by flushing the InputQueue. While nothing is to be read there is no task, no
// block and no parser memory; a timer where files are searched for.
//
// Owner:     the connector's driver. Outlived by consumer and environment.
// Threads:   Request by the driver; reports come from it (Queue) and from the
//            I/O executor (all others).
// Lifecycle: until Disconnect or a fatal error; then it says nothing more. The
//            destructor waits for the block that is being read.
// Bound:     InputConsumer::MaxQueuedBytes() and one result staged;
//            FragmentReader's for each of at most Turns::kUnderWayMax files;
//            FileTable's.
class FileReader final : public InputReader {
 public:
  struct Options {
    FileSourceConfig config;
    // Where to start: behind these.
    SourcePosition position;
    // The only file, open, if the source is one plain path that is not
    // followed: file 0, at the place that `position` says.
    std::optional<OpenFile> single;
    // Hints where files are followed; null: none. Outlives the reader.
    DirectoryEvents* events = nullptr;
  };

  FileReader(const Environment& environment, InputConsumer& consumer,
             std::unique_ptr<Parser> parser, Options options);
  ~FileReader() override;

  void Request(InputReaderCommand command) override;
  bool IsClosed() const override;

 private:
  class Work;
  // Shared by: this and its tasks in the executor.
  const std::shared_ptr<Work> work_;
};

}  // namespace penstock::core
