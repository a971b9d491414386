// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/predict.hpp>
#include <tessera/mpi/communicator.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tessera::files {
class OutputFile;
class OutputStream;
}  // namespace tessera::files

namespace TESSERA_NAMESPACE::gam {

/// Whether predictions with this --out are HDF5.
[[nodiscard]] bool is_hdf5_name(const std::string& out);

/// Where predictions go, on rank 0; both null on other ranks.
struct PredictionsTarget {
  std::unique_ptr<files::OutputStream> csv;
  std::unique_ptr<files::OutputFile> hdf5;

  PredictionsTarget();
  ~PredictionsTarget();
  /// Creates the file of --out, so that an error is found before the work. On rank 0. Throws `Error(input)`.
  void open(const std::string& out);
};

/// Predictions of all ranks, one for each row of the table in its order: as CSV, NA where there is none and
/// texts in quotes, or as HDF5 with a dataset for each column. Every member function is *collective*, and
/// throws the same `Error` on every rank if they cannot be written. Memory: some megabytes, whatever the size
/// of the table.
class PredictionsFile {
 public:
  /// `comm` and `to` must outlive this. `is_hdf5`: on every rank; kept texts then have the same levels in
  /// every part. `row_numbers`: the first column is `row`, from 1 on.
  PredictionsFile(const mpi::Communicator& comm, const PredictionsTarget& to, bool is_hdf5, bool row_numbers)
      : comm_(comm), to_(to), is_hdf5_(is_hdf5), row_numbers_(row_numbers) {}
  /// The next rows; before the first, the headline.
  void add(const Predictions& predictions);
  void commit();

 private:
  void begin(const Predictions& predictions);
  void add_to_hdf5(const Predictions& predictions);

  const mpi::Communicator& comm_;
  const PredictionsTarget& to_;
  bool is_hdf5_;
  bool row_numbers_;
  std::vector<std::int64_t> places_;  ///< where in the HDF5 file the next number of each column goes
};

}  // namespace TESSERA_NAMESPACE::gam
