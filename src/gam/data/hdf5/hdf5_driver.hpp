// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/hdf5/hdf5_storage.hpp"

#include <memory>

namespace TESSERA_NAMESPACE::gam {

/// An access list with which HDF5 writes a file as its driver sec2 does, except that failed writes are hidden
/// from it: the first error number is in `error`; 0: all succeeded. `error` must exist until a file is open.
///
/// HDF5 1.10 keeps a file open that it failed to close, as on a full disk, and crashes when it closes it at
/// the end of the process. `H5dont_atexit` prevents that only if nothing in the process used HDF5 before, and
/// then no files are closed at exit. With this list every write and close succeeds as HDF5 sees it.
[[nodiscard]] Handle access_that_remembers(const std::shared_ptr<int>& error);

}  // namespace TESSERA_NAMESPACE::gam
