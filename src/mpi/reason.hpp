// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <exception>
#include <string>

namespace TESSERA_NAMESPACE {

/// What an exception says; a text of the library's own where it says nothing, or there is no memory for it.
[[nodiscard]] std::string reason_of(const std::exception_ptr& thrown) noexcept;

}  // namespace TESSERA_NAMESPACE
