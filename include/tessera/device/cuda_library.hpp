// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace tessera::base {
class SharedLibrary;
}

namespace tessera::inline TESSERA_ABI {

/// One of the CUDA toolkit's libraries, opened at run time: a program that uses it this way starts, and says
/// what it lacks, where there is no toolkit.
///
///     const CudaLibrary blas("cublasLt");                  // libcublasLt.so.13, …
///     decltype(cublasLtCreate)* create = nullptr;
///     if (!blas.find(create, "cublasLtCreate")) throw Error(ErrorCode::device_absent, blas.why_not());
///
/// Looked for by its names, first of the CUDA version that Tessera was built with, in the places where the
/// system looks for libraries, then in `lib64` of $CUDA_HOME, $CUDA_PATH and /usr/local/cuda. Once opened it
/// stays open until the process ends: such libraries have threads and handlers of their own. Makes no CUDA
/// call. Not collective. Thread-safe as long as no thread changes the environment. Blocks. Cost: milliseconds
/// the first time.
class TESSERA_EXPORT CudaLibrary {
 public:
  /// `name` without "lib" and ".so". Does not throw for a library that is not there: see `found`.
  explicit CudaLibrary(std::string_view name);

  [[nodiscard]] bool found() const noexcept;
  /// One line, if it was not found.
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }

  /// The file that was opened, with all links followed: "…/libnvrtc.so.13.0.88". Empty if none was.
  [[nodiscard]] std::string file() const;

  /// Sets `entry` to the address of `symbol`, whose type the caller vouches for; null, and false, if there is
  /// none, or no library.
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

}  // namespace tessera::inline TESSERA_ABI
