// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <exception>
#include <string>

namespace TESSERA_NAMESPACE {

/// The exception's message, or a generic text if there is none or memory is short.
[[nodiscard]] std::string reason_of(const std::exception_ptr& thrown) noexcept;

}  // namespace TESSERA_NAMESPACE
