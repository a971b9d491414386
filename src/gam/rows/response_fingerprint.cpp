// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/response_fingerprint.hpp"

#include "base/at.hpp"
#include "base/hash.hpp"
#include "base/signals_blocked.hpp"
#include "base/vectors.hpp"

#include <cstddef>
#include <numeric>
#include <span>
#include <system_error>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

#define TESSERA_TEXT "gam/rows/fingerprint_text.hpp"
#include "base/each_width.hpp"

/// Sum of the hashes of a column over this rank's rows. Returns early if `stopped`.
std::uint64_t sum_of_column(const Workers& workers, const Frame& frame, int column,
                            const std::atomic<bool>& stopped) {
  const Variable& response = frame.variables[base::at(column)];
  std::vector<std::uint64_t> of_threads(base::at(workers.team.size()));
  for_each_run(workers, frame, [&](int thread, std::size_t begin, std::size_t end) {
    if (stopped) return;
    response.prepare_to_read(begin, end);
    std::uint64_t sum = 0;
    for_each_complete_run(frame, begin, end, [&](std::size_t first, std::size_t last) {
      std::uint64_t row = static_cast<std::uint64_t>(frame.rows.begin) + first;
      response.numbers.for_each_piece(first, last, [&](std::span<const double> numbers) {
        sum += TESSERA_AT_WIDTH(sum_of_mixed(numbers.data(), numbers.size(), row));
        row += numbers.size();
      });
    });
    of_threads[base::at(thread)] += sum;
  });
  return std::accumulate(of_threads.begin(), of_threads.end(), std::uint64_t{0});
}

std::uint64_t sum_of_rank(const Workers& workers, const Rows& rows, const std::atomic<bool>& stopped) {
  const std::uint64_t sum = sum_of_column(workers, *rows.frame, rows.response, stopped);
  if (rows.limit < 0) return sum;
  return sum + 3 * sum_of_column(workers, *rows.frame, rows.limit, stopped);
}

std::string fingerprint_of(const mpi::Communicator& comm, std::uint64_t of_rank) {
  return base::hex(comm.allreduce(of_rank, mpi::Reduction::sum));
}

}  // namespace

std::string response_fingerprint(const Workers& workers, const Rows& rows) {
  return fingerprint_of(workers.comm, sum_of_rank(workers, rows, false));
}

FingerprintBeside::FingerprintBeside(const Workers& workers, const Rows& rows) {
  const auto sum = [this, &comm = workers.comm, threads = workers.team.size(), rows = rows] {
    HostTeam team(threads);
    return sum_of_rank({comm, team}, rows, stopped_);
  };
  const base::SignalsBlocked blocked;
  try {
    of_rank_ = std::async(std::launch::async, sum);
  } catch (const std::system_error&) {
    of_rank_ = std::async(std::launch::deferred, sum);
  }
}

std::string FingerprintBeside::get(const mpi::Communicator& comm) {
  return fingerprint_of(comm, of_rank_.get());
}

}  // namespace TESSERA_NAMESPACE::gam
