// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>
#include <tessera/version.hpp>

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace TESSERA_NAMESPACE {

/// A header for `ModuleSource`; `name` is the name in `#include` lines.
struct NamedHeader {
  std::string name;
  std::string text;
};

/// CUDA C++ source that is compiled at run time, so that values known only at run time, such as the shape of
/// a model, can be constants of the code.
///
///     ModuleSource square{.name = "square",
///                         .text = "#include <cstdint>\n"
///                                 "extern \"C\" __global__ void square(double* x, std::int64_t n) {…}",
///                         .headers = standard_headers()};
///
/// Kernels are found by name, so they must be `extern "C"`. Includes are resolved only in `headers`, so the
/// result does not depend on installed files.
struct ModuleSource {
  std::string name;  ///< the name of the source in messages
  std::string text;
  std::vector<NamedHeader> headers;
  std::vector<std::string> options;  ///< options of NVRTC, without the architecture: "--std=c++20",
                                     ///< "--fmad=true"
};

/// Compiled code for a device.
struct CompiledModule {
  std::string target;  ///< "sm_90": `image` is machine code; "compute_90": PTX
  std::string image;
  std::string log;  ///< warnings; empty if the image came from a cache
};

/// A failed compilation: a result, not an exception.
struct CompileFailure {
  std::string target;  ///< empty if it could not be determined
  std::string reason;  ///< one line
  std::string log;     ///< the compiler's output
};

using CompileOutcome = std::variant<CompiledModule, CompileFailure>;

/// One line: the reason, and the first error of the log.
[[nodiscard]] TESSERA_EXPORT std::string to_string(const CompileFailure& failure);

/// Interface of a kernel compiler; tests of caches implement it without a compiler. All members must be
/// thread-safe.
class TESSERA_EXPORT KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;

  /// Identifies the compiler in cache keys: "nvrtc 13.0.88". Empty if the compiler is unavailable; `compile`
  /// then returns the reason. Must be cheap: it is called for every module that is neither in memory nor
  /// precompiled.
  [[nodiscard]] virtual std::string version() = 0;
  /// The best target for a device: "sm_90", or "compute_90" (PTX) if the device's major version is newer than
  /// any that the compiler supports. Empty if the compiler has no target for the device.
  [[nodiscard]] virtual std::string target_for(ComputeCapability capability) = 0;
  [[nodiscard]] virtual CompileOutcome compile(const ModuleSource& source, const std::string& target) = 0;
};

/// NVRTC, loaded at first use as a `CudaLibrary`. Needs neither GPU nor driver. If NVRTC is not found, every
/// compilation returns a `CompileFailure` with this reason.
[[nodiscard]] TESSERA_EXPORT std::shared_ptr<KernelCompiler> nvrtc_compiler();

/// Replacements of `<cstddef>`, `<cstdint>`, `<limits>`, `<bit>` and `<cmath>`, because NVRTC has no standard
/// library. They contain what kernels need, so that host code and kernels can share headers.
[[nodiscard]] TESSERA_EXPORT std::vector<NamedHeader> standard_headers();

}  // namespace TESSERA_NAMESPACE
