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

/// What a caller gives beside the arguments.
class Call {
 public:
  /// `given` may be null. Throws `Error(usage)` for a structure that is none.
  explicit Call(const tessera_gam_call* given);

  /// Fills each of these, in order, with the options that it has, and refuses those that none has.
  template <class... Options>
  void read_all(std::string_view function, Options&... options) {
    (read_options(options_, options), ...);
    refuse_unread(options_, function);
  }

  /// A private duplicate of the MPI communicator that the option comm names, of which no options are to know;
  /// nothing without that option. *Collective*, then. Throws `Error(usage)` where there is no such one.
  [[nodiscard]] std::optional<mpi::Communicator> take_communicator();

  /// Throws `Error(interrupted)` if the caller asks for that.
  void stop_if_cancelled() const;
  /// The same before work. Calls `work` with a job of this process alone, on this thread, or, where there are
  /// callbacks, on another one while this one calls them: `base::go_on` then ends the work, too. Rethrows
  /// what either throws. `job.options().stop` is set in the second case.
  using Work = FunctionRef<void(Job& job, FitObserver* observer)>;
  void run(const JobOptions& options, Work work) const;
  /// *Collective.* Calls `work` with a job over a communicator, on this thread, which calls the callbacks
  /// where the work tells of its progress. Throws on every rank if it throws on one. SIGINT stops the work.
  void run_over(const mpi::Communicator& comm, const JobOptions& options, Work work) const;

 private:
  std::vector<NamedOption> options_;
  tessera_gam_progress progress_ = nullptr;
  tessera_gam_cancelled cancelled_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace TESSERA_NAMESPACE::gam::c
