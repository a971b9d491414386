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
/// hexadecimal digits, the same on every rank and for any number of ranks and threads. It detects accidents,
/// and does not resist malice. Cost: one scan of the response.
///
/// A sum modulo 2^64 over the rows, independent of their distribution, of hashes of a row's number in the
/// table and the bits of its response.
[[nodiscard]] std::string response_fingerprint(const Workers& workers, const Rows& rows);

/// Computes the response's fingerprint concurrently with passes on devices, by as many threads of its own as
/// the team has. Communicator and frame must outlive it, and response and flags of complete rows must not
/// change.
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
  std::future<std::uint64_t> of_rank_;  // its destructor waits for the thread
};

}  // namespace TESSERA_NAMESPACE::gam
