// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <string>

namespace TESSERA_NAMESPACE {

/// The fault points active in jobs of this process: the value of TESSERA_FAULT. Empty if it is not set, or in
/// a build without TESSERA_ENABLE_FAULTS, as users have it. Does not check the value. Not collective.
/// Thread-safe as long as no thread changes the environment.
[[nodiscard]] TESSERA_EXPORT std::string active_fault_points();

}  // namespace TESSERA_NAMESPACE
