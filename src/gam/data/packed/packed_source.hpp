// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"

#include <memory>
#include <string>

namespace TESSERA_NAMESPACE::gam {

/// Whether the bytes are packed by zstd, xz or bzip2, and this build can unpack them.
[[nodiscard]] bool is_packed(ByteSource& bytes);

/// Opens such a file. Throws `Error(input)` if it cannot be opened or is another file; `read` throws if its
/// data are damaged or truncated, with the offset in the file.
[[nodiscard]] std::unique_ptr<PackedSource> open_packed(const std::string& path, OpenOptions options = {});

}  // namespace TESSERA_NAMESPACE::gam
