// SPDX-License-Identifier: Apache-2.0
#include "allocators.hpp"

#include "cuda_check.cuh"

#include <cuda_runtime.h>
#include <cub/util_allocator.cuh>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace tessera::bench {
namespace {

/// `memory` if the call succeeded, null if there is not enough.
void* allocated(cudaError_t status, void* memory, const char* call) {
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    return nullptr;
  }
  check(status, call);
  return memory;
}

class MallocAsync final : public Allocator {
 public:
  explicit MallocAsync(bool keeps) {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    check(cudaGetDevice(&properties.location.id), "cudaGetDevice");
    check(cudaMemPoolCreate(&pool_, &properties), "cudaMemPoolCreate");
    std::uint64_t threshold = keeps ? UINT64_MAX : 0;
    check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &threshold),
          "cudaMemPoolSetAttribute");
  }
  ~MallocAsync() override { (void)cudaMemPoolDestroy(pool_); }

  void* take(std::size_t bytes, StreamView stream) override {
    void* memory = nullptr;
    const cudaError_t status = cudaMallocFromPoolAsync(&memory, bytes, pool_, native(stream));
    return allocated(status, memory, "cudaMallocFromPoolAsync");
  }
  void give_back(void* memory, StreamView stream) override {
    check(cudaFreeAsync(memory, native(stream)), "cudaFreeAsync");
  }
  std::size_t peak_reserved_bytes() const override {
    std::uint64_t bytes = 0;
    check(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemHigh, &bytes), "cudaMemPoolGetAttribute");
    return bytes;
  }

 private:
  cudaMemPool_t pool_ = nullptr;
};

class CubCaching final : public Allocator {
 public:
  void* take(std::size_t bytes, StreamView stream) override {
    void* memory = nullptr;
    const cudaError_t status = cache_.DeviceAllocate(&memory, bytes, native(stream));
    return allocated(status, memory, "DeviceAllocate");
  }
  void give_back(void* memory, StreamView) override { check(cache_.DeviceFree(memory), "DeviceFree"); }
  std::size_t peak_reserved_bytes() const override { return 0; }

 private:
  cub::CachingDeviceAllocator cache_{2, 9, 31};
};

}  // namespace

std::vector<PeerAllocator> peers_that_keep() {
  std::vector<PeerAllocator> peers{
      {"cudaMallocAsync", []() -> std::unique_ptr<Allocator> { return std::make_unique<MallocAsync>(true); }},
      {"cub::CachingDeviceAllocator",
       []() -> std::unique_ptr<Allocator> { return std::make_unique<CubCaching>(); }}};
  std::ranges::copy(torch_caching(), std::back_inserter(peers));
  return peers;
}

std::vector<PeerAllocator> peers_that_fill() {
  std::vector<PeerAllocator> peers{{"cudaMallocAsync", []() -> std::unique_ptr<Allocator> {
                                      return std::make_unique<MallocAsync>(false);
                                    }}};
  std::ranges::copy(torch_caching(), std::back_inserter(peers));
  return peers;
}

void wait_for_device() {
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void touch(void* memory, std::size_t bytes, StreamView stream) {
  check(cudaMemsetAsync(memory, 0, bytes, native(stream)), "cudaMemsetAsync");
}

}  // namespace tessera::bench
