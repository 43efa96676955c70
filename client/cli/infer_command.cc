#include "client/cli/infer_command.h"

#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/json_text.h"
#include "core/base/status_macros.h"
#include "core/compress/compression.h"
#include "core/compress/decoder.h"
#include "core/record/schema.h"

#include <absl/functional/function_ref.h>
#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <span>
#include <vector>

namespace penstock::client {
namespace {

using ReadSome =
    absl::FunctionRef<absl::StatusOr<size_t>(uint64_t offset, std::span<char>)>;

struct Sample {
  std::string content;
  bool is_whole = false;
  // What is wrong with a compressed input behind the content.
  std::string defect;
};

// Adds what `bytes` decode to; up to `bytes_max` and a byte more, so that one
// sees that there is more.
void Decode(core::Decoder& decoder, absl::string_view bytes, size_t bytes_max,
            std::string& content) {
  constexpr size_t kOutputBytes = size_t{256} << 10;
  std::vector<char> out(kOutputBytes);
  while (content.size() <= bytes_max && !decoder.defect().has_value()) {
    const core::Decoder::Progress progress = decoder.Decode(bytes, out);
    bytes.remove_prefix(progress.consumed);
    content.append(out.data(), progress.produced);
    if (progress.consumed == 0 && progress.produced == 0) return;
  }
}

absl::StatusOr<Sample> ReadSample(ReadSome read, size_t bytes_max) {
  constexpr size_t kReadBytes = size_t{256} << 10;
  std::vector<char> bytes(kReadBytes);
  Sample sample;
  std::unique_ptr<core::Decoder> decoder;
  for (uint64_t offset = 0; sample.content.size() <= bytes_max;) {
    ASSIGN_OR_RETURN(const size_t got, read(offset, bytes));
    const absl::string_view piece(bytes.data(), got);
    if (offset == 0) {
      const auto found = core::DetectCompression(piece);
      if (found.value_or(core::Compression::kNone) !=
          core::Compression::kNone) {
        decoder = core::MakeDecoder(*found);
      }
    }
    offset += got;
    if (got == 0) {
      sample.is_whole = true;
      if (decoder != nullptr && !decoder->MayEnd()) {
        sample.defect = decoder->Truncated().description;
      }
      break;
    }
    if (decoder == nullptr) {
      absl::StrAppend(&sample.content, piece);
      continue;
    }
    Decode(*decoder, piece, bytes_max, sample.content);
    if (decoder->defect().has_value()) {
      sample.defect = decoder->defect()->description;
      break;
    }
  }
  if (sample.content.size() > bytes_max) {
    sample.content.resize(bytes_max);
    sample.is_whole = false;
  }
  sample.is_whole = sample.is_whole && sample.defect.empty();
  return sample;
}

absl::StatusOr<Sample> ReadSampleOf(const InferCommandOptions& options) {
  const auto bytes_max = static_cast<size_t>(options.sample_bytes);
  if (options.file == "-") {
    return ReadSample(
        [](uint64_t, std::span<char> out) -> absl::StatusOr<size_t> {
          std::cin.read(out.data(), static_cast<std::streamsize>(out.size()));
          return static_cast<size_t>(std::cin.gcount());
        },
        bytes_max);
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<core::File> file,
                   core::PosixFileSystem().OpenForRead(options.file));
  return ReadSample(
      [&](uint64_t offset, std::span<char> out) {
        return file->ReadAt(offset, out);
      },
      bytes_max);
}

bool IsPlain(absl::string_view text) {
  constexpr std::array<absl::string_view, 9> kOthers = {
      "true", "false", "null", "yes", "no", "on", "off", "y", "n"};
  return !text.empty() && !absl::ascii_isdigit(text[0]) &&
         std::all_of(
             text.begin(), text.end(),
             [](char c) { return absl::ascii_isalnum(c) || c == '_'; }) &&
         std::none_of(kOthers.begin(), kOthers.end(),
                      [text](absl::string_view other) {
                        return absl::EqualsIgnoreCase(text, other);
                      });
}

std::string YamlText(absl::string_view text) {
  if (IsPlain(text)) return std::string(text);
  std::string quoted;
  core::AppendJsonString(text, quoted);
  return quoted;
}

bool HasSeconds(core::SqlType type) {
  return type == core::SqlType::kTime || type == core::SqlType::kTimestamp ||
         type == core::SqlType::kTimestamptz;
}

// A column; what is inside of arrays and maps has no name and, `is_key`, no
// null.
std::string YamlColumn(const core::Column& column, bool is_named, bool is_key) {
  using core::SqlType;
  constexpr uint32_t kDecimalsUsual = 6;
  std::vector<std::string> fields;
  const auto add = [&](absl::string_view name, auto value) {
    fields.push_back(absl::StrCat(name, ": ", value));
  };
  if (is_named) add("name", YamlText(column.name));
  add("type", core::SqlTypeName(column.type));
  if (!column.nullable && !is_key) add("nullable", "false");
  if (HasSeconds(column.type) && column.precision != kDecimalsUsual) {
    add("precision", column.precision);
  }
  if (column.type == SqlType::kDecimal && column.precision > 0) {
    add("precision", column.precision);
    add("scale", column.scale);
  }
  std::vector<std::string> children;
  for (const core::Column& child : column.children) {
    children.push_back(
        YamlColumn(child, column.type == SqlType::kStruct,
                   column.type == SqlType::kMap && children.empty()));
  }
  if (!children.empty()) {
    add("children", absl::StrCat("[", absl::StrJoin(children, ", "), "]"));
  }
  return absl::StrCat("{", absl::StrJoin(fields, ", "), "}");
}

std::string YamlCsv(const core::CsvConfig& csv) {
  std::vector<std::string> fields;
  const core::CsvDialect& dialect = csv.dialect;
  const auto add = [&](absl::string_view name, absl::string_view value) {
    fields.push_back(absl::StrCat(name, ": ", value));
  };
  if (dialect.delimiter != ',') {
    add("delimiter", YamlText(std::string(1, dialect.delimiter)));
  }
  if (!dialect.quote.has_value()) add("quote", "\"\"");
  if (dialect.escape == core::CsvEscape::kBackslash) add("escape", "backslash");
  if (csv.header) add("header", "true");
  if (dialect.comment.has_value()) {
    add("comment", YamlText(std::string(1, *dialect.comment)));
  }
  if (dialect.trim) add("trim", "true");
  for (const std::string& token : csv.null_tokens) {
    add("null_tokens", absl::StrCat("[", YamlText(token), "]"));
  }
  return absl::StrCat("{", absl::StrJoin(fields, ", "), "}");
}

std::string YamlPipeline(const InferCommandOptions& options,
                         const core::InferredInput& input) {
  std::string name = options.file.substr(options.file.rfind('/') + 1);
  name = name.substr(0, name.find('.'));
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return !absl::ascii_isalnum(c) && c != '_' && c != '-'; },
      '_');
  if (name.empty() || !absl::ascii_isalnum(name[0])) name.insert(0, "p");
  return absl::StrCat(
      "name: ", YamlText(name), "\nconnectors:\n  - name: ", YamlText(name),
      "\n    source: {file: {path: ", YamlText(options.file), "}}\n",
      InferredYaml(input, "    "),
      "    sink: {file: {path: ", YamlText(absl::StrCat(name, "-out")), "}}\n");
}

core::InferOptions OptionsOf(const InferCommandOptions& options,
                             bool is_whole) {
  core::InferOptions to = {.format = options.format,
                           .name = options.file,
                           .is_whole = is_whole,
                           .records_max = options.records_max};
  if (options.delimiter == "\\t") {
    to.delimiter = '\t';
  } else if (!options.delimiter.empty()) {
    to.delimiter = options.delimiter[0];
  }
  if (options.header != "auto") to.header = options.header == "yes";
  return to;
}

void Explain(const InferCommandOptions& options, const Sample& sample,
             const core::InferredInput& input) {
  std::cerr << options.file << ": " << input.format;
  if (input.format == "raw") {
    std::cerr << ", for nothing parts its lines into fields; it has no "
                 "columns\n";
    return;
  }
  std::cerr << ", by " << input.records << " records, "
            << (input.is_whole ? "all that there are"
                               : "of which there are more: columns are "
                                 "nullable and wide, for what was not seen")
            << "\n";
  if (input.bad > 0) {
    std::cerr << "  " << input.bad
              << " of them are bad records, or have no members\n";
  }
  if (!sample.defect.empty()) std::cerr << "  " << sample.defect << "\n";
  for (const std::string& note : input.notes) std::cerr << "  " << note << "\n";
  if (input.schema.IsEmpty()) std::cerr << "  there is nothing for columns\n";
}

absl::Status Infer(const InferCommandOptions& options) {
  if (options.pipeline && options.file == "-") {
    return core::MakeError(core::Reason::INVALID_CONFIG,
                           "inferring a pipeline: standard input has no path; "
                           "name a file");
  }
  ASSIGN_OR_RETURN(const Sample sample, ReadSampleOf(options));
  ASSIGN_OR_RETURN(
      const core::InferredInput input,
      core::InferInput(sample.content, OptionsOf(options, sample.is_whole)));
  Explain(options, sample, input);
  std::cout << (options.pipeline ? YamlPipeline(options, input)
                                 : InferredYaml(input, ""))
            << std::flush;
  return absl::OkStatus();
}

}  // namespace

std::string InferredYaml(const core::InferredInput& input,
                         const std::string& indent) {
  std::string yaml =
      absl::StrCat(indent, "format: {", input.format, ": ",
                   input.format == "csv" ? YamlCsv(input.csv) : "{}", "}\n");
  if (input.schema.IsEmpty()) return yaml;
  absl::StrAppend(&yaml, indent, "schema:\n", indent, "  columns:\n");
  for (const core::Column& column : input.schema.columns) {
    absl::StrAppend(&yaml, indent, "    - ", YamlColumn(column, true, false),
                    "\n");
  }
  return yaml;
}

CliExit RunInfer(const InferCommandOptions& options) {
  const absl::Status status = Infer(options);
  if (status.ok()) return CliExit::kOk;
  std::cerr << status.message() << "\n";
  return CliExitOf(status);
}

}  // namespace penstock::client
