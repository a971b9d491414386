// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/predict.hpp>
#include <tessera/mpi/communicator.hpp>

namespace tessera::files {
class OutputFile;
}

namespace tessera::gam {

/// *Collective.* Predictions of all ranks as CSV, a line for each row of the table in its order, NA where
/// there is none: to `file`, which rank 0 has and commits, or to standard output if it is null. Throws the
/// same `Error` on every rank if they cannot be written. Memory: some megabytes, whatever the size of the
/// table.
void write_predictions(const mpi::Communicator& comm, const Predictions& predictions, bool standard_errors,
                       files::OutputFile* file);

}  // namespace tessera::gam
