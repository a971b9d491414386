// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/bytes/byte_source.hpp"

#include <memory>
#include <string>

namespace tessera::gam {

/// Throws `Error(input)` if the file cannot be opened or is no regular file, and `read` if its data are
/// damaged or cut short, with the byte of the file: nothing of a file is left out.
/// A file that unpacks to more than 100 times its bytes, and to 256 MiB, is told, again when it has come to
/// four times as much: it may be a table of constants, or one that is made to fill memory and disks.
[[nodiscard]] std::unique_ptr<PackedSource> open_gzip(const std::string& path, OpenOptions options = {});

}  // namespace tessera::gam
