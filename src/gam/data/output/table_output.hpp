// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/data/hdf5/hdf5_writer.hpp"

#include <tessera/mpi/communicator.hpp>
#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

enum class OutputFormat : std::uint8_t { csv, hdf5, parquet, feather };

/// The format by the ending of the file name: .csv; .h5 or .hdf5; .parquet; .feather or .arrow; nothing for
/// any other ending.
[[nodiscard]] std::optional<OutputFormat> output_format_of(std::string_view path);
/// *Collective.* Parquet if rank 0 can write it, otherwise `other`.
[[nodiscard]] OutputFormat parquet_or(const mpi::Communicator& comm, OutputFormat other);
/// Whether the path ends in '/', and thus means a folder of parts.
[[nodiscard]] bool is_folder_name(std::string_view path);
/// Whether a table with this name can hold matrices and texts, i.e. is a single HDF5 file.
[[nodiscard]] bool holds_matrices(std::string_view path);

struct OutputColumn {
  std::string name;
  Variable values;  ///< this rank's rows
  /// Whether numbers in text have 17 digits, not the fewest that read back as the same double.
  bool with_all_digits = false;
  bool has_constant_levels = false;  ///< levels are the same in all parts
  bool may_be_missing = true;        ///< a value may be missing in this part or a later one
};

/// Several numbers for each row, written as a dataset of HDF5.
struct OutputMatrix {
  std::string name;
  int width = 0;
  std::vector<double> values;  ///< this rank's rows, row-major
};

/// Consecutive rows of a table. The columns are the same on every rank and in every part.
struct OutputRows {
  const Plan& plan;             ///< division of the part's rows over ranks
  std::int64_t first_row = 0;   ///< index in the table of the part's first row
  std::int64_t table_rows = 0;  ///< number of rows of all parts
  std::span<const OutputColumn> columns;
  std::span<const OutputMatrix> matrices{};  ///< only if `holds_matrices`
};

/// An output table: a file written by rank 0, or a folder with a file for each rank and part. `commit` puts
/// the complete table in place; without it no file is left. Every member function is *collective*, and throws
/// the same `Error` on every rank if the table cannot be written.
class TableOutput {
 public:
  /// Creates the output, so that errors are found before the computation. `comm` must outlive this object.
  [[nodiscard]] static std::unique_ptr<TableOutput> make(const mpi::Communicator& comm,
                                                         const std::string& path, OutputFormat format);
  TableOutput() = default;
  virtual ~TableOutput() = default;
  TableOutput(const TableOutput&) = delete;
  TableOutput& operator=(const TableOutput&) = delete;

  /// Adds texts before the first rows; only if `holds_matrices`.
  virtual void add_texts(std::span<const NewText> /*texts*/) {}
  /// Writes the next rows. In HDF5, rows with `first_row` 0 may also begin further columns.
  virtual void add(const OutputRows& rows) = 0;
  /// Puts the table in place. Returns a line on rank 0 if the table may not survive a power failure.
  virtual std::string commit() = 0;
};

}  // namespace TESSERA_NAMESPACE::gam
