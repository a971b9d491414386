// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/predict.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>

#include <memory>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Whether `PredictionsFile` writes HDF5 to this path: whether the path ends in .h5 or .hdf5.
[[nodiscard]] TESSERA_EXPORT bool is_hdf5_name(const std::string& path);

/// A file with the predictions of all ranks, in the order of the table's rows. The ending of the path
/// determines the format: HDF5 with a dataset per column, Parquet or Feather; otherwise CSV with NA for
/// missing values and texts in quotes. A path that ends in '/' is a new folder with a file for each rank and
/// part, whose names sort in the order of the rows:
///
///     gam::PredictionsFile file(job.comm(), "predictions.csv");
///     gam::predict_in_parts(job, model, table, [&](const gam::Predictions& part) { file.add(part); });
///     file.commit();
///
/// Every member function is *collective*, and throws the same `Error` on every rank if the file cannot be
/// written. Rank 0 writes the file, as an `Output`. Memory: some megabytes, whatever the size of the table.
class TESSERA_EXPORT PredictionsFile {
 public:
  /// Creates the file, so that errors are found before the work. `row_numbers`: the file begins with a column
  /// `row`, which has the row numbers from 1. `comm` must outlive this object.
  PredictionsFile(const mpi::Communicator& comm, const std::string& path, bool row_numbers = false);
  ~PredictionsFile();
  PredictionsFile(const PredictionsFile&) = delete;
  PredictionsFile& operator=(const PredictionsFile&) = delete;

  /// For HDF5 only, before the first `add`: copies columns of the table, in the encoding of `convert_table`.
  /// `columns`: their names; empty: all columns with a name. Without this call, text columns of
  /// `Predictions::kept` must have the same levels in every part.
  void add_columns(Job& job, const Table& table, const std::vector<std::string>& columns);
  /// Adds the next rows, preceded by the header if they are the first.
  void add(const Predictions& predictions);
  /// Puts the file into place. Returns the result of `Output::commit` on rank 0.
  std::string commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace TESSERA_NAMESPACE::gam
