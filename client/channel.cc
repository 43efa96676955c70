#include "client/channel.h"

#include "client/credentials.h"
#include "core/base/error.h"
#include "core/base/loopback.h"
#include "core/base/status_macros.h"
#include "proto/wire/transport.h"

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>
#include <grpc/grpc.h>
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace penstock::client {
namespace {

constexpr absl::string_view kUnixPrefix = "unix:";
constexpr absl::string_view kDnsPrefix = "dns:///";
// Of one attempt. A worker on a busy machine may take long to answer; a socket
// that refuses ends the attempt at once all the same.
constexpr absl::Duration kConnectTimeout = absl::Seconds(5);

// Host and port of `host:port` and `dns:///host:port`; empty host: neither.
struct HostPort {
  absl::string_view host;
  absl::string_view port;
};

HostPort SplitTarget(absl::string_view target) {
  target = absl::StripPrefix(target, kDnsPrefix);
  const size_t colon = target.rfind(':');
  if (colon == absl::string_view::npos) return {};
  absl::string_view host = target.substr(0, colon);
  const bool bracketed = absl::ConsumePrefix(&host, "[");
  if (bracketed != absl::ConsumeSuffix(&host, "]")) return {};
  // A colon of an IPv6 address without brackets is no port's.
  if (!bracketed && absl::StrContains(host, ':')) return {};
  return {host, target.substr(colon + 1)};
}

bool IsPort(absl::string_view text) {
  uint32_t port = 0;
  return absl::SimpleAtoi(text, &port) && port > 0 && port <= 65535;
}

int ToMs(absl::Duration duration) {
  return static_cast<int>(std::clamp<int64_t>(
      absl::ToInt64Milliseconds(duration), 1, 24 * 3600 * 1000));
}

// Keeps gRPC going until the process ends. Without it the last channel's end
// shuts the library down, for which it waits on a poller of its own: 10 s, if
// that has just gone to sleep.
void KeepGrpc() {
  static const bool kept = [] {
    grpc_init();
    return true;
  }();
  (void)kept;
}

grpc::ChannelArguments Arguments(const ChannelOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(wire::kMessageBytesMax);
  arguments.SetMaxSendMessageSize(wire::kMessageBytesMax);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, wire::kMetadataBytesMax);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, wire::kKeepaliveTimeMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, wire::kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS,
                   ToMs(options.reconnect_initial));
  // By its name a back-off, but it is the time that one attempt is given.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, ToMs(kConnectTimeout));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS,
                   ToMs(options.reconnect_max));
  // Whoever asks again decides; gRPC repeats nothing behind its back.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // Each channel has a connection of its own, so that back-off and keepalive
  // are its own, too.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (!options.tls.server_name.empty()) {
    arguments.SetSslTargetNameOverride(options.tls.server_name);
  }
  return arguments;
}

}  // namespace

absl::Status CheckTarget(absl::string_view target) {
  if (absl::StartsWith(target, kUnixPrefix)) {
    if (target.size() > kUnixPrefix.size()) return absl::OkStatus();
  } else {
    const HostPort parts = SplitTarget(target);
    if (!parts.host.empty() && !absl::StrContains(parts.host, '/') &&
        IsPort(parts.port)) {
      return absl::OkStatus();
    }
  }
  return core::MakeError(
      core::Reason::INVALID_CONFIG,
      absl::StrCat("'", target,
                   "' is no address of a worker; give unix:/path, host:port "
                   "or dns:///host:port"),
      {{"field", "address"}});
}

bool IsLocalTarget(absl::string_view target) {
  if (absl::StartsWith(target, kUnixPrefix)) return true;
  const absl::string_view host = SplitTarget(target).host;
  return core::IsLoopbackHost(host);
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(
    absl::string_view target, const ChannelOptions& options) {
  RETURN_IF_ERROR(CheckTarget(target));
  // Also where it is not used: a wrong file is told at once.
  ASSIGN_OR_RETURN(auto credentials, MakeCredentials(options.tls));
  const bool is_unix = absl::StartsWith(target, kUnixPrefix);
  if (is_unix) credentials = grpc::InsecureChannelCredentials();
  if (!options.insecure && !options.tls.enabled() && !IsLocalTarget(target)) {
    return core::MakeError(
        core::Reason::INVALID_CONFIG,
        absl::StrCat(
            "plaintext to '", target,
            "' is not allowed: it leaves this host; use TLS (--tls-ca), "
            "allow it explicitly (--insecure) or use a local address"),
        {{"field", "address"}});
  }
  KeepGrpc();
  return grpc::CreateCustomChannel(std::string(target), credentials,
                                   Arguments(options));
}

}  // namespace penstock::client
