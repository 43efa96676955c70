// What FakeFileSystem knows about one file; private to its sources.
#pragma once

#include "core/base/filesystem.h"
#include "core/base/random.h"
#include "tests/support/fake_filesystem.h"

#include <absl/time/time.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::core {

// Threads: guarded by the file system's lock.
struct FakeFileSystem::Inode {
  uint64_t number = 0;
  FileType type = FileType::kRegular;
  absl::Time mtime;
  // Handles, dead ones among them.
  int handles = 0;

  std::string data;
  // How much of `data`, from its start, is durable.
  uint64_t durable_size = 0;
  // What is durable instead, after an unsynced truncation into it.
  std::optional<std::string> durable_before_truncate;
  // Ranges [first, second) of `data` that a failed Sync left to be lost.
  std::vector<std::pair<uint64_t, uint64_t>> lost;

  void Sync() {
    durable_size = data.size();
    durable_before_truncate.reset();
  }

  void FailSync() {
    if (durable_size < data.size()) {
      lost.emplace_back(durable_size, data.size());
    }
  }

  void Truncate(uint64_t size) {
    if (size < durable_size) {
      if (!durable_before_truncate.has_value()) {
        durable_before_truncate = Durable();
      }
      durable_size = size;
    }
    for (auto& [first, second] : lost) {
      first = std::min(first, size);
      second = std::min(second, size);
    }
    data.resize(static_cast<size_t>(size), '\0');
  }

  // What a crash leaves if nothing unsynced survives.
  std::string Durable() const {
    if (durable_before_truncate.has_value()) return *durable_before_truncate;
    return Prefix(durable_size);
  }

  // The first `size` bytes as the disk would have them.
  std::string Prefix(uint64_t size) const {
    std::string bytes = data.substr(0, static_cast<size_t>(size));
    for (const auto& [first, second] : lost) {
      for (uint64_t i = first; i < second && i < bytes.size(); ++i) {
        bytes[static_cast<size_t>(i)] = '\0';
      }
    }
    return bytes;
  }

  // `random` null: nothing unsynced survives.
  void Crash(Random* random) {
    std::string left = Durable();
    const bool truncation_survives =
        random != nullptr &&
        (!durable_before_truncate.has_value() || random->Bernoulli(0.5));
    if (truncation_survives) {
      left = Prefix(durable_size +
                    random->Uniform(data.size() - durable_size + 1));
    }
    data = std::move(left);
    lost.clear();
    Sync();
  }
};

}  // namespace penstock::core
