#include "core/format/avro/avro_schema.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/str_cat.h>
#include <simdjson.h>

#include <array>
#include <optional>
#include <utility>

namespace penstock::core {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

absl::Status Bad(absl::string_view problem) {
  return MakeError(Reason::INVALID_CONFIG,
                   absl::StrCat("read an Avro schema: ", problem));
}

constexpr std::array<std::pair<absl::string_view, AvroType>, 8> kPrimitives = {
    {{"null", AvroType::kNull},
     {"boolean", AvroType::kBoolean},
     {"int", AvroType::kInt},
     {"long", AvroType::kLong},
     {"float", AvroType::kFloat},
     {"double", AvroType::kDouble},
     {"bytes", AvroType::kBytes},
     {"string", AvroType::kString}}};

struct LogicalName {
  absl::string_view name;
  AvroType type;
  AvroLogical logical;
};
// Debezium's names are those of Kafka Connect's schemas ("connect.name").
constexpr std::array<LogicalName, 17> kLogicals = {
    {{"date", AvroType::kInt, AvroLogical::kDate},
     {"time-millis", AvroType::kInt, AvroLogical::kTimeMillis},
     {"time-micros", AvroType::kLong, AvroLogical::kTimeMicros},
     {"timestamp-millis", AvroType::kLong, AvroLogical::kTimestampMillis},
     {"timestamp-micros", AvroType::kLong, AvroLogical::kTimestampMicros},
     {"timestamp-nanos", AvroType::kLong, AvroLogical::kTimestampNanos},
     {"local-timestamp-millis", AvroType::kLong, AvroLogical::kLocalMillis},
     {"local-timestamp-micros", AvroType::kLong, AvroLogical::kLocalMicros},
     {"local-timestamp-nanos", AvroType::kLong, AvroLogical::kLocalNanos},
     {"uuid", AvroType::kString, AvroLogical::kUuid},
     {"io.debezium.time.Date", AvroType::kInt, AvroLogical::kDate},
     {"io.debezium.time.Time", AvroType::kInt, AvroLogical::kTimeMillis},
     {"io.debezium.time.MicroTime", AvroType::kLong, AvroLogical::kTimeMicros},
     {"io.debezium.time.NanoTime", AvroType::kLong, AvroLogical::kTimeNanos},
     {"io.debezium.time.Timestamp", AvroType::kLong, AvroLogical::kLocalMillis},
     {"io.debezium.time.MicroTimestamp", AvroType::kLong,
      AvroLogical::kLocalMicros},
     {"io.debezium.time.NanoTimestamp", AvroType::kLong,
      AvroLogical::kLocalNanos}}};

AvroLogical FindLogical(absl::string_view name, AvroType type) {
  for (const LogicalName& one : kLogicals) {
    if (one.name == name && one.type == type) return one.logical;
  }
  return AvroLogical::kNone;
}

std::optional<absl::string_view> TextOf(const object& of,
                                        std::string_view name) {
  std::string_view text;
  if (of[name].get_string().get(text) != simdjson::SUCCESS) return std::nullopt;
  return absl::string_view(text.data(), text.size());
}

std::optional<uint64_t> NumberOf(const object& of, std::string_view name) {
  uint64_t number = 0;
  if (of[name].get_uint64().get(number) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return number;
}

// Makes nodes of one schema.
class SchemaReader {
 public:
  absl::StatusOr<uint32_t> Read(const element& schema,
                                const std::string& space) {
    if (++depth_ > kAvroDepthMax) {
      return Bad(absl::StrCat("more than ", kAvroDepthMax, " levels"));
    }
    absl::StatusOr<uint32_t> read = ReadAny(schema, space);
    --depth_;
    return read;
  }

  std::vector<AvroNode> TakeNodes() { return std::move(nodes_); }

 private:
  absl::StatusOr<uint32_t> ReadAny(const element& schema,
                                   const std::string& space) {
    std::string_view name;
    array branches;
    object of;
    if (schema.get_string().get(name) == simdjson::SUCCESS) {
      return FindNamed(absl::string_view(name.data(), name.size()), space);
    }
    if (schema.get_array().get(branches) == simdjson::SUCCESS) {
      return ReadUnion(branches, space);
    }
    if (schema.get_object().get(of) == simdjson::SUCCESS) {
      return ReadObject(of, space);
    }
    return Bad("a type is none of text, array and object");
  }

  absl::StatusOr<uint32_t> Add(AvroNode node) {
    if (nodes_.size() >= AvroSchema::kNodesMax) {
      return Bad(absl::StrCat("more than ", AvroSchema::kNodesMax, " types"));
    }
    nodes_.push_back(std::move(node));
    return static_cast<uint32_t>(nodes_.size() - 1);
  }

  absl::StatusOr<uint32_t> FindNamed(absl::string_view name,
                                     const std::string& space) {
    for (const auto& [primitive, type] : kPrimitives) {
      if (primitive == name) return Add({.type = type});
    }
    auto found = named_.find(FullName(name, space));
    if (found == named_.end()) found = named_.find(std::string(name));
    if (found != named_.end()) return found->second;
    return Bad(absl::StrCat("there is no type '", name, "' in it"));
  }

  static std::string FullName(absl::string_view name,
                              const std::string& space) {
    if (space.empty() || name.find('.') != absl::string_view::npos) {
      return std::string(name);
    }
    return absl::StrCat(space, ".", name);
  }

  absl::StatusOr<uint32_t> ReadUnion(const array& branches,
                                     const std::string& space) {
    AvroNode node{.type = AvroType::kUnion};
    for (const element branch : branches) {
      ASSIGN_OR_RETURN(const uint32_t number, Read(branch, space));
      if (nodes_[number].type == AvroType::kUnion) {
        return Bad("a union is right inside of another");
      }
      node.children.push_back(number);
    }
    if (node.children.empty()) return Bad("a union has no branch");
    return Add(std::move(node));
  }

  absl::StatusOr<uint32_t> ReadObject(const object& of,
                                      const std::string& space) {
    element type;
    if (of["type"].get(type) != simdjson::SUCCESS) {
      return Bad("an object has no `type`");
    }
    const std::optional<absl::string_view> name = TextOf(of, "type");
    if (!name.has_value()) return Read(type, space);
    if (*name == "record" || *name == "error") return ReadRecord(of, space);
    if (*name == "enum") return ReadEnum(of, space);
    if (*name == "fixed") return ReadFixed(of, space);
    if (*name == "array" || *name == "map") {
      const bool is_array = *name == "array";
      element items;
      if (of[is_array ? "items" : "values"].get(items) != simdjson::SUCCESS) {
        return Bad(absl::StrCat("an ", *name, " does not say what is in it"));
      }
      ASSIGN_OR_RETURN(const uint32_t number, Read(items, space));
      return Add({.type = is_array ? AvroType::kArray : AvroType::kMap,
                  .children = {number}});
    }
    ASSIGN_OR_RETURN(const uint32_t number, FindNamed(*name, space));
    AvroNode node = nodes_[number];
    SetLogical(of, node);
    // What has a name is elsewhere, too, without this.
    if (node.type == AvroType::kFixed) return Add(std::move(node));
    nodes_[number].logical = node.logical;
    nodes_[number].scale = node.scale;
    return number;
  }

  static void SetLogical(const object& of, AvroNode& node) {
    const absl::string_view logical = TextOf(of, "logicalType").value_or("");
    if (logical == "decimal" &&
        (node.type == AvroType::kBytes || node.type == AvroType::kFixed)) {
      const uint64_t scale = NumberOf(of, "scale").value_or(0);
      if (scale > 1'000) return;
      node.logical = AvroLogical::kDecimal;
      node.scale = static_cast<uint32_t>(scale);
      return;
    }
    if (logical == "uuid" && node.type == AvroType::kFixed && node.size == 16) {
      node.logical = AvroLogical::kUuid;
      return;
    }
    if (node.type == AvroType::kFixed) return;
    node.logical = FindLogical(logical, node.type);
    if (node.logical != AvroLogical::kNone) return;
    node.logical =
        FindLogical(TextOf(of, "connect.name").value_or(""), node.type);
  }

  // Adds the node of the type that `of` names. `space` becomes that of what is
  // in it.
  absl::StatusOr<uint32_t> AddNamed(const object& of, AvroNode node,
                                    std::string& space) {
    const std::optional<absl::string_view> name = TextOf(of, "name");
    if (!name.has_value() || name->empty()) return Bad("a type has no name");
    if (const auto own = TextOf(of, "namespace")) space = std::string(*own);
    const std::string full = FullName(*name, space);
    const size_t dot = full.rfind('.');
    space = dot == std::string::npos ? "" : full.substr(0, dot);
    ASSIGN_OR_RETURN(const uint32_t number, Add(std::move(node)));
    if (!named_.emplace(full, number).second) {
      return Bad(absl::StrCat("type '", full, "' is declared twice"));
    }
    return number;
  }

  absl::StatusOr<uint32_t> ReadRecord(const object& of, std::string space) {
    ASSIGN_OR_RETURN(const uint32_t number,
                     AddNamed(of, {.type = AvroType::kRecord}, space));
    array fields;
    if (of["fields"].get_array().get(fields) != simdjson::SUCCESS) {
      return Bad("a record has no `fields`");
    }
    AvroNode node{.type = AvroType::kRecord};
    for (const element field : fields) {
      object one;
      element type;
      if (field.get_object().get(one) != simdjson::SUCCESS ||
          one["type"].get(type) != simdjson::SUCCESS) {
        return Bad("a field of a record has no type");
      }
      const std::optional<absl::string_view> name = TextOf(one, "name");
      if (!name.has_value()) return Bad("a field of a record has no name");
      ASSIGN_OR_RETURN(const uint32_t child, Read(type, space));
      node.children.push_back(child);
      node.names.emplace_back(*name);
    }
    nodes_[number] = std::move(node);
    return number;
  }

  absl::StatusOr<uint32_t> ReadEnum(const object& of, std::string space) {
    AvroNode node{.type = AvroType::kEnum};
    array symbols;
    if (of["symbols"].get_array().get(symbols) != simdjson::SUCCESS) {
      return Bad("an enum has no `symbols`");
    }
    for (const element symbol : symbols) {
      std::string_view text;
      if (symbol.get_string().get(text) != simdjson::SUCCESS) {
        return Bad("a symbol of an enum is no text");
      }
      node.names.emplace_back(text);
    }
    return AddNamed(of, std::move(node), space);
  }

  absl::StatusOr<uint32_t> ReadFixed(const object& of, std::string space) {
    const std::optional<uint64_t> size = NumberOf(of, "size");
    if (!size.has_value() || *size > UINT32_MAX) {
      return Bad("a fixed has no size that can be");
    }
    AvroNode node{.type = AvroType::kFixed,
                  .size = static_cast<uint32_t>(*size)};
    SetLogical(of, node);
    return AddNamed(of, std::move(node), space);
  }

  std::vector<AvroNode> nodes_;
  absl::flat_hash_map<std::string, uint32_t> named_;
  size_t depth_ = 0;
};

// Adds the nodes of the schema `json`; returns the number of its root.
absl::StatusOr<uint32_t> ReadText(absl::string_view json,
                                  SchemaReader& reader) {
  simdjson::dom::parser parser;
  element root;
  // A bare name may be written without its quotes.
  const std::string text = json.find_first_of("{[\"") == json.npos
                               ? absl::StrCat("\"", json, "\"")
                               : std::string(json);
  if (parser.parse(text).get(root) != simdjson::SUCCESS) {
    return Bad("it is no JSON");
  }
  return reader.Read(root, "");
}

}  // namespace

absl::StatusOr<AvroSchema> AvroSchema::Parse(
    absl::string_view json, std::span<const ReferredSchema> references) {
  size_t bytes = json.size();
  for (const ReferredSchema& one : references) bytes += one.text.size();
  if (bytes > kTextBytesMax) {
    return Bad(absl::StrCat("it is longer than ", kTextBytesMax, " bytes"));
  }
  SchemaReader reader;
  for (const ReferredSchema& one : references) {
    const absl::StatusOr<uint32_t> read = ReadText(one.text, reader);
    if (!read.ok()) return read.status();
  }
  ASSIGN_OR_RETURN(const uint32_t number, ReadText(json, reader));
  return AvroSchema(reader.TakeNodes(), number);
}

SchemaLanguage AvroLanguage() {
  return {.type = "AVRO",
          .read = [](const RegisteredSchema& registered)
              -> absl::StatusOr<std::shared_ptr<const WriterSchema>> {
            ASSIGN_OR_RETURN(
                AvroSchema schema,
                AvroSchema::Parse(registered.text, registered.references));
            return std::make_shared<AvroSchema>(std::move(schema));
          }};
}

size_t AvroSchema::MemoryBytes() const {
  size_t bytes = sizeof(AvroSchema) + nodes_.capacity() * sizeof(AvroNode);
  for (const AvroNode& node : nodes_) {
    bytes += node.children.capacity() * sizeof(uint32_t) +
             node.names.capacity() * sizeof(std::string);
    for (const std::string& name : node.names) bytes += name.capacity();
  }
  return bytes;
}

}  // namespace penstock::core
