// SPDX-License-Identifier: Apache-2.0
// The positions of complete rows agree with a scan of all rows.
#include "gam/data/frame/complete_row_index.hpp"

#include "mpi/job/job_testing.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Marks of `rows` rows, this percentage of them complete, with long runs of complete rows and gaps.
std::vector<std::uint8_t> marks_of(std::size_t rows, unsigned percent, std::mt19937& random) {
  std::vector<std::uint8_t> marks;
  while (marks.size() < rows) marks.resize(marks.size() + random() % 3000, random() % 2);
  marks.resize(rows);
  for (std::uint8_t& mark : marks) mark = mark != 0 && random() % 100 < percent ? 1 : 0;
  return marks;
}

TEST(CompleteRowIndex, AreWhereAWalkFindsThem) {
  const auto comm = testing::world();
  HostTeam team(3);
  const Workers workers{comm, team};
  const std::uint32_t seed = 20 + static_cast<std::uint32_t>(comm.rank());
  std::mt19937 random(seed);
  for (const std::size_t rows : {0, 1, 7, 1023, 1024, 1025, 70'003}) {
    for (const unsigned percent : {0U, 30U, 97U, 100U}) {
      SCOPED_TRACE(::testing::Message() << rows << " rows, " << percent << " %, seed " << seed);
      Frame frame;
      frame.complete = marks_of(rows, percent, random);
      const CompleteRowIndex complete(workers, frame);
      const auto mine = std::accumulate(frame.complete.begin(), frame.complete.end(), std::int64_t{0});
      const std::vector<std::int64_t> counts = comm.allgather(mine);
      std::int64_t index = std::accumulate(counts.begin(), counts.begin() + comm.rank(), std::int64_t{0});
      EXPECT_EQ(complete.first(), index);
      EXPECT_EQ(complete.end(), index + mine);
      EXPECT_EQ(complete.row_of(index - 1), std::nullopt);
      EXPECT_EQ(complete.row_of(index + mine), std::nullopt);
      for (std::size_t row = 0; row < rows; ++row) {
        if (frame.complete[row] == 0) continue;
        ASSERT_EQ(complete.row_of(index), row);
        ASSERT_EQ(complete.index_of(row), index);
        ++index;
      }
    }
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
