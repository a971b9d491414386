// SPDX-License-Identifier: Apache-2.0
#include "cache_command.hpp"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <tessera/printable.hpp>

#include <nlohmann/json.hpp>

#include "base/counted.hpp"
#include "text_table.hpp"

namespace tessera::info {
namespace {

/// Enough of a key to tell one from another.
constexpr std::size_t shown_digits = 16;
constexpr double mib = 1 << 20;

std::string time_of(const StoredModule& module, const char* form) {
  return fmt::format(fmt::runtime(form), fmt::gmtime(std::chrono::system_clock::to_time_t(module.last_use)));
}

std::string table_of(const StoredModuleFolder& folder) {
  TextTable table({"key", "capability", "source", "compiler", "bytes", "last use (UTC)"});
  for (const StoredModule& module : folder.modules) {
    const StoredModuleOrigin origin =
        module.origin.value_or(StoredModuleOrigin{"(not to be used)", "-", "-", {}});
    table.add({module.key.substr(0, shown_digits), printable(origin.capability), printable(origin.source),
               printable(origin.compiler), std::to_string(module.bytes),
               time_of(module, "{:%Y-%m-%d %H:%M}")});
  }
  return table.text();
}

std::string summary_of(const StoredModuleFolder& folder) {
  return fmt::format("{}: {}, {:.1f} MiB", printable(folder.directory.string()),
                     base::counted(folder.modules.size(), "file"), static_cast<double>(folder.bytes) / mib);
}

nlohmann::ordered_json json_of(const StoredModule& module) {
  nlohmann::ordered_json object = {{"key", module.key}};
  object["source"] = nullptr;
  object["capability"] = nullptr;
  object["compiler"] = nullptr;
  object["tessera"] = nullptr;
  if (module.origin) {
    object["source"] = module.origin->source;
    object["capability"] = module.origin->capability;
    object["compiler"] = module.origin->compiler;
    object["tessera"] = module.origin->tessera;
  }
  object["bytes"] = module.bytes;
  object["last_use"] = time_of(module, "{:%Y-%m-%dT%H:%M:%SZ}");
  return object;
}

}  // namespace

std::string cache_table(const ModuleStore& store) {
  if (store.folders.empty()) return "Compiled GPU code is not kept: TESSERA_CACHE_DIR is empty\n";
  std::string out = fmt::format("Compiled GPU code, at most {:.0f} MiB in each folder\n",
                                static_cast<double>(store.max_bytes) / mib);
  for (const StoredModuleFolder& folder : store.folders) {
    if (!folder.problem.empty())
      out += fmt::format("{}: {}\n", printable(folder.directory.string()), folder.problem);
    else
      out += summary_of(folder) + '\n' + (folder.modules.empty() ? "" : table_of(folder));
  }
  return out;
}

std::string cleared_text(const ModuleStore& removed) {
  std::string out;
  for (const StoredModuleFolder& folder : removed.folders)
    if (folder.problem.empty()) out += "Removed from " + summary_of(folder) + '\n';
  return out.empty() ? "There is no compiled GPU code to remove\n" : out;
}

std::string cache_json(const ModuleStore& store, const std::string& verb) {
  auto folders = nlohmann::ordered_json::array();
  for (const StoredModuleFolder& folder : store.folders) {
    auto modules = nlohmann::ordered_json::array();
    for (const StoredModule& module : folder.modules) modules.push_back(json_of(module));
    folders.push_back({{"directory", folder.directory.string()},
                       {"problem", folder.problem.empty() ? nlohmann::ordered_json()
                                                          : nlohmann::ordered_json(folder.problem)},
                       {"bytes", folder.bytes},
                       {verb, std::move(modules)}});
  }
  const nlohmann::ordered_json all = {{"most_bytes", store.max_bytes}, {"folders", std::move(folders)}};
  // A folder's name need not be UTF-8.
  return all.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace tessera::info
