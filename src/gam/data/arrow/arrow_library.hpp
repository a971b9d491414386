// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/arrow/plugin/arrow_plugin.h"

#include <tessera/version.hpp>

#include <string>

namespace TESSERA_NAMESPACE::gam {

/// The plugin libtessera_arrow.so, opened at the first call, and never closed; or why there is none.
///
/// It is $TESSERA_ARROW_PLUGIN if that is set, else it is looked for in the folder of the library or program
/// that this is part of, in the folder of libraries beside it, and in ~/.local/lib/tessera. It is refused if
/// another libarrow of the name that it needs is loaded, as by a Python or R that this process hosts: the
/// dynamic loader would take that one for it.
struct ArrowLibrary {
  const tessera_arrow_plugin* plugin = nullptr;
  std::string file;     ///< where it is
  std::string why_not;  ///< one line, without the ways to get one

  /// *Thread-safe.* The same each time.
  [[nodiscard]] static const ArrowLibrary& opened();
  /// The end of a message about a file that needs the plugin: why there is none, and the two ways to read the
  /// file.
  [[nodiscard]] std::string advice() const;
};

}  // namespace TESSERA_NAMESPACE::gam
