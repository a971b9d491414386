// SPDX-License-Identifier: Apache-2.0
#include <tessera/device/trace.hpp>

namespace tessera::inline TESSERA_ABI {

TraceRange::TraceRange(const char*, std::int64_t) noexcept {}
TraceRange::~TraceRange() = default;

}  // namespace tessera::inline TESSERA_ABI
