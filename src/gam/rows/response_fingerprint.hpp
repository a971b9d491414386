// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/row_pass.hpp"
#include "gam/table/frame/workers.hpp"

#include <atomic>
#include <cstdint>
#include <future>
#include <string>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Identifies the response of the job's complete rows, values and rows of the table alike:
/// sixteen hexadecimal digits, the same on every rank and for any number of ranks and threads. It finds
/// accidents; it is no defence against malice. Cost: one look at the response.
///
/// A sum modulo 2^64 over the rows, so that it does not depend on who has which, of numbers that mix a row's
/// number in the table with the bits of its response.
[[nodiscard]] std::string response_fingerprint(const Workers& workers, const Rows& rows);

/// The same by threads of its own, as many as the team has, while devices pass over the rows. Communicator
/// and frame outlive it, and neither response nor marks of complete rows change.
class FingerprintBeside {
 public:
  FingerprintBeside(const Workers& workers, const Rows& rows);
  /// Does not wait for the whole look.
  ~FingerprintBeside() { stopped_ = true; }
  FingerprintBeside(const FingerprintBeside&) = delete;
  FingerprintBeside& operator=(const FingerprintBeside&) = delete;

  /// *Collective.* Once.
  [[nodiscard]] std::string get(const mpi::Communicator& comm);

 private:
  std::atomic<bool> stopped_ = false;
  std::future<std::uint64_t> of_rank_;  // whose end waits for its thread
};

}  // namespace TESSERA_NAMESPACE::gam
