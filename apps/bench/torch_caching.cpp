// SPDX-License-Identifier: Apache-2.0
#include "allocators.hpp"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/util/Exception.h>
#include <cuda_runtime_api.h>

#include <tessera/error.hpp>

#include <mutex>

namespace tessera::bench {
namespace {

namespace torch = c10::cuda::CUDACachingAllocator;

/// The process has one for all devices: an object is this one, on the device that was current.
class TorchCaching final : public Allocator {
 public:
  TorchCaching() {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || cudaGetDevice(&device_) != cudaSuccess)
      throw Error(ErrorCode::job_fault, "PyTorch's allocator: the current device is not to be had");
    static std::once_flag once;
    std::call_once(once, [&] { torch::init(count); });
    torch::resetPeakStats(index());
  }
  ~TorchCaching() override { torch::emptyCache(); }

  void* take(std::size_t bytes, StreamView stream) override {
    try {
      return torch::raw_alloc_with_stream(bytes, static_cast<cudaStream_t>(stream.native()));
    } catch (const c10::OutOfMemoryError&) {
      return nullptr;
    }
  }
  void give_back(void* memory, StreamView) override { torch::raw_delete(memory); }
  [[nodiscard]] std::size_t peak_reserved_bytes() const override {
    constexpr auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    return static_cast<std::size_t>(torch::getDeviceStats(index()).reserved_bytes[all].peak);
  }

 private:
  [[nodiscard]] c10::DeviceIndex index() const { return static_cast<c10::DeviceIndex>(device_); }

  int device_ = 0;
};

}  // namespace

std::vector<PeerAllocator> torch_caching() {
  return {{"c10::cuda::CUDACachingAllocator",
           []() -> std::unique_ptr<Allocator> { return std::make_unique<TorchCaching>(); }}};
}

}  // namespace tessera::bench
