// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/workers.hpp"
#include "gam/rows/row_pass.hpp"

#include <atomic>
#include <cstdint>
#include <future>
#include <string>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* A hash of the response over the job's complete rows: 16 hexadecimal digits. Detects
/// accidental changes, not forgery. Cost: one scan of the response.
///
/// The hash is the sum modulo 2^64 over rows of a hash of the row number in the table and the bits of the
/// response. It does not depend on the distribution of rows over ranks and threads.
[[nodiscard]] std::string response_fingerprint(const Workers& workers, const Rows& rows);

/// Computes the fingerprint concurrently with passes on devices, on as many extra threads as the team has.
/// Communicator and frame must outlive this object. Response and flags of complete rows must not change.
class FingerprintBeside {
 public:
  FingerprintBeside(const Workers& workers, const Rows& rows);
  /// Aborts the scan.
  ~FingerprintBeside() { stopped_ = true; }
  FingerprintBeside(const FingerprintBeside&) = delete;
  FingerprintBeside& operator=(const FingerprintBeside&) = delete;

  /// *Collective.* Call once.
  [[nodiscard]] std::string get(const mpi::Communicator& comm);

 private:
  std::atomic<bool> stopped_ = false;
  std::future<std::uint64_t> of_rank_;  // the destructor waits until the scan stops
};

}  // namespace TESSERA_NAMESPACE::gam
