// SPDX-License-Identifier: Apache-2.0
// Results in HDF5, in a build without HDF5: all files are refused.
#include "base/errors.hpp"
#include "gam/model/fitted_response.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

[[noreturn]] void refuse(const std::string& path) {
  throw base::input_error("{}: this build cannot read HDF5 files: configure with TESSERA_ENABLE_HDF5=ON",
                          path);
}

}  // namespace

class StoredResults::File {};

FittedModel read_response(const NamedResponse& named) {
  refuse(named.file);
}

StoredResults::StoredResults(const std::string& path) {
  refuse(path);
}
StoredResults::~StoredResults() = default;
FittedModel StoredResults::shared() const {
  return {};
}
std::vector<std::string> StoredResults::responses() const {
  return {};
}
bool StoredResults::has(const std::string& /*dataset*/) const {
  return false;
}
std::vector<std::string> StoredResults::texts(const std::string& /*column*/, Range /*rows*/) const {
  return {};
}
std::vector<double> StoredResults::numbers(const std::string& /*dataset*/, std::size_t /*width*/,
                                           Range /*rows*/) const {
  return {};
}

}  // namespace TESSERA_NAMESPACE::gam
