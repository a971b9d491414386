// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/output/output_rows.hpp"

#include <tessera/mpi/communicator.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::files {
class OutputFile;
}

namespace TESSERA_NAMESPACE::gam {

enum class OutputFormat : std::uint8_t { csv, hdf5, parquet, feather };

/// By the end of the name, without a '/' there: .csv; .h5 or .hdf5; .parquet; .feather or .arrow; nothing for
/// any other.
[[nodiscard]] std::optional<OutputFormat> output_format_of(std::string_view path);
/// *Collective.* Parquet if rank 0 can write it, else another.
[[nodiscard]] OutputFormat parquet_or(const mpi::Communicator& comm, OutputFormat other);
/// Whether the name ends in '/': a folder of parts.
[[nodiscard]] bool is_folder_name(std::string_view path);

/// A table that is written: a file of rank 0, or a folder with a file for each rank and part. All is put in
/// place by `commit`, as a whole; without it nothing is left. Every member function but `hdf5` is
/// *collective*, and throws the same `Error` on every rank if the table cannot be written.
class TableOutput {
 public:
  /// Creates it, so that errors are found before the work. `comm` must outlive this.
  [[nodiscard]] static std::unique_ptr<TableOutput> make(const mpi::Communicator& comm,
                                                         const std::string& path, OutputFormat format);
  TableOutput() = default;
  virtual ~TableOutput() = default;
  TableOutput(const TableOutput&) = delete;
  TableOutput& operator=(const TableOutput&) = delete;

  /// The next rows.
  virtual void add(const OutputRows& rows) = 0;
  /// Returns one line on rank 0 if the table is in place, but may not survive a power failure.
  virtual std::string commit() = 0;
  /// The HDF5 file of this rank, to which columns may be added before rows; null: there is none.
  [[nodiscard]] virtual files::OutputFile* hdf5() { return nullptr; }
};

}  // namespace TESSERA_NAMESPACE::gam
