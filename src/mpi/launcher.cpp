// SPDX-License-Identifier: Apache-2.0
#include "mpi/launcher.hpp"

#include "base/number.hpp"

#include <tessera/mpi/launcher.hpp>
#include <tessera/mpi/session.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

namespace TESSERA_NAMESPACE::mpi {
namespace {

std::optional<int> number_in(const char* variable) noexcept {
  const char* const text = std::getenv(variable);
  return text != nullptr ? base::parse_number<int>(text) : std::nullopt;
}

}  // namespace

namespace detail {

std::string host_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) return "?";
  return host.data();
}

}  // namespace detail

int launched_rank() noexcept {
  for (const char* const name :
       {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PALS_RANKID", "SLURM_PROCID"}) {
    const auto rank = number_in(name);
    if (rank && *rank >= 0) return *rank;
  }
  return -1;
}

Runtime launched_runtime() noexcept {
  // Set by Open MPI, PMIx, PMI-1 or PMI-2 (MPICH), and Cray PALS.
  constexpr std::array ranks = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PALS_RANKID"};
  if (std::ranges::any_of(ranks, [](const char* name) { return std::getenv(name) != nullptr; }))
    return Runtime::mpi;
  // Several srun tasks without PMI: MPI_Init then fails, which is better than that each task, as a serial
  // program, does all the work. Slurm does not set this variable in a batch script.
  return number_in("SLURM_STEP_NUM_TASKS").value_or(1) > 1 ? Runtime::mpi : Runtime::serial;
}

}  // namespace TESSERA_NAMESPACE::mpi
