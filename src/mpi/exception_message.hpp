// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <exception>
#include <string>

namespace TESSERA_NAMESPACE {

/// The message of an exception; a generic text if it has none, or if memory is short.
[[nodiscard]] std::string reason_of(const std::exception_ptr& thrown) noexcept;

}  // namespace TESSERA_NAMESPACE
