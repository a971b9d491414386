// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/arrow/plugin/arrow_plugin.h"

#include <tessera/version.hpp>

#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The plugin libtessera_arrow.so, opened at run time and never closed, or why it is not.
struct ArrowLibrary {
  const tessera_arrow_plugin* plugin = nullptr;
  std::string why_not{};  ///< one line

  /// The plugin of this process, opened at the first call: $TESSERA_ARROW_PLUGIN if that is set; else it is
  /// looked for in the folder of the library or program that contains this code, in the folder of libraries
  /// next to that folder, and in ~/.local/lib/tessera. *Thread-safe.*
  [[nodiscard]] static const ArrowLibrary& opened();
  /// The first of these files that exists. It is refused if another libarrow is loaded, as by Python or R,
  /// under the name of the one that the plugin needs: the dynamic loader would take that libarrow.
  [[nodiscard]] static ArrowLibrary first_of(const std::vector<std::string>& files);

  /// The end of a message about a file for which there is no plugin: why, and the two ways to read the file.
  [[nodiscard]] std::string advice() const;
};

}  // namespace TESSERA_NAMESPACE::gam
