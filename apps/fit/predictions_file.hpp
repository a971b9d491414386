// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/predict.hpp>
#include <tessera/mpi/communicator.hpp>

#include <string_view>

namespace tessera::files {
class OutputFile;
}

namespace tessera::gam {

/// Predictions of all ranks as CSV, a line for each row of the table in its order, NA where there is none: in
/// `file`, which rank 0 has, or on standard output if it is null. Every member function is *collective*, and
/// throws the same `Error` on every rank if they cannot be written. Memory: some megabytes, whatever the size
/// of the table.
class PredictionsFile {
 public:
  /// Writes the headline. `comm` and `file` must outlive this.
  PredictionsFile(const mpi::Communicator& comm, bool standard_errors, files::OutputFile* file);
  /// The next rows.
  void add(const Predictions& predictions);
  void commit();

 private:
  void emit(std::string_view text);

  const mpi::Communicator& comm_;
  bool standard_errors_;
  files::OutputFile* file_;
};

}  // namespace tessera::gam
