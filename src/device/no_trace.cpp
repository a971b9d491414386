// SPDX-License-Identifier: Apache-2.0
#include <tessera/device/trace.hpp>

namespace TESSERA_NAMESPACE {

TraceRange::TraceRange(const char*, std::int64_t) noexcept {}
TraceRange::~TraceRange() = default;

}  // namespace TESSERA_NAMESPACE
