// SPDX-License-Identifier: Apache-2.0
#include <tessera/device/stored_modules.hpp>

#include "device/module_files.hpp"
#include "device/module_format.hpp"
#include "device/module_shelf.hpp"
#include "topology/linux/private_folder.hpp"

#include <utility>

namespace tessera::inline TESSERA_ABI {
namespace {

std::optional<StoredModuleOrigin> origin_of(const ModuleShelf& shelf, const ShelvedModule& module) {
  if (module.unfinished) return std::nullopt;
  auto key = read_module_head(shelf.head_of(module, module_head_bytes));
  if (!key) return std::nullopt;
  return StoredModuleOrigin{std::move(key->source), std::move(key->capability), std::move(key->compiler),
                            std::move(key->tessera)};
}

/// The files of all folders for which `is_meant(shelf, module)` is true.
template <class IsMeant>
ModuleStore gather(IsMeant&& is_meant) {
  ModuleCacheLimit limit = module_cache_limit();
  ModuleStore store{{}, limit.bytes, std::move(limit.ignored)};
  for (const ModuleFolder& folder : default_module_folders()) {
    StoredModuleFolder& found = store.folders.emplace_back();
    found.directory = folder.path;
    // In a world-writable parent the folder could be a link.
    if (folder.in_public) found.problem = detail::problem_of_private_folder(folder.path);
    if (!found.problem.empty()) continue;
    const ModuleShelf shelf(folder.path);
    found.problem = shelf.problem();
    for (const ShelvedModule& module : shelf.list()) {
      auto origin = origin_of(shelf, module);
      if (!is_meant(shelf, module)) continue;
      found.bytes += module.bytes;
      found.modules.push_back({module.name.substr(0, module.name.find('.')), std::move(origin), module.bytes,
                               std::chrono::sys_seconds(std::chrono::seconds(module.last_use.tv_sec))});
    }
  }
  return store;
}

}  // namespace

ModuleStore stored_modules() {
  return gather([](const ModuleShelf&, const ShelvedModule&) { return true; });
}

ModuleStore clear_stored_modules() {
  return gather([](const ModuleShelf& shelf, const ShelvedModule& module) { return shelf.remove(module); });
}

}  // namespace tessera::inline TESSERA_ABI
