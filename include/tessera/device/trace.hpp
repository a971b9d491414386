// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstdint>

namespace TESSERA_NAMESPACE {

/// A named range on the calling thread's timeline in a profiler (NVTX, domain "tessera"), for the rest of the
/// scope. A job marks its phases: probe, claim, inventory, vote, pass (with its number), tile (with its
/// device), host (the part on the CPU).
///
///     {
///       const tessera::TraceRange range("factorise", block);
///       …
///     }                                                  // shown by nsys profile mpirun …
///
/// Ranges of one thread nest: destroy them in the reverse order, on the thread that made them. Thread-safe.
/// Cost: some nanoseconds without a tool attached; nothing in a build without CUDA.
class TESSERA_EXPORT TraceRange {
 public:
  /// The profiler copies `name`. `number` is the NVTX payload, which distinguishes ranges of the same name.
  explicit TraceRange(const char* name, std::int64_t number = 0) noexcept;
  ~TraceRange();
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;
};

}  // namespace TESSERA_NAMESPACE
