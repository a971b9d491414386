// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <string>

namespace TESSERA_NAMESPACE {

/// The fault injection points of this process: the value of the environment variable TESSERA_FAULT,
/// unchecked. Empty if it is not set, or in a build without TESSERA_ENABLE_FAULTS, such as a release. Not
/// collective. Thread-safe as long as no thread changes the environment.
[[nodiscard]] TESSERA_EXPORT std::string active_fault_points();

}  // namespace TESSERA_NAMESPACE
