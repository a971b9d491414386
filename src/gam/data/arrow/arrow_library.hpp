// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/arrow/plugin/arrow_plugin.h"

#include <tessera/version.hpp>

#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The plugin libtessera_arrow.so, opened at run time and never closed, or the reason why there is none.
struct ArrowLibrary {
  const tessera_arrow_plugin* plugin = nullptr;
  std::string why_not{};  ///< the reason in one line

  /// The plugin of this process, opened at the first call: $TESSERA_ARROW_PLUGIN if set; otherwise the first
  /// plugin found in the folder of the library or program that contains this code, in the folder of libraries
  /// next to that folder, or in ~/.local/lib/tessera. *Thread-safe.*
  [[nodiscard]] static const ArrowLibrary& opened();
  /// Opens the first existing file of the list. Refuses the plugin if another libarrow of the same name as
  /// the plugin's is loaded (e.g. by Python or R), because the dynamic loader would use the loaded one.
  [[nodiscard]] static ArrowLibrary first_of(const std::vector<std::string>& files);

  /// The end of a message about a file without a plugin: the reason, and two ways to read the file.
  [[nodiscard]] std::string advice() const;
};

}  // namespace TESSERA_NAMESPACE::gam
