// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/job.hpp>
#include <tessera/job/verdict.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE {

/// A measured rate of one device, and the median over comparable devices.
struct ExerciseRate {
  /// A device is slow if its rate is below this fraction of the median.
  static constexpr double slow_fraction = 0.75;

  double value = 0;   ///< bytes or operations per second, the best of a few runs; 0: not measured
  double median = 0;  ///< median over the job's devices of the same name and number of sharing ranks

  [[nodiscard]] bool is_slow() const noexcept { return value > 0 && value < slow_fraction * median; }
};

/// The outcome of an exercise on one device. Rates of simulated devices are not measured: `memory` is the
/// bandwidth of the specification, other rates are 0.
struct DeviceExercise {
  std::string failure;       ///< the stage and the reason: "kernel: …"; empty if all results were right
  double open_seconds = 0;   ///< seconds to open the context; about 0 if it was open; 0 if simulated
  ExerciseRate to_device;    ///< bytes from pinned host memory
  ExerciseRate from_device;  ///< bytes to pinned host memory
  ExerciseRate memory;       ///< bytes read and written in device memory
  ExerciseRate arithmetic;   ///< FP64 operations
};

/// A test sum over all devices, or over all ranks.
struct ExercisedSum {
  std::string path;       ///< "NCCL", "the hosts" or "MPI"; empty if there was no sum
  std::string reason;     ///< why there was no sum, or why NCCL was not used; else empty
  std::string failure;    ///< why the sum failed; empty if the result was right on every rank
  std::size_t bytes = 0;  ///< bytes of each summand
  double seconds = 0;     ///< time of the slowest rank in seconds, the best of a few runs
};

/// The outcome of `exercise`, the same on every rank.
struct Exercise {
  std::vector<DeviceExercise> devices;  ///< results in the order of `Inventory::devices`
  /// Devices that the constructor of the job has excluded (`OnDeviceFailure::exclude`); they are not in
  /// `devices`.
  std::vector<Verdict::Failure> left_out;
  /// GPUs that the driver of their node cannot read (`Probe::broken`): "node7: the driver cannot read GPU
  /// 1: GPU is lost".
  std::vector<std::string> broken;
  ExercisedSum device_sum;
  ExercisedSum rank_sum;
};

/// *Collective.* Tests the devices of all ranks at the same time: opens each device, allocates memory, copies
/// into it, within it and out of it, computes on it by a kernel that is compiled at run time, and compares
/// the result with the host's, bit by bit. Then sums arrays over all devices (`DeviceCollectives::sum`), and
/// over all ranks by MPI. An Xid error that the driver logs during the test counts as a failure, unless it
/// indicates a faulty program.
///
///     const Exercise found = exercise(job);
///     for (std::size_t i = 0; i < found.devices.size(); ++i)
///       if (!found.devices[i].failure.empty())
///         report(job.inventory().devices()[i], found.devices[i].failure);
///
/// A device that fails is reported in the result, not by an exception: the other devices are still exercised,
/// but there is no sum over devices. A device that the job has already excluded is reported as failed. The
/// job can be used afterwards, but a device that has failed will fail in a pass too. Simulated devices
/// compute on the host. A job on the CPU has only the sum over ranks. Throws `Error(job_fault)` on every rank
/// if the job has fallen back to the CPU, with the reason, and `Error(usage)` like a pass. Blocks. Cost: 128
/// MiB of pinned host memory and twice that of device memory for each device (an eighth of its memory budget,
/// if that is less), about a second in addition to opening the devices and NCCL.
[[nodiscard]] TESSERA_EXPORT Exercise exercise(Job& job);

}  // namespace TESSERA_NAMESPACE
