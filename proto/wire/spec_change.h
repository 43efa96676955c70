// What differs between two configurations, and when each difference may take
// effect. Source: deploy/adr/2026-11-30-classes-of-change.md.
#pragma once

#include "proto/penstock/v1/options.pb.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <string>
#include <vector>

namespace google::protobuf {
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

namespace penstock::wire {

// One difference.
struct SpecChange {
  // Path as in the configuration: `source.file.path`. Of another arm of a
  // oneof: that of the message in which it is chosen (`source`).
  std::string field;
  v1::ChangeClass change = v1::CHANGE_CLASS_UNSPECIFIED;
  // For people, cut to 200 bytes; of a secret only that it is one (INV-10).
  std::string before;
  std::string after;
  // A living connector takes it over.
  bool in_place = false;

  friend bool operator==(const SpecChange&, const SpecChange&) = default;
};

// The class of `field`; one without, which a lint refuses, may not change.
v1::ChangeClass ChangeClassOf(const google::protobuf::FieldDescriptor& field);

// Every field in which two configurations differ, in the order of their
// declaration.
// Shape:    a field that is a message is compared field by field. Where it is
//           there on one side only, or is repeated, it counts as one, of the
//           strictest class in it.
// Requires: both are of one type, which does not contain itself; for
//           ConnectorSpec: resolved, so that what is left out means the same.
std::vector<SpecChange> CompareSpecs(const google::protobuf::Message& before,
                                     const google::protobuf::Message& after);

// The same for what SpecToBytes made, perhaps in an older program. Both are
// resolved once more, so that a field which is new is compared by its default;
// the component versions are those that each names.
// Errors: as SpecFromBytes.
absl::StatusOr<std::vector<SpecChange>> CompareSpecBytes(
    absl::string_view before, absl::string_view after);

// The strictest class among `changes`; REPLAY_SAFE if there are none.
v1::ChangeClass StrictestOf(const std::vector<SpecChange>& changes);

// `limits.step_bytes: 1048576 -> 2097152`.
std::string Describe(const SpecChange& change);

}  // namespace penstock::wire
