// SPDX-License-Identifier: Apache-2.0
#include "topology/driver/nvml_library.hpp"

namespace TESSERA_NAMESPACE::detail {

NvmlLibrary::NvmlLibrary() {
  if (found()) status_ = nvml::call(api_.init);
}

NvmlLibrary::~NvmlLibrary() {
  if (status_ == nvml::Status::success) nvml::call(api_.shutdown);
}

std::string NvmlLibrary::describe(nvml::Status status) const {
  if (api_.error_string != nullptr) return api_.error_string(status);
  return "NVML error " + std::to_string(static_cast<int>(status));
}

}  // namespace TESSERA_NAMESPACE::detail
