// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/memory/lease.hpp>
#include <tessera/memory/upstream.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <memory>

namespace tessera::inline TESSERA_ABI {

/// How much a workspace pool keeps.
struct WorkspacePoolOptions {
  /// Slabs of one size that are kept; a return beyond it frees. Not below one.
  std::size_t slabs_per_class = 4;
  /// Bytes that are kept in all; a return beyond it frees the slabs that were unused for longest.
  std::size_t high_water_bytes = std::size_t{1} << 30;
};

/// Scratch memory for the vendor's libraries (cuBLAS, cuBLASLt, cuSOLVER), as raw leases.
///
///     WorkspacePool workspaces(make_upstream(context));
///     const MemoryLease workspace = workspaces.take(heuristic.workspaceSize, stream);
///     cublasLtMatmul(…, workspace.data(), workspace.size_bytes(),
///                    static_cast<cudaStream_t>(stream.native()));
///
/// Sizes are powers of two from 1 KiB, because a library asks for ever other sizes and keeps none for long.
/// A slab comes back without a wait, and goes to streams in the same order as a `BufferPool`'s memory: at
/// once to its own, to others once its work is complete or by making them wait. Thread-safe.
class TESSERA_EXPORT WorkspacePool {
 public:
  /// Throws `Error(usage)` if no slab is to be kept.
  explicit WorkspacePool(std::unique_ptr<MemoryUpstream> upstream, WorkspacePoolOptions options = {});
  /// Gives pooled slabs back upstream. Leases that are still out do so when they are returned.
  ~WorkspacePool();
  WorkspacePool(WorkspacePool&&) noexcept;
  WorkspacePool& operator=(WorkspacePool&&) noexcept;

  /// At least `bytes`, bound to `stream`; nothing for 0. Throws as `BufferPool::take`.
  [[nodiscard]] MemoryLease take(std::size_t bytes, StreamView stream);

  /// Applies at once to what is pooled. Throws `Error(usage)` if no slab is to be kept.
  void set_options(WorkspacePoolOptions options);
  /// Frees the slabs that were unused for longest until at most `bytes` are pooled.
  void evict_to(std::size_t bytes) noexcept;
  /// Forgets a stream, before it is destroyed; see `BufferPool::release_stream`.
  void release_stream(StreamView stream);
  void empty_cache() noexcept;

  [[nodiscard]] std::size_t pooled_bytes() const;
  [[nodiscard]] std::size_t pooled_slabs() const;
  [[nodiscard]] PoolStatistics statistics() const;
  void reset_stats() noexcept;

 private:
  struct Closer {
    void operator()(memory::BlockCache* cache) const noexcept;
  };
  std::unique_ptr<memory::BlockCache, Closer> cache_;
};

}  // namespace tessera::inline TESSERA_ABI
