// SPDX-License-Identifier: Apache-2.0
#include <tessera/device/cuda_library.hpp>

#include "base/shared_library.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace TESSERA_NAMESPACE {
namespace {

#ifdef TESSERA_CUDA_MAJOR
constexpr int preferred_major = TESSERA_CUDA_MAJOR;
#else
constexpr int preferred_major = 13;
#endif

std::vector<std::string> file_names(std::string_view library) {
  const std::string name = "lib" + std::string(library) + ".so";
  std::vector<std::string> names{name + "." + std::to_string(preferred_major)};
  for (const int major : {13, 12}) {
    if (major != preferred_major) names.push_back(name + "." + std::to_string(major));
  }
  names.push_back(name);
  return names;
}

/// Folders of CUDA toolkits, with a trailing slash. An empty name is the system's library path.
std::vector<std::string> folders() {
  std::vector<std::string> folders{""};
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* home = std::getenv(variable)) folders.push_back(std::string(home) + "/lib64/");
  }
  folders.emplace_back("/usr/local/cuda/lib64/");
  return folders;
}

}  // namespace

CudaLibrary::CudaLibrary(std::string_view name) {
  const std::vector<std::string> names = file_names(name);
  for (const std::string& folder : folders()) {
    for (const std::string& file : names) {
      library_ =
          std::make_shared<base::SharedLibrary>(folder + file, base::SharedLibrary::Opening::kept_open);
      if (library_->is_open()) return;
    }
  }
  why_not_ = names.front() +
             " was not found in the library search path or in lib64 of CUDA_HOME, CUDA_PATH and "
             "/usr/local/cuda: set CUDA_HOME";
}

bool CudaLibrary::found() const noexcept {
  return library_->is_open();
}

std::string CudaLibrary::file() const {
  std::error_code failed;
  const std::filesystem::path file = std::filesystem::canonical(library_->file(), failed);
  return failed ? std::string() : file.string();
}

void* CudaLibrary::address_of(const char* symbol) const noexcept {
  return library_->address_of(symbol);
}

}  // namespace TESSERA_NAMESPACE
