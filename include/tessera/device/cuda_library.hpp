// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace tessera::base {
class SharedLibrary;
}

namespace TESSERA_NAMESPACE {

/// A library of the CUDA toolkit, loaded at run time: without the toolkit the program still starts, and can
/// report what is missing.
///
///     const CudaLibrary blas("cublasLt");                  // libcublasLt.so.13, …
///     decltype(cublasLtCreate)* create = nullptr;
///     if (!blas.find(create, "cublasLtCreate")) throw Error(ErrorCode::device_absent, blas.why_not());
///
/// The library is searched under its versioned names, beginning with the CUDA version that Tessera was built
/// with, in the system's library path, then in `lib64` of $CUDA_HOME, $CUDA_PATH and /usr/local/cuda. It is
/// never unloaded, because CUDA libraries have their own threads and handlers. A move is a copy. Makes no
/// CUDA call. Not collective. Thread-safe as long as no thread changes the environment. Blocks. Cost:
/// milliseconds the first time.
class TESSERA_EXPORT CudaLibrary {
 public:
  /// `name` without "lib" and ".so". Does not throw if there is no such library: see `found`.
  explicit CudaLibrary(std::string_view name);

  CudaLibrary(const CudaLibrary&) = default;
  CudaLibrary& operator=(const CudaLibrary&) = default;
  ~CudaLibrary() = default;

  [[nodiscard]] bool found() const noexcept;
  /// The reason, in one line, if it was not found.
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }

  /// Path of the loaded file, with all symbolic links resolved: "…/libnvrtc.so.13.0.88". Empty if the library
  /// was not found.
  [[nodiscard]] std::string file() const;

  /// Sets `entry` to the address of `symbol`, or to null if the library or the symbol was not found; returns
  /// whether the symbol was found. The caller is responsible for the type.
  template <class Function>
  [[nodiscard]] bool find(Function*& entry, const char* symbol) const {
    entry = reinterpret_cast<Function*>(address_of(symbol));
    return entry != nullptr;
  }

 private:
  [[nodiscard]] void* address_of(const char* symbol) const noexcept;

  std::shared_ptr<const base::SharedLibrary> library_;
  std::string why_not_;
};

}  // namespace TESSERA_NAMESPACE
