// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/kernel_compiler.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE {

/// Read-only files of modules that were compiled and installed with this library. A device gets machine code
/// for its own major compute capability and the same or a lower minor one; if there is none, PTX.
class ModuleLibrary {
 public:
  /// Missing folders count as empty.
  explicit ModuleLibrary(std::vector<std::filesystem::path> folders) : folders_(std::move(folders)) {}

  [[nodiscard]] std::optional<CompiledModule> find(const ModuleSource& source,
                                                   ComputeCapability capability) const;

  /// The file of a module in a folder. Its name depends on the source, the target and the version of Tessera.
  [[nodiscard]] static std::filesystem::path file_of(const std::filesystem::path& folder,
                                                     const ModuleSource& source, const std::string& target);

  /// Writes a module into a folder, which must exist. Returns false if it cannot be written. Compiled code
  /// depends on the compiler's version, which is not part of a module's name: a folder holds the code of one
  /// build.
  [[nodiscard]] static bool write(const std::filesystem::path& folder, const ModuleSource& source,
                                  const CompiledModule& module);

 private:
  std::vector<std::filesystem::path> folders_;
};

/// The module folders of an installed library and of a build tree.
[[nodiscard]] std::vector<std::filesystem::path> installed_module_folders();

}  // namespace TESSERA_NAMESPACE
