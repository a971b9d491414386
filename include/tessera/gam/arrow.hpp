// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/arrow_abi.h>
#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

/// Tables from data in Arrow's columnar format, passed by Arrow's C interfaces. pyarrow, polars, pandas,
/// DuckDB, nanoarrow and R's arrow can export their data frames as such streams.
///
///     ArrowArrayStream stream;
///     export_rows(&stream);                                    // the other library's
///     const gam::Table table = gam::arrow_table(job, &stream);
///     const auto model = gam::fit(job, gam::parse_formula("y ~ s(x) + site"), table).model;
///
/// | Arrow                         | column of the table                                              |
/// | ----------------------------- | ---------------------------------------------------------------- |
/// | float64                       | numbers, in place; a batch with nulls is converted               |
/// | float32, (u)int8 to (u)int64  | numbers, converted; beyond 2^53 an integer becomes the nearest   |
/// | date32                        | numbers, converted: days since 1970, as R's Date                 |
/// | timestamp                     | numbers, converted: seconds since 1970 in UTC, as R's POSIXct    |
/// | bool                          | a factor, converted: FALSE and TRUE, as in a file                |
/// | dictionary of texts           | a factor; int32 indices in place, in a batch without nulls whose |
/// |                               | dictionary is that of the first; all others are converted        |
/// | the same with ordered = true  | an ordered factor, in the order of its dictionary, which may grow |
/// |                               | from batch to batch at its end                                   |
/// | utf8, large_utf8, string_view | a factor, converted                                              |
///
/// Values are converted once, batch by batch, on the job's threads. A null is a missing value, as is NaN.
namespace TESSERA_NAMESPACE::gam {

/// How Arrow's columns become columns of a table. The options must be the same on every rank.
struct ArrowOptions {
  /// Names of the columns to take; empty: all. Other columns are not read, and may be of any type.
  std::vector<std::string> columns{};
  /// Levels of factors, by column; the model keeps their order (`LevelOrder::given`). Other values are
  /// missing, as in R's factor(x, levels = ...). Factors not named here have the levels that occur, sorted
  /// unless the factor is ordered.
  std::map<std::string, std::vector<std::string>> levels{};
  /// Whether levels keep the order of the first batch's dictionary, with new levels of later batches at the
  /// end, like R's factors. Otherwise they are sorted.
  bool keep_dictionary_order = false;
  std::int64_t block_rows = 8192;  ///< rows per block of the reproducible sums
};

/// *Collective.* Takes ownership of a stream of record batches (struct arrays), reads it to its end, and
/// releases it. The stream of each rank has the rows `job.local_range(job.plan(rows, block_rows))`, where
/// `rows` is the number of rows of all ranks. Batches may have any lengths: a model has the same bits as from
/// a single batch, or from the same columns in a file.
///
/// The table owns the batches: they are released with the last copy of the table, on the thread that destroys
/// this copy. Each release callback is called once, also if the function throws, and `*stream` is marked as
/// released.
///
/// Throws the same `Error` on every rank: `usage` for a structure that is null or was released, options for
/// columns that do not exist or have no levels, and ranks whose numbers of rows differ from the plan;
/// `input`, with the column and the batch, for an unsupported type, a structure that is inconsistent or does
/// not match its schema, more distinct texts than a factor may have, and errors reported by the stream;
/// `interrupted` if a stop of the job is requested. Properties that the structures do not contain, such as
/// the length of most buffers, are not checked. Call it on the thread that calls MPI.
[[nodiscard]] TESSERA_EXPORT Table arrow_table(Job& job, ArrowArrayStream* stream,
                                               const ArrowOptions& options = {});

/// *Collective.* Like the overload above, with record batches and their schema instead of a stream. Takes
/// ownership of the batches and the schema.
[[nodiscard]] TESSERA_EXPORT Table arrow_table(Job& job, ArrowSchema* schema, std::span<ArrowArray> batches,
                                               const ArrowOptions& options = {});

}  // namespace TESSERA_NAMESPACE::gam
