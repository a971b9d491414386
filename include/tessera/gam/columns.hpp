// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/fit.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A column of a table, as read by a fit.
struct ColumnDescription {
  std::string name;
  bool factor = false;     ///< whether the column is a factor; otherwise it is numeric
  bool ordered = false;    ///< whether the factor is ordered, like R's ordered factor
  std::string unit{};      ///< unit of numbers read from dates: "days since 1970-01-01"; empty: unknown
  bool in_quotes = false;  ///< whether all numbers are in quotes; the quotes are ignored
  std::int64_t missing = 0;
  std::int64_t blank = 0;  ///< number of empty or blank fields of a factor, which count as a level
  /// Minimum and maximum of a numeric column; NaN if all values are missing.
  double least = std::numeric_limits<double>::quiet_NaN();
  double greatest = std::numeric_limits<double>::quiet_NaN();
  bool whole = false;                ///< whether all numbers are whole
  std::int64_t levels = 0;           ///< number of levels of a factor, at most 100,000
  bool too_many_levels = false;      ///< whether there are more than 100,000 levels, for which a fit throws
  std::vector<std::string> first{};  ///< the first levels, at most five
  std::int64_t bytes = 0;            ///< memory of the column in a fit, over all ranks
  /// Number of fields of a numeric column that are not numbers, for which a fit throws. They do not count as
  /// missing.
  std::int64_t strays = 0;
  std::string stray{};        ///< beginning of the first of these fields
  std::string stray_place{};  ///< place of the first of these fields: "data.csv, line 12"
};

struct TableDescription {
  std::string name;
  std::int64_t rows = 0;
  std::vector<ColumnDescription> columns{};
  std::map<std::string, std::string> left_out{};  ///< names that are not columns, each with the reason
};

/// *Collective.* Describes the columns of a table, in the table's order, for inspection before a fit; the
/// result is the same on every rank. `columns`: names of the columns to describe; empty: all columns with a
/// name. Throws the same `Error` on every rank, for the reasons described at `Table`; columns with which a
/// fit would throw are described. Cost: reads the table once, as many columns at a time as fit into memory,
/// at least one.
[[nodiscard]] TESSERA_EXPORT TableDescription describe_columns(Job& job, const Table& table,
                                                               const std::vector<std::string>& columns = {});

/// The description as text for people, and as JSON in ASCII with numbers in full precision and null for
/// unknown numbers. Pure.
[[nodiscard]] TESSERA_EXPORT std::string columns_text(const TableDescription& table);
[[nodiscard]] TESSERA_EXPORT std::string columns_json(const TableDescription& table);

}  // namespace TESSERA_NAMESPACE::gam
