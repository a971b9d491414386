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

/// By the end of the name, without a '/' there: .csv; .h5 or .hdf5; .parquet; .feather or .arrow; nothing for
/// any other.
[[nodiscard]] std::optional<OutputFormat> output_format_of(std::string_view path);
/// *Collective.* Parquet if rank 0 can write it, else another.
[[nodiscard]] OutputFormat parquet_or(const mpi::Communicator& comm, OutputFormat other);
/// Whether the name ends in '/': a folder of parts.
[[nodiscard]] bool is_folder_name(std::string_view path);
/// Whether the table of this name may have matrices and texts: one file of HDF5.
[[nodiscard]] bool holds_matrices(std::string_view path);

/// A column of rows that are written.
struct OutputColumn {
  std::string name;
  Variable values;                   ///< of this rank's rows
  bool with_all_digits = false;      ///< in text numbers have 17 digits; else as few as give the same bits
  bool has_constant_levels = false;  ///< its levels are the same in all parts
  bool may_be_missing = true;        ///< in this part, or in a later one
};

/// Several numbers for each row, in a dataset of HDF5.
struct OutputMatrix {
  std::string name;
  int width = 0;
  std::vector<double> values;  ///< of this rank's rows, one after the other
};

/// A part of a table, in the order of its rows; the columns are the same on every rank and in every part.
struct OutputRows {
  const Plan& plan;             ///< the division of the part's rows
  std::int64_t first_row = 0;   ///< the first of them, among the table's
  std::int64_t table_rows = 0;  ///< of all parts
  std::span<const OutputColumn> columns;
  std::span<const OutputMatrix> matrices{};  ///< only where `holds_matrices`
};

/// A table that is written: a file of rank 0, or a folder with a file for each rank and part. All is put in
/// place by `commit`, as a whole; without it nothing is left. Every member function is *collective*, and
/// throws the same `Error` on every rank if the table cannot be written.
class TableOutput {
 public:
  /// Creates it, so that errors are found before the work. `comm` must outlive this.
  [[nodiscard]] static std::unique_ptr<TableOutput> make(const mpi::Communicator& comm,
                                                         const std::string& path, OutputFormat format);
  TableOutput() = default;
  virtual ~TableOutput() = default;
  TableOutput(const TableOutput&) = delete;
  TableOutput& operator=(const TableOutput&) = delete;

  /// Adds texts where `holds_matrices`, before the first rows.
  virtual void add_texts(std::span<const NewText> /*texts*/) {}
  /// The next rows; the table's first rows also begin further columns of HDF5.
  virtual void add(const OutputRows& rows) = 0;
  /// Returns one line on rank 0 if the table is in place, but may not survive a power failure.
  virtual std::string commit() = 0;
};

}  // namespace TESSERA_NAMESPACE::gam
