// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/response_fingerprint.hpp"

#include "base/at.hpp"
#include "base/hash.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

std::string response_fingerprint(const Workers& workers, const Rows& rows) {
  const Frame& frame = *rows.frame;
  const Variable& response = frame.variables[base::at(rows.response)];
  std::vector<std::uint64_t> of_threads(base::at(workers.team.size()));
  for_each_run(workers, frame, [&](int thread, std::size_t begin, std::size_t end) {
    response.prepare_to_read(begin, end);
    std::uint64_t sum = 0;
    for_each_complete_run(frame, begin, end, [&](std::size_t first, std::size_t last) {
      std::uint64_t row = static_cast<std::uint64_t>(frame.rows.begin) + first;
      response.numbers.for_each_piece(first, last, [&](std::span<const double> numbers) {
        // Zeros are equal whatever their sign.
        for (const double number : numbers)
          sum += base::split_mix(base::split_mix(row++) ^ std::bit_cast<std::uint64_t>(number + 0.0));
      });
    });
    of_threads[base::at(thread)] += sum;
  });
  const std::uint64_t own = std::accumulate(of_threads.begin(), of_threads.end(), std::uint64_t{0});
  return base::hex(workers.comm.allreduce(own, mpi::Reduction::sum));
}

}  // namespace TESSERA_NAMESPACE::gam
