// SPDX-License-Identifier: Apache-2.0
#include "cuda_check.cuh"
#include "dense_products.hpp"

#include <tessera/device/cuda_library.hpp>

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <memory>

namespace tessera::bench {
namespace {

void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw Error(ErrorCode::job_fault,
                std::string(call) + " failed with status " + std::to_string(static_cast<int>(status)));
}

/// Numbers from 0 to 1: the units' clock depends on the bits that change.
__global__ void fill(double* x, std::size_t count) {
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i >= count) return;
  std::size_t bits = (i + 1) * 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  x[i] = static_cast<double>((bits ^ (bits >> 27)) >> 11) * 0x1p-53;
}

/// Memory of the current device.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) { bench::check(cudaMalloc(&data_, bytes), "cudaMalloc"); }
  ~DeviceMemory() { (void)cudaFree(data_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  [[nodiscard]] void* data() const noexcept { return data_; }

 private:
  void* data_ = nullptr;
};

class Dense {
 public:
  Dense(std::int64_t rows, int columns, cudaStream_t stream)
      : rows_(static_cast<int>(rows)),
        columns_(columns),
        stream_(stream),
        library_("cublas"),
        x_(bytes()),
        product_(sizeof(double) * static_cast<std::size_t>(columns) * static_cast<std::size_t>(columns)) {
    const bool complete = library_.find(create_, "cublasCreate_v2") &&
                          library_.find(destroy_, "cublasDestroy_v2") &&
                          library_.find(set_stream_, "cublasSetStream_v2") &&
                          library_.find(gemm_, "cublasDgemm_v2") && library_.find(syrk_, "cublasDsyrk_v2");
    if (!complete) throw Error(ErrorCode::device_absent, "no dense products: " + library_.why_not());
    constexpr unsigned threads = 256;
    const std::size_t count = bytes() / sizeof(double);
    fill<<<static_cast<unsigned>((count + threads - 1) / threads), threads, 0, stream>>>(x(), count);
    bench::check(cudaGetLastError(), "fill");
    check(create_(&handle_), "cublasCreate");
    check(set_stream_(handle_, stream), "cublasSetStream");
  }
  ~Dense() {
    if (handle_ != nullptr) (void)destroy_(handle_);
  }
  Dense(const Dense&) = delete;
  Dense& operator=(const Dense&) = delete;

  void write() const {
    bench::check(cudaMemsetAsync(x(), 0, bytes(), stream_), "cudaMemsetAsync");
    wait();
  }
  void gemm() const {
    check(gemm_(handle_, CUBLAS_OP_T, CUBLAS_OP_N, columns_, columns_, rows_, &one_, x(), rows_, x(), rows_,
                &zero_, product(), columns_),
          "cublasDgemm");
    wait();
  }
  void syrk() const {
    check(syrk_(handle_, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, columns_, rows_, &one_, x(), rows_, &zero_,
                product(), columns_),
          "cublasDsyrk");
    wait();
  }

 private:
  [[nodiscard]] double* x() const { return static_cast<double*>(x_.data()); }
  [[nodiscard]] double* product() const { return static_cast<double*>(product_.data()); }
  [[nodiscard]] std::size_t bytes() const {
    return sizeof(double) * static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_);
  }
  void wait() const { bench::check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

  static constexpr double one_ = 1;
  static constexpr double zero_ = 0;
  int rows_;
  int columns_;
  cudaStream_t stream_;
  CudaLibrary library_;
  decltype(cublasCreate_v2)* create_ = nullptr;
  decltype(cublasDestroy_v2)* destroy_ = nullptr;
  decltype(cublasSetStream_v2)* set_stream_ = nullptr;
  decltype(cublasDgemm_v2)* gemm_ = nullptr;
  decltype(cublasDsyrk_v2)* syrk_ = nullptr;
  cublasHandle_t handle_ = nullptr;
  DeviceMemory x_;
  DeviceMemory product_;
};

}  // namespace

DenseProducts dense_products_on_device(std::int64_t rows, int columns, StreamView stream) {
  const auto dense = std::make_shared<Dense>(rows, columns, native(stream));
  return {[dense] { dense->write(); },
          {{"cublasDgemm", [dense] { dense->gemm(); }}, {"cublasDsyrk", [dense] { dense->syrk(); }}}};
}

}  // namespace tessera::bench
