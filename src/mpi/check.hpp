// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera::mpi::detail {

/// Throws `Failure` with MPI's own words unless `code` is MPI_SUCCESS.
void check(int code, const char* call);

}  // namespace tessera::mpi::detail
