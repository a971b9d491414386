// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>
#include <tessera/version.hpp>

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace tessera::inline TESSERA_ABI {

/// A header of a kernel's source, by the name that `#include` gives.
struct NamedHeader {
  std::string name;
  std::string text;
};

/// CUDA C++ that is compiled where it runs, so that what the program has learned by then (the shape of a
/// model, say) can be constants in it.
///
///     ModuleSource square{.name = "square",
///                         .text = "#include <cstdint>\n"
///                                 "extern \"C\" __global__ void square(double* x, std::int64_t n) {…}",
///                         .headers = standard_headers()};
///
/// Kernels are found by their names, so they are `extern "C"`. Includes are looked for in `headers` and
/// nowhere else: the result does not depend on what is installed.
struct ModuleSource {
  std::string name;  ///< for messages
  std::string text;
  std::vector<NamedHeader> headers;
  std::vector<std::string> options;  ///< of NVRTC, without the architecture: "--std=c++20", "--fmad=true"
};

/// Code for a device.
struct CompiledModule {
  std::string target;  ///< "sm_90": `image` is machine code; "compute_90": PTX
  std::string image;
  std::string log;  ///< warnings; empty if the image came from a cache
};

/// A compilation that gave no code: a fact, not an error.
struct CompileFailure {
  std::string target;  ///< empty if it was not even known
  std::string reason;  ///< one line
  std::string log;     ///< all that the compiler said
};

using CompileOutcome = std::variant<CompiledModule, CompileFailure>;

/// One line: the reason, and the first error of the log.
[[nodiscard]] TESSERA_EXPORT std::string to_string(const CompileFailure& failure);

/// What turns source into code. An interface, so that caches are tested without a compiler. All members
/// must be thread-safe.
class TESSERA_EXPORT KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;

  /// What makes its code differ from another's: "nvrtc 13.0.88". Empty if it cannot be used; `compile` says
  /// why. All that code which was kept is asked for: let it be cheap.
  [[nodiscard]] virtual std::string version() = 0;
  /// The best target for a device that this compiler knows: "sm_90", or "compute_90" if the device is of a
  /// later major version than all it knows and needs PTX. Empty if there is none.
  [[nodiscard]] virtual std::string target_for(ComputeCapability capability) = 0;
  /// Code for `target`, or why there is none.
  [[nodiscard]] virtual CompileOutcome compile(const ModuleSource& source, const std::string& target) = 0;
};

/// NVRTC, opened at first use as a `CudaLibrary`: it is never linked, and needs no GPU and no driver. Where
/// it is not found, every compilation is a failure that says so.
[[nodiscard]] TESSERA_EXPORT std::shared_ptr<KernelCompiler> nvrtc_compiler();

/// `<cstddef>`, `<cstdint>`, `<limits>`, `<bit>` and `<cmath>`, as far as kernels need them: NVRTC has no
/// standard library. So a header of plain functions can serve the host and a kernel.
[[nodiscard]] TESSERA_EXPORT std::vector<NamedHeader> standard_headers();

}  // namespace tessera::inline TESSERA_ABI
