// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>
#include <tessera/version.hpp>

#include <utility>

namespace tessera::inline TESSERA_ABI {

class DeviceContext;

/// A borrowed CUDA stream, as a plain pointer so that code without CUDA can pass it on. A `.cu` file
/// gives it to CUDA as `static_cast<cudaStream_t>(stream.native())`. Null on a simulated device.
class StreamView {
 public:
  StreamView() = default;
  explicit StreamView(void* native) : native_(native) {}
  [[nodiscard]] void* native() const noexcept { return native_; }

  friend bool operator==(StreamView, StreamView) = default;

 private:
  void* native_ = nullptr;
};

/// A borrowed CUDA event (`cudaEvent_t`), in the same way. Null on a simulated device.
class EventView {
 public:
  EventView() = default;
  explicit EventView(void* native) : native_(native) {}
  [[nodiscard]] void* native() const noexcept { return native_; }

  friend bool operator==(EventView, EventView) = default;

 private:
  void* native_ = nullptr;
};

/// A non-blocking stream of one device, destroyed with this object. Move-only; thread-safe as CUDA's are.
///
///     Stream copies(context);
///     Event copied(context);
///     copied.record(copies);                  // after all that was put on `copies` so far …
///     copied.hold(context.stream());          // … comes what is put on the context's stream from now on
///
/// Destroying waits for nothing: work that was put on the stream still runs. Memory pools remember
/// streams: `release_stream(stream)` of every pool that leased memory on it comes first.
class TESSERA_EXPORT Stream {
 public:
  /// Makes `context` current on the calling thread. Throws `Error(job_fault)`. The stream of a simulated
  /// device is null.
  explicit Stream(const DeviceContext& context);
  ~Stream();
  Stream(Stream&& other) noexcept : view_(std::exchange(other.view_, {})), ordinal_(other.ordinal_) {}
  Stream& operator=(Stream&& other) noexcept;

  [[nodiscard]] StreamView view() const noexcept { return view_; }
  [[nodiscard]] void* native() const noexcept { return view_.native(); }
  // NOLINTNEXTLINE(google-explicit-constructor): an owner lends itself wherever a view is asked for
  operator StreamView() const noexcept { return view_; }
  /// Waits for the stream. Throws `Error(job_fault)` if the work on it failed. Blocks.
  void synchronize() const;

 private:
  StreamView view_;
  Ordinal ordinal_{-1};
};

/// A point in the work of a stream, without a time. Move-only. An event that was never recorded is ready.
/// On a simulated device, where all work is done when its call returns, it is always ready.
class TESSERA_EXPORT Event {
 public:
  /// Makes `context` current on the calling thread. Throws `Error(job_fault)`.
  explicit Event(const DeviceContext& context);
  ~Event();
  Event(Event&& other) noexcept : view_(std::exchange(other.view_, {})), ordinal_(other.ordinal_) {}
  Event& operator=(Event&& other) noexcept;

  [[nodiscard]] EventView view() const noexcept { return view_; }
  /// The event is from now on the end of all work on `stream`, which must be of the same device.
  /// Throws `Error(job_fault)`. Cost: about a microsecond.
  void record(StreamView stream);
  /// Whether that work is complete. Throws `Error(job_fault)` if it failed. Does not block.
  [[nodiscard]] bool ready() const;
  /// What is put on `stream` from now on runs after that work; `stream` may be of another device. Recording
  /// anew changes nothing for it. Throws `Error(job_fault)`. Does not block.
  void hold(StreamView stream) const;
  /// Waits for that work. Throws `Error(job_fault)` if it failed. Blocks.
  void synchronize() const;

 private:
  EventView view_;
  Ordinal ordinal_{-1};
};

}  // namespace tessera::inline TESSERA_ABI
