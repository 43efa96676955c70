#include "core/sinks/postgres/catalog.h"

#include "core/base/status_macros.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>

#include <array>
#include <utility>

namespace penstock::core {
namespace {

// Each column's type, followed through domains and arrays to what is beneath;
// of a domain also the first type that is none.
constexpr absl::string_view kColumnsSql = R"sql(
WITH RECURSIVE step AS (
  SELECT a.attnum, a.atttypid AS typ, a.atttypmod AS typmod,
         0 AS arrays, 0::oid AS element
    FROM pg_catalog.pg_attribute a
   WHERE a.attrelid = pg_catalog.to_regclass($1)
     AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT s.attnum,
         CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.typelem END,
         CASE WHEN t.typtype = 'd' AND t.typtypmod <> -1 THEN t.typtypmod
              ELSE s.typmod END,
         s.arrays + CASE WHEN t.typtype = 'd' THEN 0 ELSE 1 END,
         CASE WHEN t.typtype = 'd' THEN s.element ELSE t.typelem END
    FROM step s
    JOIN pg_catalog.pg_type t ON t.oid = s.typ
    LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem
   WHERE t.typtype = 'd' OR (t.typelem <> 0 AND e.typarray = t.oid)
)
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
       (SELECT p.proname FROM pg_catalog.pg_proc p WHERE p.oid = t.typreceive),
       s.typmod, s.arrays, s.element, a.attnotnull,
       a.atthasdef OR a.attidentity <> '',
       a.attgenerated <> '' OR a.attidentity = 'a',
       (SELECT pg_catalog.format_type(b.typ, b.typmod)
          FROM step b JOIN pg_catalog.pg_type bt ON bt.oid = b.typ
         WHERE b.attnum = a.attnum AND bt.typtype <> 'd' AND b.arrays = 0
           AND b.typ <> a.atttypid)
  FROM step s
  JOIN pg_catalog.pg_type t ON t.oid = s.typ
  JOIN pg_catalog.pg_attribute a
    ON a.attrelid = pg_catalog.to_regclass($1) AND a.attnum = s.attnum
  LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem
 WHERE t.typtype <> 'd' AND NOT (t.typelem <> 0 AND e.typarray = t.oid)
 ORDER BY a.attnum)sql";

// The columns of each unique index. One whose rows are not told apart as its
// columns' types do by themselves is of no use: a batch is.
constexpr absl::string_view kUniqueSql = R"sql(
WITH part AS (
  SELECT i.indexrelid, i.indrelid, k.number,
         i.indkey[k.number] AS attnum, i.indclass[k.number] AS opclass,
         i.indcollation[k.number] AS collation
    FROM pg_catalog.pg_index i,
         pg_catalog.generate_series(0, i.indnkeyatts - 1) AS k (number)
   WHERE i.indrelid = pg_catalog.to_regclass($1)
     AND i.indisunique AND i.indisvalid AND i.indimmediate
     AND i.indpred IS NULL AND i.indexprs IS NULL)
SELECT indexrelid, attname, equals
  FROM (
    SELECT p.indexrelid, a.attname,
           'OPERATOR(' || pg_catalog.quote_ident(n.nspname) || '.'
                       || o.oprname || ')' AS equals,
           pg_catalog.bool_and(c.opcdefault AND p.collation = a.attcollation)
             OVER (PARTITION BY p.indexrelid) AS is_usable
      FROM part p
      JOIN pg_catalog.pg_attribute a
        ON a.attrelid = p.indrelid AND a.attnum = p.attnum
      JOIN pg_catalog.pg_opclass c ON c.oid = p.opclass
      JOIN pg_catalog.pg_amop m
        ON m.amopfamily = c.opcfamily AND m.amopstrategy = 3
       AND m.amoplefttype = c.opcintype AND m.amoprighttype = c.opcintype
      JOIN pg_catalog.pg_operator o ON o.oid = m.amopopr
      JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace) AS parts
 WHERE is_usable
 ORDER BY indexrelid, attname)sql";

constexpr int kMicrosDigits = 6;
// NAMEDATALEN - 1.
constexpr int kNameBytesMax = 63;
// "penstock" in ASCII.
constexpr absl::string_view kMakersLock = "8099000947049456491";

PgLayout LayoutOf(absl::string_view receive) {
  static constexpr std::array<std::pair<absl::string_view, PgLayout>, 19>
      kLayouts = {{{"boolrecv", PgLayout::kBool},
                   {"int2recv", PgLayout::kInt2},
                   {"int4recv", PgLayout::kInt4},
                   {"int8recv", PgLayout::kInt8},
                   {"float4recv", PgLayout::kFloat4},
                   {"float8recv", PgLayout::kFloat8},
                   {"numeric_recv", PgLayout::kNumeric},
                   {"textrecv", PgLayout::kText},
                   {"varcharrecv", PgLayout::kText},
                   {"bpcharrecv", PgLayout::kText},
                   {"namerecv", PgLayout::kText},
                   {"enum_recv", PgLayout::kText},
                   {"citextrecv", PgLayout::kText},
                   {"json_recv", PgLayout::kJson},
                   {"jsonb_recv", PgLayout::kJsonb},
                   {"bytearecv", PgLayout::kBytea},
                   {"uuid_recv", PgLayout::kUuid},
                   {"date_recv", PgLayout::kDate},
                   {"time_recv", PgLayout::kTime}}};
  for (const auto& [name, layout] : kLayouts) {
    if (name == receive) return layout;
  }
  if (receive == "timestamp_recv") return PgLayout::kTimestamp;
  if (receive == "timestamptz_recv") return PgLayout::kTimestamptz;
  return PgLayout::kOther;
}

// Source: numerictypmodin, varchartypmodin, anytime_typmodin and
// intervaltypmodin of PostgreSQL. The first four bytes of a typmod are a
// header's, where there is one.
void ReadTypmod(absl::string_view receive, int64_t typmod, PgColumn& column) {
  constexpr int64_t kAllFields = 0x7FFF;
  if (receive == "interval_recv" && typmod >= 0) {
    if ((typmod >> 16 & kAllFields) != kAllFields) {
      column.lossy = "it cuts off the fields that it does not keep";
    }
    const auto decimals = static_cast<int>(typmod & 0xFFFF);
    if (decimals <= kMicrosDigits) column.decimals = decimals;
    return;
  }
  if (typmod < 0) return;
  const int bare = static_cast<int>(typmod - 4);
  if (column.layout == PgLayout::kNumeric && bare >= 0) {
    column.precision = (bare >> 16) & 0xFFFF;
    // Eleven bits with a sign since version 15, never more before.
    column.scale = ((bare & 0x7FF) ^ 1024) - 1024;
  } else if (receive == "varcharrecv" || receive == "bpcharrecv") {
    column.length = bare;
  } else if (column.decimals.has_value()) {
    column.decimals = static_cast<int>(typmod);
  }
}

// What a type does with a value that it takes.
void ReadHabits(absl::string_view receive, PgColumn& column) {
  column.is_padded = receive == "bpcharrecv";
  column.is_interval = receive == "interval_recv";
  if (receive == "namerecv") column.bytes = kNameBytesMax;
  if (receive == "charrecv") column.bytes = 1;
  if (receive == "cash_recv") {
    column.lossy =
        "it rounds, and the server's lc_monetary says how; make it "
        "numeric";
  }
  const bool has_times = absl::StartsWith(column.type, "tsrange") ||
                         absl::StartsWith(column.type, "tstzrange") ||
                         absl::StartsWith(column.type, "tsmultirange") ||
                         absl::StartsWith(column.type, "tstzmultirange");
  if (column.is_interval || receive == "timetz_recv" || has_times ||
      column.layout == PgLayout::kTime ||
      column.layout == PgLayout::kTimestamp ||
      column.layout == PgLayout::kTimestamptz) {
    column.decimals = kMicrosDigits;
  }
}

absl::StatusOr<PgColumn> ReadColumn(const PgResult& result, size_t row) {
  PgColumn column;
  column.name = std::string(result.Text(row, 0));
  column.type = std::string(result.Text(row, 1));
  const absl::string_view receive = result.Text(row, 2);
  ASSIGN_OR_RETURN(const int64_t typmod, result.Int64(row, 3));
  ASSIGN_OR_RETURN(const int64_t arrays, result.Int64(row, 4));
  ASSIGN_OR_RETURN(const int64_t element, result.Int64(row, 5));
  column.is_array = arrays > 0;
  column.element_oid = static_cast<uint32_t>(element);
  column.layout = arrays > 1 ? PgLayout::kOther : LayoutOf(receive);
  ReadHabits(receive, column);
  ReadTypmod(receive, typmod, column);
  column.not_null = result.Bool(row, 6);
  column.has_default = result.Bool(row, 7);
  column.is_generated = result.Bool(row, 8);
  column.domain_base = std::string(result.Text(row, 9));
  return column;
}

}  // namespace

absl::StatusOr<std::optional<PgTable>> ReadTable(PgConnection& connection,
                                                 const TableName& name,
                                                 absl::Time deadline) {
  const std::array params = {PgParam::Text(name.Quoted())};
  ASSIGN_OR_RETURN(const PgResult columns,
                   connection.Exec(kColumnsSql, params, deadline),
                   _ << "while reading the columns of " << name.ToString());
  PgTable table;
  for (size_t row = 0; row < columns.rows(); ++row) {
    ASSIGN_OR_RETURN(PgColumn column, ReadColumn(columns, row));
    table.columns.push_back(std::move(column));
  }
  if (table.columns.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(const PgResult keys,
                   connection.Exec(kUniqueSql, params, deadline),
                   _ << "while reading the indexes of " << name.ToString());
  for (size_t row = 0; row < keys.rows(); ++row) {
    if (row == 0 || keys.Text(row, 0) != keys.Text(row - 1, 0)) {
      table.keys.emplace_back();
    }
    table.keys.back().columns.emplace_back(keys.Text(row, 1));
    table.keys.back().equals.emplace_back(keys.Text(row, 2));
  }
  return table;
}

absl::Status MakeTable(PgConnection& connection, const TableName& name,
                       absl::string_view create_sql, absl::Time deadline) {
  const std::array params = {
      PgParam::Text(PgConnection::QuoteIdentifier(name.schema))};
  // CREATE SCHEMA asks for a right that few have, also where there is one.
  ASSIGN_OR_RETURN(
      const PgResult result,
      connection.Exec("SELECT pg_catalog.to_regnamespace($1) IS NULL", params,
                      deadline));
  const std::string schema_sql =
      result.Bool(0, 0)
          ? absl::StrCat("CREATE SCHEMA IF NOT EXISTS ",
                         PgConnection::QuoteIdentifier(name.schema), "; ")
          : "";
  // One message, and so one transaction, which the server ends by itself.
  RETURN_IF_ERROR(
      connection.Exec(absl::StrCat("SELECT pg_advisory_xact_lock(", kMakersLock,
                                   "); ", schema_sql, create_sql),
                      deadline))
  << "while making table " << name.ToString();
  return absl::OkStatus();
}

}  // namespace penstock::core
