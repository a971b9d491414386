// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE {

/// SHA-256 of a text (FIPS 180-4), as 64 hexadecimal digits. Speed: some 200 MB/s.
[[nodiscard]] std::string sha256(std::string_view text);

}  // namespace TESSERA_NAMESPACE
