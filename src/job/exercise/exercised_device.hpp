// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/fault/fault.hpp"

#include <tessera/function.hpp>
#include <tessera/job/exercise.hpp>
#include <tessera/memory/lease.hpp>
#include <tessera/memory/pinned.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE {

/// The kernel iterates a chaotic map on many starting values, so that a single wrong bit changes the result.
[[nodiscard]] ModuleSource exercise_source();
[[nodiscard]] std::vector<double> exercise_results();

/// The exercise of one device. `open` allocates memory, the destructor frees it.
class ExercisedDevice {
 public:
  /// `device` is an index among the rank's claimed devices. The arguments must outlive this object.
  ExercisedDevice(Job& job, const fault::Faults& faults, const std::vector<double>& results, int device);

  /// On the device's thread: opens the device and warms up. Throws on failure.
  void open();
  /// On the device's thread: measures the rates. Throws on failure.
  void measure();
  /// Records an exception of `open` or `measure`, with the stage.
  void failed(const std::exception_ptr& thrown);
  void failed(const std::string& failure);

  /// The device's array for the sum over devices.
  [[nodiscard]] std::int64_t* summand() const noexcept { return static_cast<std::int64_t*>(to_.data()); }
  [[nodiscard]] std::size_t count() const noexcept { return host_.size_bytes() / sizeof(double); }
  /// Sets element i of the array to (i + 1) * factor.
  void write_summand(std::uint64_t factor);
  /// Throws unless element i is (i + 1) * factor for all i below `count`.
  void check_sum(std::uint64_t factor, std::size_t count);

  [[nodiscard]] const DeviceExercise& found() const noexcept { return found_; }

 private:
  /// Times host-to-device, device-to-device and device-to-host copies and the kernel; checks the results.
  void run(DeviceExercise& found);
  /// Times the work that `submit` submits until it completes; keeps the best rate of `amount` per second.
  void time(ExerciseRate& rate, double amount, FunctionRef<void()> submit);
  void compute();
  /// Throws unless element i on the host is `right(i)` for all i below `count`.
  template <class T, class Right>
  void check(std::size_t count, const Right& right);
  template <class T>
  [[nodiscard]] std::span<T> on_host() const noexcept {
    return {static_cast<T*>(host_.data()), host_.size_bytes() / sizeof(T)};
  }

  Job& job_;
  const fault::Faults& faults_;
  const std::vector<double>& results_;
  int device_;
  const char* stage_ = "open";
  DeviceExercise found_;
  DeviceContext* context_ = nullptr;
  KernelView kernel_;
  PinnedMemory host_;
  MemoryLease from_;
  MemoryLease to_;
};

}  // namespace TESSERA_NAMESPACE
