// SPDX-License-Identifier: Apache-2.0
// Results in HDF5, in a build without HDF5: all are refused.
#include "base/errors.hpp"
#include "gam/model/fitted_response.hpp"

namespace TESSERA_NAMESPACE::gam {

FittedModel read_response(const NamedResponse& named) {
  throw base::input_error("{}: is HDF5, which this build cannot read: configure with TESSERA_ENABLE_HDF5=ON",
                          named.file);
}

}  // namespace TESSERA_NAMESPACE::gam
