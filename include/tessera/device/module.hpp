// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/kernel_compiler.hpp>
#include <tessera/device/stream.hpp>
#include <tessera/held.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

namespace TESSERA_NAMESPACE {

/// A non-owning handle of a kernel. Valid as long as its `Module`, on every device that can run the module's
/// code.
class KernelView {
 public:
  KernelView() = default;
  explicit KernelView(void* native) : native_(native) {}
  /// A `CUkernel`.
  [[nodiscard]] void* native() const noexcept { return native_; }

 private:
  void* native_ = nullptr;
};

/// Compiled code loaded into this process, for all of its devices at once. Move-only.
class TESSERA_EXPORT Module {
 public:
  /// `name` is for messages. Throws `Error(job_fault)` if the driver rejects the code. A device must be
  /// current. The code is loaded on this device now, on another one when a kernel is first launched there.
  Module(std::string name, const CompiledModule& compiled);
  ~Module();
  Module(Module&&) noexcept;
  Module& operator=(Module&&) noexcept;

  /// Throws `Error(job_fault)` if the module has no `extern "C"` kernel of this name. Thread-safe.
  [[nodiscard]] KernelView kernel(const std::string& name) const;

 private:
  struct State;
  detail::Held<std::unique_ptr<State>, "Module"> state_;
};

/// Blocks of a grid, or threads of a block.
struct Extent {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
};

namespace detail {
/// `arguments` points to one pointer for each parameter of the kernel.
TESSERA_EXPORT void launch(KernelView kernel, Extent grid, Extent block, std::size_t shared_bytes,
                           StreamView stream, void** arguments);
}  // namespace detail

/// Launches a kernel asynchronously on the current device. `arguments` must have exactly the number and types
/// of the kernel's parameters: nothing checks or converts them. `shared_bytes` is the dynamic shared memory,
/// up to the device's maximum per block. Throws `Error(job_fault)` if the launch fails; errors during
/// execution are reported when the stream is synchronised.
template <class... Arguments>
void launch(KernelView kernel, Extent grid, Extent block, std::size_t shared_bytes, StreamView stream,
            const Arguments&... arguments) {
  static_assert((std::is_trivially_copyable_v<Arguments> && ...), "arguments are copied byte by byte");
  void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))..., nullptr};
  detail::launch(kernel, grid, block, shared_bytes, stream, pointers);
}

}  // namespace TESSERA_NAMESPACE
