#include "core/kafka/kafka_options.h"

#include "core/base/error.h"
#include "core/base/secret_text.h"
#include "core/base/status_macros.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <array>

namespace penstock::core {
namespace {

// They load code, run a program, are pointers that only code can set, or turn
// our callbacks off.
constexpr std::array<absl::string_view, 8> kForbidden = {
    "plugin.library.paths",
    "sasl.kerberos.kinit.cmd",
    "ssl.engine.location",
    "opaque",
    "default_topic_conf",
    "interceptors",
    "log.queue",
    "enabled_events",
};

// librdkafka puts them into the command of a shell, as they are, by the default
// of sasl.kerberos.kinit.cmd.
constexpr absl::string_view kShellPrefix = "sasl.kerberos.";

constexpr size_t kTopicBytesMax = 249;

// They name files on the worker.
constexpr std::array<absl::string_view, 7> kPaths = {
    "ssl.key.location",    "ssl.certificate.location", "ssl.crl.location",
    "ssl.ca.location",     "ssl.keystore.location",    "offset.store.path",
    "sasl.kerberos.keytab"};

template <typename Names>
bool IsOneOf(absl::string_view name, const Names& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

absl::Status BadOption(absl::string_view name, absl::string_view problem) {
  return MakeError(Reason::INVALID_CONFIG,
                   absl::StrCat("kafka: option ", name, ": ", problem),
                   {{"field", absl::StrCat("options.", name)}});
}

// Of an option that a shell sees: nothing that it would take for more than a
// word, and no option of the program.
absl::Status CheckShellWord(absl::string_view name, absl::string_view value) {
  if (!absl::StartsWith(name, kShellPrefix)) return absl::OkStatus();
  const bool is_plain = std::all_of(value.begin(), value.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::string_view("._/@:-").find(c) != absl::string_view::npos;
  });
  if (is_plain && !absl::StartsWith(value, "-")) return absl::OkStatus();
  return BadOption(name,
                   "becomes part of a command, so that it may only have "
                   "characters of [A-Za-z0-9._/@:-], and no '-' at its begin");
}

// What is wrong with `value`, or OK..
enum class Values { kAsGiven, kUnknown };
absl::Status SetOption(rd_kafka_conf_t* conf, const std::string& name,
                       const std::string& value, Values values) {
  std::array<char, 512> problem{};
  switch (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), problem.data(),
                            problem.size())) {
    case RD_KAFKA_CONF_OK:
      return absl::OkStatus();
    case RD_KAFKA_CONF_UNKNOWN:
      return BadOption(name, absl::StrCat("librdkafka ", rd_kafka_version_str(),
                                          " has no such option"));
    case RD_KAFKA_CONF_INVALID:
      break;
  }
  if (values == Values::kUnknown) return absl::OkStatus();
  return BadOption(
      name, IsKafkaSecret(name) ? "its value is not valid" : problem.data());
}

// Without looking at the value.
absl::Status CheckName(absl::string_view name,
                       std::span<const absl::string_view> reserved) {
  if (IsOneOf(name, reserved)) {
    return BadOption(name, "is set by the connector itself; leave it out");
  }
  if (IsOneOf(name, kForbidden) || absl::EndsWith(name, "_cb") ||
      absl::StartsWith(name, "test.") || name == "ssl_key" ||
      name == "ssl_certificate" || name == "ssl_ca") {
    return BadOption(name, "may not be set here");
  }
  return absl::OkStatus();
}

bool HasLiteral(const std::vector<SecretPart>& parts) {
  return std::any_of(parts.begin(), parts.end(), [](const SecretPart& part) {
    return part.kind == SecretPart::Kind::kLiteral && !part.text.empty();
  });
}

bool HasReference(const std::vector<SecretPart>& parts) {
  return std::any_of(parts.begin(), parts.end(), [](const SecretPart& part) {
    return part.kind != SecretPart::Kind::kLiteral;
  });
}

absl::StatusOr<std::vector<SecretPart>> PartsOf(const std::string& name,
                                                const std::string& value) {
  absl::StatusOr<std::vector<SecretPart>> parts = ParseSecretText(value);
  if (!parts.ok()) return BadOption(name, parts.status().message());
  if (value.find('\0') != std::string::npos) {
    return BadOption(name, "its value has a NUL byte");
  }
  return parts;
}

}  // namespace

bool IsKafkaSecret(absl::string_view name) {
  return absl::StrContains(name, "password") ||
         absl::StrContains(name, "secret") || name == "ssl.key.pem" ||
         name == "sasl.oauthbearer.config";
}

bool IsKafkaTopicName(absl::string_view name) {
  if (name.empty() || name.size() > kTopicBytesMax || name == "." ||
      name == "..") {
    return false;
  }
  return std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
           c == '_' || c == '-';
  });
}

absl::Status CheckKafkaOptions(const KafkaOptions& options,
                               std::span<const absl::string_view> reserved) {
  const KafkaConfHandle scratch(rd_kafka_conf_new());
  for (const auto& [name, value] : options) {
    RETURN_IF_ERROR(CheckName(name, reserved));
    ASSIGN_OR_RETURN(const std::vector<SecretPart> parts, PartsOf(name, value));
    if (IsKafkaSecret(name) && HasLiteral(parts)) {
      return BadOption(name,
                       "has its secret in plain text, which would be stored "
                       "and shown; write a reference in its place: "
                       "${env:NAME} or ${file:/path}");
    }
    if (!HasReference(parts)) {
      RETURN_IF_ERROR(CheckShellWord(name, value));
    }
    RETURN_IF_ERROR(
        SetOption(scratch.get(), name, value,
                  HasReference(parts) ? Values::kUnknown : Values::kAsGiven));
  }
  return absl::OkStatus();
}

absl::Status KafkaConf::Set(absl::string_view name, const std::string& value) {
  return SetOption(conf.get(), std::string(name), value, Values::kAsGiven);
}

absl::StatusOr<KafkaConf> ResolveKafkaOptions(const KafkaOptions& options,
                                              const KafkaOptions& defaults,
                                              FileSystem& files,
                                              const PathPolicy& paths) {
  RETURN_IF_ERROR(CheckKafkaOptions(options, {}));
  KafkaConf conf{.conf = KafkaConfHandle(rd_kafka_conf_new()), .secrets = {}};
  for (const auto& [name, value] : defaults) {
    RETURN_IF_ERROR(conf.Set(name, value));
  }
  for (const auto& [name, text] : options) {
    ASSIGN_OR_RETURN(const std::vector<SecretPart> parts, PartsOf(name, text));
    std::string value;
    for (const SecretPart& part : parts) {
      ASSIGN_OR_RETURN(const std::string resolved,
                       ResolveSecretPart(part, files, paths),
                       _ << "kafka: option " << name);
      const bool is_secret = part.kind != SecretPart::Kind::kLiteral;
      if (is_secret && !resolved.empty()) conf.secrets.push_back(resolved);
      value += resolved;
    }
    RETURN_IF_ERROR(CheckShellWord(name, value));
    if (IsOneOf(name, kPaths)) {
      RETURN_IF_ERROR(paths.Check(files, value))
      << "kafka: option " << name;
    }
    // What librdkafka says of a value may quote it.
    const absl::Status set =
        SetOption(conf.conf.get(), name, value, Values::kAsGiven);
    if (!set.ok() && HasReference(parts)) {
      return BadOption(name, "what its references stand for is not valid");
    }
    RETURN_IF_ERROR(set);
  }
  return conf;
}

}  // namespace penstock::core
