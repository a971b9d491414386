// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <filesystem>
#include <system_error>

namespace tessera::base {

/// The folder of the library or program that contains this code; empty if it is not known.
[[nodiscard]] inline std::filesystem::path own_folder() {
  Dl_info info{};
  void* map = nullptr;
  if (dladdr1(reinterpret_cast<void*>(&own_folder), &info, &map, RTLD_DL_LINKMAP) == 0) return {};
  const char* const name = static_cast<const link_map*>(map)->l_name;
  std::error_code failed;
  const std::filesystem::path file =
      std::filesystem::canonical(name == nullptr || *name == '\0' ? "/proc/self/exe" : name, failed);
  return failed ? std::filesystem::path() : file.parent_path();
}

}  // namespace tessera::base
