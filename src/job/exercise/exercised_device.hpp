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

/// The kernel of an exercise: iterates a chaotic map on distinct numbers, so that a single wrong bit changes
/// the result.
[[nodiscard]] ModuleSource exercise_source();
/// The correct result of the kernel for each number.
[[nodiscard]] std::vector<double> exercise_results();

/// The exercise of one device. Memory is allocated by `open` and freed with this object.
class ExercisedDevice {
 public:
  /// `device` is its index among the rank's claimed devices. The arguments must outlive this object.
  ExercisedDevice(Job& job, const fault::Faults& faults, const std::vector<double>& results, int device);

  /// On the device's own thread: opens the device, and runs the work once. Throws any failure.
  void open();
  /// On the same thread: runs the work, and measures its rates.
  void measure();
  /// Records the failure of `open` or `measure`, with its stage.
  void failed(const std::exception_ptr& thrown);
  /// Records a further failure.
  void failed(const std::string& failure);

  /// The device's array for the sum over devices, and its number of elements.
  [[nodiscard]] std::int64_t* summand() const noexcept { return static_cast<std::int64_t*>(to_.data()); }
  [[nodiscard]] std::size_t count() const noexcept { return host_.size_bytes() / sizeof(double); }
  /// Sets element i of the array to (i + 1) `factor`.
  void write_summand(std::uint64_t factor);
  /// Checks that element i of the first `count` is (i + 1) `factor`.
  void check_sum(std::uint64_t factor, std::size_t count);

  [[nodiscard]] const DeviceExercise& found() const noexcept { return found_; }

 private:
  /// Runs the copies to the device, within it and back, with the kernel in between.
  void run(DeviceExercise& found);
  /// Times the work that `submit` submits, up to its completion, and keeps the best rate.
  void time(ExerciseRate& rate, double amount, FunctionRef<void()> submit);
  void compute();
  /// Throws unless each of the first `count` elements i on the host is `right(i)`.
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
  MemoryLease from_;  ///< source, on the device
  MemoryLease to_;    ///< destination, on the device
};

}  // namespace TESSERA_NAMESPACE
