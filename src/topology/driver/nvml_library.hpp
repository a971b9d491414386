// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/shared_library.hpp"
#include "topology/driver/nvml.hpp"

#include <tessera/version.hpp>

#include <array>
#include <string>

namespace TESSERA_NAMESPACE::detail {

/// RAII: opens and initialises NVML.
class NvmlLibrary {
 public:
  NvmlLibrary();
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  [[nodiscard]] bool found() const noexcept { return library_.is_open(); }
  [[nodiscard]] nvml::Status status() const noexcept { return status_; }
  [[nodiscard]] const nvml::Api& api() const noexcept { return api_; }
  [[nodiscard]] std::string describe(nvml::Status status) const;

 private:
  base::SharedLibrary library_{"libnvidia-ml.so.1"};
  nvml::Api api_{library_};
  nvml::Status status_ = nvml::Status::library_not_found;
};

}  // namespace TESSERA_NAMESPACE::detail
