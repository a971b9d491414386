// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstdint>

namespace tessera::inline TESSERA_ABI {

/// A named range on the calling thread's line of a profiler's picture (NVTX, domain "tessera"), from here to
/// the end of the scope. The job marks its own: probe, claim, inventory, vote, pass (by its number), tile (by
/// its device), host (the CPU's part).
///
///     {
///       const tessera::TraceRange range("factorise", block);
///       …
///     }                                                  // nsys profile mpirun … shows it
///
/// Ranges of one thread nest: destroy them in the reverse order, on the thread that made them. Thread-safe.
/// Cost: some nanoseconds without a tool attached; nothing in a build without CUDA.
class TESSERA_EXPORT TraceRange {
 public:
  /// `name` is copied by the tool. `number` tells ranges of one name apart (the payload).
  explicit TraceRange(const char* name, std::int64_t number = 0) noexcept;
  ~TraceRange();
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;
};

}  // namespace tessera::inline TESSERA_ABI
