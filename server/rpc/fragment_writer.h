// Streams one long thing in fragments (rule 9).
#pragma once

#include "core/base/error.h"
#include "proto/penstock/v1/control.pb.h"
#include "proto/wire/fragments.h"
#include "proto/wire/status.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>
#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <string>
#include <utility>

namespace penstock::server {

// Owner: itself, from creation to OnDone. Bound: one fragment in flight.
class FragmentWriter final
    : public grpc::ServerWriteReactor<v1::ReadStepPartResponse> {
 public:
  FragmentWriter(absl::StatusOr<std::string> whole, uint64_t offset)
      : offset_(offset) {
    if (!whole.ok()) {
      Finish(wire::StatusToGrpc(whole.status()));
      return;
    }
    whole_ = *std::move(whole);
    if (offset_ > whole_.size()) {
      Finish(wire::StatusToGrpc(core::MakeError(
          core::Reason::INVALID_REQUEST,
          absl::StrCat("reading a step part: offset ", offset_,
                       " is behind its end at ", whole_.size()))));
      return;
    }
    // The first response names the whole; a part of no bytes is only that.
    *response_.mutable_part() = wire::ToProto(wire::PartOf(whole_));
    Next();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    response_.clear_part();
    if (offset_ >= whole_.size()) return Finish(grpc::Status::OK);
    Next();
  }
  void OnDone() override { delete this; }

 private:
  void Next() {
    *response_.mutable_fragment() = wire::FragmentAt(whole_, offset_);
    offset_ += response_.fragment().data().size();
    StartWrite(&response_);
  }

  std::string whole_;
  uint64_t offset_;
  v1::ReadStepPartResponse response_;
};

}  // namespace penstock::server
