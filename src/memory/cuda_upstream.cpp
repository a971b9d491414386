// SPDX-License-Identifier: Apache-2.0
#include "memory/cuda_upstream.hpp"

#include "device/cuda_calls.hpp"
#include "device/cuda_check.hpp"

#include <tessera/error.hpp>

#include <utility>

namespace tessera::cuda {
namespace {

/// The operations that are the same for both allocators (`AsyncUpstream`, `MallocUpstream`).
class CudaUpstream : public MemoryUpstream {
 public:
  CudaUpstream(Ordinal ordinal, std::shared_ptr<const void> streams)
      : ordinal_(ordinal), streams_(std::move(streams)) {}

  [[nodiscard]] MemoryInfo memory_info() const override {
    const OnDevice current(ordinal_);
    MemoryInfo info;
    check(cudaMemGetInfo(&info.free_bytes, &info.total_bytes), "cudaMemGetInfo");
    return info;
  }
  void fill_zero(void* memory, std::size_t bytes, StreamView stream) override {
    const OnDevice current(ordinal_);
    check(cudaMemsetAsync(memory, 0, bytes, native(stream)), "cudaMemsetAsync");
  }
  void check_stream(StreamView stream) const override {
    const cudaStream_t given = native(stream);
    if (given == nullptr || given == cudaStreamLegacy || given == cudaStreamPerThread)
      throw Error(ErrorCode::usage,
                  "memory was requested on the default CUDA stream: use the stream of the tile, or another "
                  "non-default stream");
  }

  EventView create_event() override {
    const OnDevice current(ordinal_);
    return cuda::create_event();
  }
  void destroy_event(EventView event) noexcept override { cuda::destroy_event(event, ordinal_); }
  void record(EventView event, StreamView stream) override {
    const OnDevice current(ordinal_);
    cuda::record(event, stream);
  }
  bool ready(EventView event) override {
    const OnDevice current(ordinal_);
    return cuda::ready(event);
  }
  void make_wait(StreamView stream, EventView event) override {
    const OnDevice current(ordinal_);
    cuda::make_wait(stream, event);
  }
  void synchronize(EventView event) override {
    const OnDevice current(ordinal_);
    cuda::synchronize(event);
  }

 protected:
  /// Returns `memory` if the call succeeded, null if there is not enough memory.
  static void* allocated(cudaError_t status, void* memory, const char* call) {
    if (status == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();  // lack of memory is a result, not a failed launch
      return nullptr;
    }
    check(status, call);
    return memory;
  }

  Ordinal ordinal_;

 private:
  std::shared_ptr<const void> streams_;  // the context's streams; leases may outlive the context
};

/// Allocates in stream order from a separate memory pool, because other libraries use the device's default
/// pool. Freed memory returns to the system at the next synchronisation of a stream.
class AsyncUpstream final : public CudaUpstream {
 public:
  AsyncUpstream(Ordinal ordinal, std::shared_ptr<const void> streams)
      : CudaUpstream(ordinal, std::move(streams)) {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = static_cast<int>(ordinal);
    check(cudaMemPoolCreate(&pool_, &properties), "cudaMemPoolCreate");
  }
  ~AsyncUpstream() override {
    on_device(ordinal_, [&] { (void)cudaMemPoolDestroy(pool_); });
  }

  void* allocate(std::size_t bytes, StreamView stream) override {
    const OnDevice current(ordinal_);
    check(cudaPeekAtLastError(), "a kernel launch");  // see `ready` in cuda_calls.cpp
    void* memory = nullptr;
    const cudaError_t status = cudaMallocFromPoolAsync(&memory, bytes, pool_, native(stream));
    return allocated(status, memory, "cudaMallocFromPoolAsync");
  }
  void deallocate(void* memory, std::size_t, StreamView stream) noexcept override {
    on_device(ordinal_, [&] { (void)cudaFreeAsync(memory, native(stream)); });
  }
  void trim() noexcept override {
    on_device(ordinal_, [&] { (void)cudaMemPoolTrimTo(pool_, 0); });
  }

 private:
  cudaMemPool_t pool_ = nullptr;
};

class MallocUpstream final : public CudaUpstream {
 public:
  using CudaUpstream::CudaUpstream;

  void* allocate(std::size_t bytes, StreamView) override {
    const OnDevice current(ordinal_);
    check(cudaPeekAtLastError(), "a kernel launch");
    void* memory = nullptr;
    const cudaError_t status = cudaMalloc(&memory, bytes);
    return allocated(status, memory, "cudaMalloc");
  }
  void deallocate(void* memory, std::size_t, StreamView stream) noexcept override {
    on_device(ordinal_, [&] {
      // Waits explicitly, because no documentation promises that cudaFree does.
      (void)cudaStreamSynchronize(native(stream));
      (void)cudaFree(memory);
    });
  }
};

bool has_memory_pools(Ordinal ordinal) {
  int supported = 0;
  check(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, static_cast<int>(ordinal)),
        "cudaDeviceGetAttribute");
  return supported != 0;
}

}  // namespace

std::unique_ptr<MemoryUpstream> make_malloc_upstream(Ordinal ordinal, std::shared_ptr<const void> streams) {
  return std::make_unique<MallocUpstream>(ordinal, std::move(streams));
}

std::unique_ptr<MemoryUpstream> make_upstream(Ordinal ordinal, std::shared_ptr<const void> streams) {
  if (!has_memory_pools(ordinal)) return make_malloc_upstream(ordinal, std::move(streams));
  return std::make_unique<AsyncUpstream>(ordinal, std::move(streams));
}

}  // namespace tessera::cuda
