// SPDX-License-Identifier: Apache-2.0
#include "gam/linalg/device_algebra.hpp"

#include <tessera/device/backend.hpp>
#include <tessera/device/cuda_library.hpp>
#include <tessera/error.hpp>
#include <tessera/memory/buffer_pool.hpp>

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>
#include <type_traits>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Products with fewer multiplications are computed on the host, without a transfer.
constexpr std::int64_t smallest_product = std::int64_t{1} << 23;
/// Scratch memory for cuBLASLt: the size that its manual advises for Hopper. Constant, because the size
/// affects the choice of the algorithm, and so rounding.
constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  throw Error(ErrorCode::job_fault, std::string(call) + ": " + cudaGetErrorString(status));
}

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(ErrorCode::job_fault,
              std::string(call) + " failed with status " + std::to_string(static_cast<int>(status)));
}

cudaStream_t native_stream(const Tile& tile) {
  return static_cast<cudaStream_t>(tile.stream().native());
}

/// The entry points of cuBLASLt; usable only if `complete`.
struct Entries {
  explicit Entries(const CudaLibrary& library)
      : complete(library.find(create, "cublasLtCreate") && library.find(destroy, "cublasLtDestroy") &&
                 library.find(create_product, "cublasLtMatmulDescCreate") &&
                 library.find(destroy_product, "cublasLtMatmulDescDestroy") &&
                 library.find(create_layout, "cublasLtMatrixLayoutCreate") &&
                 library.find(destroy_layout, "cublasLtMatrixLayoutDestroy") &&
                 library.find(create_preference, "cublasLtMatmulPreferenceCreate") &&
                 library.find(destroy_preference, "cublasLtMatmulPreferenceDestroy") &&
                 library.find(set_preference, "cublasLtMatmulPreferenceSetAttribute") &&
                 library.find(choose, "cublasLtMatmulAlgoGetHeuristic") &&
                 library.find(matmul, "cublasLtMatmul")) {}

  decltype(cublasLtCreate)* create = nullptr;
  decltype(cublasLtDestroy)* destroy = nullptr;
  decltype(cublasLtMatmulDescCreate)* create_product = nullptr;
  decltype(cublasLtMatmulDescDestroy)* destroy_product = nullptr;
  decltype(cublasLtMatrixLayoutCreate)* create_layout = nullptr;
  decltype(cublasLtMatrixLayoutDestroy)* destroy_layout = nullptr;
  decltype(cublasLtMatmulPreferenceCreate)* create_preference = nullptr;
  decltype(cublasLtMatmulPreferenceDestroy)* destroy_preference = nullptr;
  decltype(cublasLtMatmulPreferenceSetAttribute)* set_preference = nullptr;
  decltype(cublasLtMatmulAlgoGetHeuristic)* choose = nullptr;
  decltype(cublasLtMatmul)* matmul = nullptr;
  bool complete;
};

/// RAII owner of a cuBLASLt object.
template <class Handle>
class Owned {
 public:
  template <class... Arguments>
  Owned(const char* call, cublasStatus_t (*create)(Handle*, Arguments...), cublasStatus_t (*destroy)(Handle),
        std::type_identity_t<Arguments>... arguments)
      : destroy_(destroy) {
    check(create(&handle_, arguments...), call);
  }
  ~Owned() { (void)destroy_(handle_); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  [[nodiscard]] Handle get() const noexcept { return handle_; }

 private:
  Handle handle_{};
  cublasStatus_t (*destroy_)(Handle);
};

}  // namespace

class BlasLt {
 public:
  explicit BlasLt(const Entries& entries) : lt_(entries) {}

  /// c = a b (m x k times k x n), column-major in device memory; asynchronous on the tile's stream.
  void multiply(const Tile& tile, const double* a, const double* b, double* c, int m, int n, int k) const {
    const Owned<cublasLtMatmulDesc_t> product("cublasLtMatmulDescCreate", lt_.create_product,
                                              lt_.destroy_product, CUBLAS_COMPUTE_64F, CUDA_R_64F);
    const Layout left = layout(m, k);
    const Layout right = layout(k, n);
    const Layout out = layout(m, n);
    const Owned<cublasLtMatmulPreference_t> preference("cublasLtMatmulPreferenceCreate",
                                                       lt_.create_preference, lt_.destroy_preference);
    check(lt_.set_preference(preference.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
                             sizeof workspace_bytes),
          "cublasLtMatmulPreferenceSetAttribute");
    cublasLtMatmulHeuristicResult_t chosen{};
    int found = 0;
    check(lt_.choose(handle_.get(), product.get(), left.get(), right.get(), out.get(), out.get(),
                     preference.get(), 1, &chosen, &found),
          "cublasLtMatmulAlgoGetHeuristic");
    if (found == 0) throw Error(ErrorCode::job_fault, "cuBLASLt knows no algorithm for a product");
    const MemoryLease workspace = tile.workspace(chosen.workspaceSize);
    const double one = 1;
    const double zero = 0;
    check(
        lt_.matmul(handle_.get(), product.get(), &one, a, left.get(), b, right.get(), &zero, c, out.get(), c,
                   out.get(), &chosen.algo, workspace.data(), workspace.size_bytes(), native_stream(tile)),
        "cublasLtMatmul");
  }

 private:
  using Layout = Owned<cublasLtMatrixLayout_t>;
  [[nodiscard]] Layout layout(int rows, int columns) const {
    return {"cublasLtMatrixLayoutCreate",
            lt_.create_layout,
            lt_.destroy_layout,
            CUDA_R_64F,
            static_cast<std::uint64_t>(rows),
            static_cast<std::uint64_t>(columns),
            rows};
  }

  Entries lt_;
  Owned<cublasLtHandle_t> handle_{"cublasLtCreate", lt_.create, lt_.destroy};
};

namespace {

Buffer<double> uploaded(const Matrix& a, const Tile& tile) {
  const std::span<const double> values = a.values();
  Buffer<double> buffer = tile.buffers().take<double>(values.size(), tile.stream());
  check(cudaMemcpyAsync(buffer.data(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice,
                        native_stream(tile)),
        "copy of a matrix to the device");
  return buffer;
}

}  // namespace

DeviceAlgebra::DeviceAlgebra(const Tile& tile, const Algebra& host) : tile_(tile), host_(host) {
  const auto open = [](const BackendContext&) {
    const CudaLibrary library("cublasLt");
    const Entries entries(library);
    if (!entries.complete) {
      throw Error(ErrorCode::job_fault,
                  library.found() ? "libcublasLt lacks an entry point" : library.why_not());
    }
    return std::make_shared<const BlasLt>(entries);
  };
  blas_ = *probe_backend_with_compile("cuBLASLt", open).built;
}

Matrix DeviceAlgebra::multiply(const Matrix& a, const Matrix& b) const {
  check_cancelled();
  if (std::int64_t{a.rows()} * a.cols() * b.cols() < smallest_product) return host_.multiply(a, b);
  check_cancelled();
  const Buffer<double> left = uploaded(a, tile_);
  const Buffer<double> right = uploaded(b, tile_);
  Matrix product(a.rows(), b.cols());
  const std::span<double> values = product.values();
  const Buffer<double> out = tile_.buffers().take<double>(values.size(), tile_.stream());
  blas_->multiply(tile_, left.data(), right.data(), out.data(), a.rows(), b.cols(), a.cols());
  check(cudaMemcpyAsync(values.data(), out.data(), values.size_bytes(), cudaMemcpyDeviceToHost,
                        native_stream(tile_)),
        "copy of a product from the device");
  check(cudaStreamSynchronize(native_stream(tile_)), "product of matrices");
  return product;
}

}  // namespace TESSERA_NAMESPACE::gam
