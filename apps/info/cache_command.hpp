// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/stored_modules.hpp>

#include <string>

namespace tessera::info {

/// What is kept of compiled GPU code, as tables for a person.
[[nodiscard]] std::string cache_table(const ModuleStore& store);

/// What was removed of it, a line for each folder that had something.
[[nodiscard]] std::string cleared_text(const ModuleStore& removed);

/// Either of them as one JSON object. `verb` is "kept" or "removed".
[[nodiscard]] std::string cache_json(const ModuleStore& store, const std::string& verb);

}  // namespace tessera::info
