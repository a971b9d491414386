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

/// A column of a table as a fit would read it.
struct ColumnDescription {
  std::string name;
  bool factor = false;     ///< whether it is a factor, with levels; otherwise it has numbers
  bool ordered = false;    ///< whether it is an ordered factor of R
  std::string unit{};      ///< unit of numbers read from dates: "days since 1970-01-01"; empty: unknown
  bool in_quotes = false;  ///< whether all numbers are in quotes; the quotes are ignored
  std::int64_t missing = 0;
  std::int64_t blank = 0;  ///< number of empty or blank fields of a factor, which are a level
  /// The range of numbers; NaN if all are missing.
  double least = std::numeric_limits<double>::quiet_NaN();
  double greatest = std::numeric_limits<double>::quiet_NaN();
  bool whole = false;                ///< whether all numbers are whole
  std::int64_t levels = 0;           ///< number of levels of a factor, at most 100,000
  bool too_many_levels = false;      ///< whether there are more than 100,000 levels: a fit refuses the column
  std::vector<std::string> first{};  ///< the first levels, at most five
  std::int64_t bytes = 0;            ///< memory of the column in a fit, over all ranks
  /// Number of texts in a column of numbers; a fit refuses them. They do not count as missing.
  std::int64_t strays = 0;
  std::string stray{};        ///< beginning of the first such text
  std::string stray_place{};  ///< place of that text: "data.csv, line 12"
};

struct TableDescription {
  std::string name;
  std::int64_t rows = 0;
  std::vector<ColumnDescription> columns{};
  std::map<std::string, std::string> left_out{};  ///< other names in the table, each with the reason why it
                                                  ///< is not a column
};

/// *Collective.* Describes the columns of a table, in the table's order, for inspection before a fit; the
/// result is the same on every rank. `columns`: only these; empty: all with a name. Throws the same `Error`
/// on every rank as reading the table does, except for columns that a fit would refuse, which are described.
/// Cost: reads the table once, as many columns at a time as fit into memory, at least one.
[[nodiscard]] TESSERA_EXPORT TableDescription describe_columns(Job& job, const Table& table,
                                                               const std::vector<std::string>& columns = {});

/// The description as text for people, and as JSON in ASCII with numbers in full precision and null for
/// unknown ones. Pure.
[[nodiscard]] TESSERA_EXPORT std::string columns_text(const TableDescription& table);
[[nodiscard]] TESSERA_EXPORT std::string columns_json(const TableDescription& table);

}  // namespace TESSERA_NAMESPACE::gam
