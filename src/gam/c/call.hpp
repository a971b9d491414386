// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/tessera_gam.h>
#include <tessera/function.hpp>
#include <tessera/gam/fit.hpp>
#include <tessera/gam/options.hpp>
#include <tessera/job/job.hpp>
#include <tessera/mpi/communicator.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam::c {

/// The options and callbacks of a call, from the caller's `tessera_gam_call`.
class Call {
 public:
  /// `given` may be null. Throws `Error(usage)` for an invalid structure.
  explicit Call(const tessera_gam_call* given);

  /// Sets each option in every structure that has it. Throws `Error(usage)` for an option that no structure
  /// has.
  template <class... Options>
  void read_all(std::string_view function, Options&... options) {
    (read_options(options_, options), ...);
    refuse_unknown_options(options_, function);
  }

  /// Removes the option comm and returns a duplicate of the MPI communicator that it names; empty without the
  /// option. *Collective* over the communicator. Throws `Error(usage)` for an invalid handle, or without MPI.
  [[nodiscard]] std::optional<mpi::Communicator> take_communicator();

  /// Throws `Error(interrupted)` if the caller's `cancelled` returns nonzero.
  void stop_if_cancelled() const;
  /// Calls `work` with a job of this process only, unless the call is cancelled before. With callbacks, the
  /// work runs on a second thread, while this thread calls the callbacks. `job.options().stop` is then set,
  /// and `base::check_cancelled` throws in the work too once the call is cancelled. Rethrows what `work` or a
  /// callback throws.
  using Work = FunctionRef<void(Job& job, FitObserver* observer)>;
  void run(const JobOptions& options, Work work) const;
  /// *Collective.* Calls `work` with a job over a communicator, on this thread. Callbacks are called when the
  /// work reports progress. An error on one rank is an error on all. SIGINT stops the work.
  void run_over(const mpi::Communicator& comm, const JobOptions& options, Work work) const;

 private:
  std::vector<NamedOption> options_;
  tessera_gam_progress progress_ = nullptr;
  tessera_gam_cancelled cancelled_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace TESSERA_NAMESPACE::gam::c
