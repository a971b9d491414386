// SPDX-License-Identifier: Apache-2.0
#include "device/module_library.hpp"

#include "base/descriptor.hpp"
#include "base/hash.hpp"
#include "base/own_folder.hpp"
#include "device/module_format.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdio>

namespace TESSERA_NAMESPACE {
namespace {

/// Keys contain a hash of the source, because the texts of all modules are longer than their compiled code.
std::string digest_of(const ModuleSource& source) {
  return base::hex(base::fnv1a(key_of(source)));
}

std::string key_for(const std::string& digest, const std::string& target) {
  return to_text({target, "of the build", version(), digest});
}

std::string read_file(const std::filesystem::path& path) {
  const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return {};
  const auto status = file.status();
  return status ? file.read_text(static_cast<std::size_t>(status->st_size)).value_or("") : std::string();
}

/// Targets whose code a device may run, best first.
std::vector<std::string> targets_for(ComputeCapability capability) {
  std::vector<std::string> targets;
  for (int minor = capability.minor; minor >= 0; --minor)
    targets.push_back("sm_" + std::to_string(10 * capability.major + minor));
  // A device runs PTX of its own and of earlier compute capabilities. The search ends at Volta (7.0).
  constexpr int first = 70;
  for (int version = 10 * capability.major + capability.minor; version >= first; --version)
    targets.push_back("compute_" + std::to_string(version));
  return targets;
}

}  // namespace

std::optional<CompiledModule> ModuleLibrary::find(const ModuleSource& source,
                                                  ComputeCapability capability) const {
  const std::string digest = digest_of(source);
  for (const std::filesystem::path& folder : folders_) {
    std::error_code failed;
    if (!std::filesystem::is_directory(folder, failed)) continue;
    for (const std::string& target : targets_for(capability)) {
      const std::string key = key_for(digest, target);
      if (auto image = unpack_module(read_file(folder / module_file_name(key)), key))
        return CompiledModule{target, std::move(*image), {}};
    }
  }
  return std::nullopt;
}

std::filesystem::path ModuleLibrary::file_of(const std::filesystem::path& folder, const ModuleSource& source,
                                             const std::string& target) {
  return folder / module_file_name(key_for(digest_of(source), target));
}

bool ModuleLibrary::write(const std::filesystem::path& folder, const ModuleSource& source,
                          const CompiledModule& module) {
  const std::filesystem::path path = file_of(folder, source, module.target);
  const std::filesystem::path unfinished = path.string() + ".part";
  constexpr mode_t readable_by_all = S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;
  base::Descriptor file(
      ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, readable_by_all));
  return file.is_open() && file.write(pack_module(key_for(digest_of(source), module.target), module.image)) &&
         file.close() && std::rename(unfinished.c_str(), path.c_str()) == 0;
}

std::vector<std::filesystem::path> installed_module_folders() {
  const std::filesystem::path own = base::own_folder();
  if (own.empty()) return {};
  return {own / "tessera/modules",
          (own / TESSERA_LIBRARIES_FROM_BINDIR / "tessera/modules").lexically_normal()};
}

}  // namespace TESSERA_NAMESPACE
