// penstock_consumer TARGET FILE: asks the worker at TARGET what types it has,
// and says what a pipeline file is called.
#include "client/client.h"
#include "client/pipeline_file.h"
#include "core/base/filesystem.h"
#include "core/base/version.h"
#include "proto/penstock/v1/connector.pb.h"

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto pipeline = penstock::client::LoadPipelineFile(
      penstock::core::PosixFileSystem(), argv[2]);
  if (!pipeline.ok()) {
    std::cerr << pipeline.status().message() << "\n";
    return 1;
  }
  const auto client = penstock::client::Client::Connect(argv[1]);
  if (!client.ok()) {
    std::cerr << client.status().message() << "\n";
    return 1;
  }
  const auto types = (*client)->ListConnectorTypes();
  if (!types.ok()) {
    std::cerr << types.status().message() << "\n";
    return 1;
  }
  std::cout << "version " << penstock::core::kVersion << ", pipeline "
            << pipeline->name << ", types " << types->types_size() << "\n";
  return 0;
}
