// Reads a stream to its end.
#pragma once

#include "core/base/piped_input.h"
#include "core/contract/component.h"
#include "core/contract/consumer.h"
#include "core/contract/parser.h"
#include "core/contract/reader.h"
#include "core/sources/file/config.h"

#include <memory>

namespace penstock::core {

// Each reading task takes what there is, a block at most, and posts the next,
// or waits until something comes. While nothing is wanted nothing is read: the
// pipe fills and its writer waits. A last record without its line end is one
// when the writer has closed.
//
// Owner:     the connector's driver. Outlived by consumer, environment, input.
// Threads:   as FileReader.
// Lifecycle: until Disconnect or a fatal error; then it says nothing more. The
//            destructor waits for the block that is being read.
// Bound:     InputConsumer::MaxQueuedBytes() and one result staged; a block and
//            a record twice; of the beginning what the parser must know.
class StreamReader final : public InputReader {
 public:
  // `input` is claimed; the reader releases it.
  StreamReader(const Environment& environment, InputConsumer& consumer,
               std::unique_ptr<Parser> parser, const FileSourceConfig& config,
               PipedInput& input);
  ~StreamReader() override;

  void Request(InputReaderCommand command) override;
  bool IsClosed() const override;

 private:
  class Work;
  // Shared by: this and its tasks in the executor.
  const std::shared_ptr<Work> work_;
};

}  // namespace penstock::core
