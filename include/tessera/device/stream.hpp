// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera {

/// A borrowed CUDA stream, as a plain pointer so that code without CUDA can pass it on. A `.cu` file
/// gives it to CUDA as `static_cast<cudaStream_t>(stream.native())`. Null on a simulated device.
class StreamView {
 public:
  StreamView() = default;
  explicit StreamView(void* native) : native_(native) {}
  [[nodiscard]] void* native() const noexcept { return native_; }

 private:
  void* native_ = nullptr;
};

}  // namespace tessera
