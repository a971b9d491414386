// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/workers.hpp"
#include "gam/rows/row_pass.hpp"

#include <atomic>
#include <cstdint>
#include <future>
#include <string>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* A hash of the response over the job's complete rows, both values and row numbers: sixteen
/// hexadecimal digits, the same on every rank and for any number of ranks and threads. It detects accidental
/// changes, not forgery. Cost: one scan of the response.
///
/// It is the sum modulo 2^64, over the rows, of a hash of the row's number in the table and the bits of its
/// response, and so does not depend on the distribution of rows.
[[nodiscard]] std::string response_fingerprint(const Workers& workers, const Rows& rows);

/// Computes the response's fingerprint concurrently with passes on devices, on as many separate threads as
/// the team has. Communicator and frame must outlive this object; response and flags of complete rows must
/// not change.
class FingerprintBeside {
 public:
  FingerprintBeside(const Workers& workers, const Rows& rows);
  /// Does not wait for the scan to end.
  ~FingerprintBeside() { stopped_ = true; }
  FingerprintBeside(const FingerprintBeside&) = delete;
  FingerprintBeside& operator=(const FingerprintBeside&) = delete;

  /// *Collective.* Call once.
  [[nodiscard]] std::string get(const mpi::Communicator& comm);

 private:
  std::atomic<bool> stopped_ = false;
  std::future<std::uint64_t> of_rank_;  // its destructor waits for the scan to stop
};

}  // namespace TESSERA_NAMESPACE::gam
