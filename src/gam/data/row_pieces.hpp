// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/together.hpp>
#include <tessera/mpi/communicator.hpp>
#include <tessera/partition/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Number of rows of each rank within `rows`.
[[nodiscard]] inline std::vector<std::size_t> rows_of_ranks(const Plan& plan, Range rows) {
  std::vector<std::size_t> counts;
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    const Range range = plan.range_of(rank);
    const std::int64_t begin = std::max(rows.begin, range.begin);
    counts.push_back(
        static_cast<std::size_t>(std::max<std::int64_t>(0, std::min(rows.end, range.end) - begin)));
  }
  return counts;
}

/// *Collective.* Calls `write(bytes)` on rank 0 with the results of `make(rows)` of all ranks, in row order.
/// Each rank makes its own rows in pieces; `rows` count from the first row of the rank. Exceptions of `make`
/// and `write` are thrown on every rank. Memory: a few pieces, for any number of rows.
template <class Make, class Write>
void write_in_row_order(const mpi::Communicator& comm, const Plan& plan, std::int64_t rows_of_piece,
                        const Make& make, const Write& write) {
  for (int rank = 0; rank < comm.size(); ++rank) {
    const std::int64_t rows = plan.range_of(rank).size();
    for (std::int64_t begin = 0; begin < rows; begin += rows_of_piece) {
      std::string bytes;
      together(comm, [&] {
        if (rank == comm.rank()) bytes = make(Range{begin, std::min(rows, begin + rows_of_piece)});
      });
      std::vector<std::size_t> counts(static_cast<std::size_t>(comm.size()), 0);
      counts[0] = bytes.size();
      const auto arrived = comm.alltoallv(std::span<const char>(bytes), counts);
      together(comm, [&] {
        if (comm.rank() == 0) write(std::string_view(arrived.data(), arrived.size()));
      });
    }
  }
}

}  // namespace TESSERA_NAMESPACE::gam
