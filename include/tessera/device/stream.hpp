// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/held.hpp>
#include <tessera/topology/device_info.hpp>
#include <tessera/version.hpp>

#include <optional>

namespace TESSERA_NAMESPACE {

class DeviceContext;

/// A non-owning handle of a CUDA stream. It is a plain pointer, so that code without CUDA headers can pass it
/// on. A `.cu` file converts it by `static_cast<cudaStream_t>(stream.native())`. Null on a simulated device.
class StreamView {
 public:
  StreamView() = default;
  explicit StreamView(void* native) : native_(native) {}
  [[nodiscard]] void* native() const noexcept { return native_; }

  friend bool operator==(StreamView, StreamView) = default;

 private:
  void* native_ = nullptr;
};

/// A non-owning handle of a CUDA event (`cudaEvent_t`), as a plain pointer. Null on a simulated device.
class EventView {
 public:
  EventView() = default;
  explicit EventView(void* native) : native_(native) {}
  [[nodiscard]] void* native() const noexcept { return native_; }

  friend bool operator==(EventView, EventView) = default;

 private:
  void* native_ = nullptr;
};

/// A non-blocking stream of one device, destroyed with this object. Move-only; as thread-safe as a CUDA
/// stream.
///
///     Stream copies(context);
///     Event copied(context);
///     copied.record(copies);               // work submitted to `copies` so far is ordered before …
///     copied.make_wait(context.stream());  // … work submitted to the context's stream from now on
///
/// The destructor does not wait: pending work still runs. Memory pools keep handles of streams: before
/// destroying a stream, call `release_stream(stream)` of every pool that has leased memory on it.
class TESSERA_EXPORT Stream {
 public:
  /// Makes `context` current on the calling thread. Throws `Error(job_fault)`. The stream of a simulated
  /// device is null.
  explicit Stream(const DeviceContext& context);
  ~Stream();
  Stream(Stream&& other) noexcept = default;
  Stream& operator=(Stream&& other) noexcept;

  [[nodiscard]] StreamView view() const { return own_->view; }
  [[nodiscard]] void* native() const { return view().native(); }
  // NOLINTNEXTLINE(google-explicit-constructor): implicit conversion to a view
  operator StreamView() const { return view(); }
  /// Waits for the stream. Throws `Error(job_fault)` if the work on it failed. Blocks.
  void synchronize() const;

 private:
  struct Own {
    StreamView view;
    Ordinal ordinal{-1};
  };
  detail::Held<std::optional<Own>, "Stream"> own_;
};

/// A CUDA event without timing, which marks a point in the work of a stream. Move-only. An event that was
/// never recorded is ready. Events of a simulated device, on which all calls are synchronous, are always
/// ready.
class TESSERA_EXPORT Event {
 public:
  /// Makes `context` current on the calling thread. Throws `Error(job_fault)`.
  explicit Event(const DeviceContext& context);
  ~Event();
  Event(Event&& other) noexcept = default;
  Event& operator=(Event&& other) noexcept;

  [[nodiscard]] EventView view() const { return own_->view; }
  /// Records all work that was submitted to `stream` so far. The stream must be of the same device. Throws
  /// `Error(job_fault)`. Cost: about a microsecond.
  void record(StreamView stream);
  /// Whether the recorded work is complete. Throws `Error(job_fault)` if it failed. Does not block.
  [[nodiscard]] bool ready() const;
  /// Makes work that is submitted to `stream` later wait for the recorded work; `stream` may be of another
  /// device. A later `record` does not affect this. Throws `Error(job_fault)`. Does not block.
  void make_wait(StreamView stream) const;
  /// Waits for the recorded work. Throws `Error(job_fault)` if it failed. Blocks.
  void synchronize() const;

 private:
  struct Own {
    EventView view;
    Ordinal ordinal{-1};
  };
  detail::Held<std::optional<Own>, "Event"> own_;
};

}  // namespace TESSERA_NAMESPACE
