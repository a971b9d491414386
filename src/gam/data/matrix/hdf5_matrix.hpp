// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/hdf5/hdf5_contents.hpp"
#include "gam/data/matrix/stored_matrix.hpp"

#include <memory>
#include <string>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {

/// An HDF5 file, open for the datasets that are read from it.
struct Hdf5File {
  std::shared_ptr<const files::InputFile> opened;
  Handle hdf5;
};

/// A dataset of numbers with one or two `dimensions`. All threads read contiguous datasets, and chunks that
/// are plain or packed by gzip, lzf and shuffle; the library reads all others, one thread at a time. Throws
/// `Error(input)` for other objects, and for a filter that this HDF5 lacks.
[[nodiscard]] std::unique_ptr<StoredMatrix> hdf5_matrix(std::shared_ptr<const Hdf5File> file,
                                                        const std::string& path, int dimensions);

}  // namespace TESSERA_NAMESPACE::gam
