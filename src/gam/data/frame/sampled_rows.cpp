// SPDX-License-Identifier: Apache-2.0
#include "gam/data/frame/sampled_rows.hpp"

#include "base/at.hpp"
#include "base/hash.hpp"
#include "gam/data/frame/complete_row_index.hpp"

#include <algorithm>

namespace TESSERA_NAMESPACE::gam {

using base::at;

std::vector<std::int64_t> sampled_rows(std::int64_t rows, std::int64_t most, std::uint64_t seed) {
  const std::int64_t count = std::min(rows, most);
  std::vector<std::int64_t> sample;
  sample.reserve(at(count));
  // floor(part * rows / count), without a product that could overflow.
  const auto begin = [&](std::int64_t part) { return part * (rows / count) + part * (rows % count) / count; };
  for (std::int64_t part = 0; part < count; ++part) {
    const auto size = static_cast<std::uint64_t>(begin(part + 1) - begin(part));
    sample.push_back(begin(part) + static_cast<std::int64_t>(
                                       base::split_mix(static_cast<std::uint64_t>(part) ^ seed) % size));
  }
  return sample;
}

std::vector<std::int64_t> local_sample(const Workers& workers, const Frame& frame, std::int64_t most,
                                       std::uint64_t seed) {
  const CompleteRowIndex complete(workers, frame);
  const std::vector<std::int64_t> sample = sampled_rows(frame.complete_rows, most, seed);
  std::vector<std::int64_t> rows;
  for (auto next = std::ranges::lower_bound(sample, complete.first());
       next != sample.end() && *next < complete.end(); ++next)
    rows.push_back(static_cast<std::int64_t>(*complete.row_of(*next)));
  return rows;
}

}  // namespace TESSERA_NAMESPACE::gam
