// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/predict.hpp>
#include <tessera/mpi/communicator.hpp>

namespace tessera::files {
class OutputStream;
}

namespace tessera::gam {

/// Predictions of all ranks as CSV, a line for each row of the table in its order, NA where there is none, in
/// `out`, which rank 0 has. Every member function is *collective*, and throws the same `Error` on every rank
/// if they cannot be written. Memory: some megabytes, whatever the size of the table.
class PredictionsFile {
 public:
  /// Writes the headline. `comm` and `out` must outlive this; `out` is null on other ranks than 0.
  PredictionsFile(const mpi::Communicator& comm, bool standard_errors, files::OutputStream* out);
  /// The next rows.
  void add(const Predictions& predictions);
  void commit();

 private:
  const mpi::Communicator& comm_;
  bool standard_errors_;
  files::OutputStream* out_;
};

}  // namespace tessera::gam
