// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/job.hpp>
#include <tessera/job/stop_request.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <typeinfo>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

/// Private access to a job for the C interface, for passes over units whose size is known only at run time,
/// and for tests.
struct JobAccess {
  using Call = Job::Call;
  using Pass = Job::Pass;

  /// The `Call` of a member `verb` of `Job`, for units and results of these sizes in bytes.
  template <class... Sizes>
  [[nodiscard]] static Call call_of(const char* verb, Sizes... unit_bytes) {
    return Job::call_of(verb, {((void)unit_bytes, &typeid(std::byte))...}, {unit_bytes...});
  }
  [[nodiscard]] static bool runs_on_devices(const Job& job, const Plan& plan) {
    return job.runs_on_devices(plan);
  }
  static void run(Job& job, const Plan& plan, const Pass& pass) { job.run(plan, pass); }

  /// `on_device` is null in a host-only pass.
  [[nodiscard]] static std::vector<double> sum_blocks(
      Job& job, std::size_t width, const FunctionRef<void(Tile&, ReproducibleSum&)>* on_device,
      FunctionRef<void(const HostTile&, std::span<double>)> on_host, const Call& call,
      std::span<const ArrayAccess> arrays) {
    return job.sum_blocks(job.plan_of(arrays), width, on_device, on_host, 0, call, arrays);
  }
  /// Combines blocks into `result`, which must be initialised with the identity.
  static void combine_blocks(Job& job, const Plan& plan, const BlockReduction& reduction, const Call& call,
                             std::span<const ArrayAccess> arrays, void* result) {
    job.combine_blocks(plan, reduction, call, arrays, result);
  }
  [[nodiscard]] static std::vector<std::byte> moved(const Job& job, const std::byte* units,
                                                    std::int64_t count, std::size_t unit_bytes,
                                                    const Plan& from, const Plan& to);
  /// `Job::moved` for units of `unit_bytes`.
  [[nodiscard]] static std::vector<std::byte> moved_in_pass(const Job& job, std::span<const std::byte> units,
                                                            std::size_t unit_bytes, const Plan& from,
                                                            const Plan& to) {
    std::vector<std::size_t> bytes = job.counts_for_ranks(from, to);
    for (std::size_t& of_rank : bytes) of_rank *= unit_bytes;
    return job.comm().alltoallv(units, bytes);
  }
  [[nodiscard]] static bool have_same_ranks(const StopRequest& stop, const mpi::Communicator& comm) {
    return stop.has_ranks_of(comm);
  }
  [[nodiscard]] static auto& state(const Job& job) { return job.state(); }
  static void download(Job& job, std::span<ArrayBase* const> arrays) { job.download_together(arrays); }
};

}  // namespace TESSERA_NAMESPACE::detail
