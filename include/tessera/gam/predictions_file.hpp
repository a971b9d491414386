// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/predict.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>

#include <memory>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Whether predictions with this name are written as HDF5: it ends in .h5 or .hdf5.
[[nodiscard]] TESSERA_EXPORT bool is_hdf5_name(const std::string& path);

/// A file of the predictions of all ranks, with one line for each row of the table in its order: CSV, with NA
/// for missing values and texts in quotes. By the path's ending it is HDF5 with a dataset per column, Parquet
/// or Feather instead. A path that ends in '/' is a new folder with a file for each rank and part, whose
/// names sort in the order of the rows:
///
///     gam::PredictionsFile file(job.comm(), "predictions.csv");
///     gam::predict_in_parts(job, model, table, [&](const gam::Predictions& part) { file.add(part); });
///     file.commit();
///
/// Every member function is *collective*, and throws the same `Error` on every rank if the file cannot be
/// written. Rank 0 writes the file, as an `Output`. Memory: some megabytes, whatever the size of the table.
class TESSERA_EXPORT PredictionsFile {
 public:
  /// Creates the file, so that errors are found before the work. `row_numbers`: the first column, `row`, has
  /// the row numbers from 1 on. `comm` must outlive this object.
  PredictionsFile(const mpi::Communicator& comm, const std::string& path, bool row_numbers = false);
  ~PredictionsFile();
  PredictionsFile(const PredictionsFile&) = delete;
  PredictionsFile& operator=(const PredictionsFile&) = delete;

  /// HDF5 only, before any rows: columns of the table to copy, as `convert_table` writes them; empty: all
  /// with a name. If texts of `Predictions::kept` are used instead, they must have the same levels in every
  /// part.
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
