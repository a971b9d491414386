// SPDX-License-Identifier: Apache-2.0
// HDF5 responses in a build without HDF5: refused.
#include "base/errors.hpp"
#include "gam/many/responses.hpp"

namespace TESSERA_NAMESPACE::gam {

std::unique_ptr<ResponseSource> open_hdf5_responses(const Workers& /*workers*/, const std::string& file,
                                                    const std::string& /*path*/, ResponsesIn /*in*/,
                                                    std::int64_t /*rows*/) {
  throw base::input_error(
      "{}: is HDF5, which this build cannot read: give the responses as a NumPy array or as columns of a CSV "
      "file, or configure "
      "with TESSERA_ENABLE_HDF5=ON",
      file);
}

}  // namespace TESSERA_NAMESPACE::gam
