// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <string>

namespace TESSERA_NAMESPACE {

/// The fault points that jobs of this process obey: the value of TESSERA_FAULT. Empty if it is not set, or
/// the library was built without TESSERA_ENABLE_FAULTS, which is what users have. Does not check the value.
/// Not collective. Thread-safe as long as no thread changes the environment.
[[nodiscard]] TESSERA_EXPORT std::string active_fault_points();

}  // namespace TESSERA_NAMESPACE
