// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/hdf5/hdf5_contents.hpp"
#include "gam/data/matrix/stored_matrix.hpp"

#include <memory>
#include <string>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {

struct Hdf5File {
  std::shared_ptr<const files::InputFile> opened;
  Handle hdf5;
};

/// A dataset of numbers with one or two `dimensions`. All threads read contiguous datasets, and chunks
/// without filters or with gzip, lzf and shuffle. The HDF5 library reads all other datasets, one thread at a
/// time. Throws `Error(input)` for other objects, and for a filter that this HDF5 lacks.
[[nodiscard]] std::unique_ptr<StoredMatrix> hdf5_matrix(std::shared_ptr<const Hdf5File> file,
                                                        const std::string& path, int dimensions);

}  // namespace TESSERA_NAMESPACE::gam
