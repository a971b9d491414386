// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/hdf5/hdf5_storage.hpp"

namespace TESSERA_NAMESPACE::gam {

/// An access list with which HDF5 writes a file by its driver sec2, except that failed writes are hidden from
/// it, and remembered.
///
/// HDF5 1.10 keeps a file open that it failed to close, as on a full disk, and crashes when it closes it at
/// the end of the process. `H5dont_atexit` prevents that only if nothing in the process used HDF5 before, and
/// then no files are closed at exit. With this list every write and close succeeds as HDF5 sees it.
[[nodiscard]] Handle access_that_remembers();

/// The error number of the first call that failed in a file opened on this thread with the last such list; 0:
/// all succeeded.
[[nodiscard]] int remembered_error() noexcept;

}  // namespace TESSERA_NAMESPACE::gam
