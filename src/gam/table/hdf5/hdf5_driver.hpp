// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/hdf5/hdf5_storage.hpp"

#include <memory>

namespace tessera::gam {

/// An access list by which HDF5 writes a file as its driver sec2 does, but for what the system does not take:
/// that is not told to HDF5, and its first reason is in `error`; 0: all was taken. `error` must stay until a
/// file is open.
///
/// HDF5 1.10 keeps a file open that it could not close, as where the disk is full, and crashes when it closes
/// it at the end of the process. `H5dont_atexit` prevents that only where nobody in the process has used HDF5
/// before, and then nobody's files are closed. Here every write succeeds as HDF5 sees it, and so does
/// closing.
[[nodiscard]] Handle access_that_remembers(const std::shared_ptr<int>& error);

}  // namespace tessera::gam
