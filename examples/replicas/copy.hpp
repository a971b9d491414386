// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/stream.hpp>

#include <cstddef>

/// Puts a copy on `stream`. Memory of a simulated device is the host's, and its stream null: it is copied at
/// once.
void copy(void* to, const void* from, std::size_t bytes, tessera::StreamView stream);
