// The schemas of a parser's messages, fetched when they are met.
#pragma once

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "core/contract/message_gate.h"
#include "core/format/schemas/registry_config.h"
#include "core/format/schemas/schema_source.h"

#include <absl/container/flat_hash_map.h>
#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace penstock::core {

// Confluent's wire format: a byte 0, the number of the schema (big-endian),
// then what is written with it.
inline constexpr size_t kSchemaIdBytes = 5;
// nullopt: it does not begin so.
std::optional<uint32_t> ReadSchemaId(absl::string_view message);

// Fetches one schema at a time, on a thread that lives while it is fetched. A
// registry that is down is asked again, after longer and longer waits, whenever
// the message that waits is offered again, and so is one that has no schema of
// a number: it may be behind, or have forgotten it, and what it does not know
// now is no verdict that a replay would find again. The same goes for a schema
// that cannot be read here. Only one in another language is a verdict, for the
// schema of a number never changes: messages with that number are bad, and so
// are those with a number that the configuration calls bad.
//
// Owner:     a parser.
// Threads:   as MessageGate.
// Lifecycle: nothing is fetched before Start. The destructor waits for the
//            thread, which its source ends soon.
// Bound:     kSchemasMax schemas that take kBytesMax together, or one that
//            takes more, and kProblemsMax numbers that have none; those longest
//            unused are dropped first.
class SchemaCache final : public MessageGate {
 public:
  static constexpr size_t kSchemasMax = 256;
  static constexpr size_t kProblemsMax = 64;
  static constexpr size_t kBytesMax = size_t{16} << 20;
  // Of why there is no schema: what a registry says may be of any length.
  static constexpr size_t kReasonBytesMax = 512;
  static constexpr absl::Duration kBackoffMin = absl::Milliseconds(500);
  static constexpr absl::Duration kBackoffMax = absl::Seconds(30);

  // One of both. `schema` null: there is none, and why.
  struct Entry {
    // What the language has read.
    std::shared_ptr<const WriterSchema> schema = nullptr;
    std::string problem = {};
  };

  SchemaCache(const SchemaRegistryConfig& config, MakeSchemaSource make,
              SchemaLanguage language);
  ~SchemaCache() override;

  absl::Status Start(const Environment& environment) override;
  void SetWake(absl::AnyInvocable<void()> wake) override {
    wake_ = std::move(wake);
  }
  bool IsReady(absl::string_view message) override;
  ConnectorHealth Health() const override;

  // Null: unknown, and nobody asked. Lifetime: until the next IsReady.
  const Entry* Find(uint32_t id) const;
  // The schema of that number; null: there is none, and `problem` is why.
  // Lifetime: as above.
  const WriterSchema* FindSchema(uint32_t id, std::string& problem) const;
  // What is kept takes, about.
  size_t kept_bytes() const { return kept_bytes_; }

 private:
  struct Kept {
    Entry entry;
    size_t bytes = 0;
    std::list<uint32_t>::iterator use;
  };
  struct Fetched {
    uint32_t id = 0;
    // Or why there is none for good, or not yet.
    absl::StatusOr<Entry> entry = Entry();
  };

  // On the thread: the schema `id`, read.
  absl::StatusOr<Entry> Fetch(uint32_t id, const std::stop_token& stop);
  void TakeFetched();
  void Keep(uint32_t id, Entry entry);
  // Drops the last one of `uses`, which are uses_ or problem_uses_.
  void Drop(std::list<uint32_t>& uses);
  void BeginFetch(uint32_t id);

  const SchemaRegistryConfig config_;
  const MakeSchemaSource make_;
  const SchemaLanguage language_;
  // Of numbers that the configuration calls bad.
  absl::flat_hash_map<uint32_t, Entry> bad_;

  mutable Mutex mu_;
  std::optional<Fetched> fetched_ ABSL_GUARDED_BY(mu_);

  // Confined to who calls IsReady.
  // But the source is the thread's while it fetches.
  std::unique_ptr<SchemaSource> source_;
  const Clock* clock_ = nullptr;
  absl::flat_hash_map<uint32_t, Kept> kept_;
  // Of schemas, and of numbers that have none: damage puts no schema out. The
  // one used last is the first.
  std::list<uint32_t> uses_;
  std::list<uint32_t> problem_uses_;
  size_t kept_bytes_ = 0;
  bool is_fetching_ = false;
  // Of the schema that is waited for.
  int failures_ = 0;
  uint32_t failed_id_ = 0;
  absl::Time next_attempt_ = absl::InfinitePast();
  ConnectorHealth health_;
  // Called by the thread, which ends before it.
  absl::AnyInvocable<void()> wake_;
  std::optional<Thread> thread_;
};

}  // namespace penstock::core
