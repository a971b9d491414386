// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"

#include <memory>
#include <string>

namespace TESSERA_NAMESPACE::gam {

/// Throws `Error(input)` if the file cannot be opened or is not a regular file; `read` throws if its data are
/// damaged or truncated, with the offset in the file: no data are ever skipped.
[[nodiscard]] std::unique_ptr<PackedSource> open_gzip(const std::string& path, OpenOptions options = {});

}  // namespace TESSERA_NAMESPACE::gam
