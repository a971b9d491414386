// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/held.hpp>
#include <tessera/memory/lease.hpp>
#include <tessera/memory/upstream.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <memory>

namespace TESSERA_NAMESPACE {

/// Limits of the memory that a workspace pool caches.
struct WorkspacePoolOptions {
  /// Maximum number of cached memory blocks (slabs) of one size, at least 1; further slabs are freed when
  /// they are returned.
  std::size_t slabs_per_class = 4;
  /// Maximum of cached bytes; if a returned slab exceeds it, the least recently used slabs are freed.
  std::size_t high_water_bytes = std::size_t{1} << 30;
};

/// Scratch memory for vendor libraries (cuBLAS, cuBLASLt, cuSOLVER), as untyped leases.
///
///     WorkspacePool workspaces(make_upstream(context));
///     const MemoryLease workspace = workspaces.take(heuristic.workspaceSize, stream);
///     cublasLtMatmul(…, workspace.data(), workspace.size_bytes(),
///                    static_cast<cudaStream_t>(stream.native()));
///
/// Sizes are rounded up to powers of two from 1 KiB, because libraries request many different sizes for short
/// times. Slabs are returned without a wait. As in a `BufferPool`, their own stream reuses them at once;
/// other streams first wait for the work of that stream. Thread-safe.
class TESSERA_EXPORT WorkspacePool {
 public:
  /// Throws `Error(usage)` if `slabs_per_class` is below 1, or the upstream is null.
  explicit WorkspacePool(std::unique_ptr<MemoryUpstream> upstream, WorkspacePoolOptions options = {});
  /// Returns cached slabs to the upstream. Leases that are still in use return their memory when they end.
  ~WorkspacePool();
  WorkspacePool(WorkspacePool&&) noexcept;
  WorkspacePool& operator=(WorkspacePool&&) noexcept;

  /// At least `bytes`, bound to `stream`; null for 0. Throws like `BufferPool::take`.
  [[nodiscard]] MemoryLease take(std::size_t bytes, StreamView stream);

  /// Drops all references to a stream that is about to be destroyed; see `BufferPool::release_stream`.
  void release_stream(StreamView stream);
  void empty_cache() noexcept;

  [[nodiscard]] PoolStatistics statistics() const;
  void reset_statistics() noexcept;

 private:
  struct Closer {
    void operator()(memory::BlockCache* cache) const noexcept;
  };
  detail::Held<std::unique_ptr<memory::BlockCache, Closer>, "WorkspacePool"> cache_;
};

}  // namespace TESSERA_NAMESPACE
