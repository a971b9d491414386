// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mpi/job/job_testing.hpp"
#include "unit/job/tree_reference.hpp"

/// A reduction whose result shows the tree in which blocks were combined.
namespace tessera::testing {

/// A value for each block, from which every rank can compute the result.
inline std::uint64_t shape_of_block(Range block) {
  std::uint64_t shape = 11;
  for (std::int64_t unit = block.begin; unit < block.end; ++unit)
    shape = shape * 31 + static_cast<std::uint64_t>(unit);
  return shape;
}

inline std::uint64_t expected_shape(std::int64_t units, std::int64_t block) {
  std::vector<std::uint64_t> values;
  for (std::int64_t begin = 0; begin < units; begin += block)
    values.push_back(shape_of_block({begin, std::min(units, begin + block)}));
  return combined_in_tree<Shape>(values);
}

inline constexpr auto no_device = no_real_device;

inline std::uint64_t shape_of(Job& job, const Plan& plan, std::int64_t bytes_per_unit = 0) {
  return job.reduce(
      plan, Shape{}, no_device,
      [&](const HostTile& tile, std::uint64_t& value) {
        EXPECT_EQ(tile.range.begin % plan.block(), 0);
        EXPECT_LE(tile.range.size(), plan.block());
        EXPECT_EQ(value, Shape::identity());
        value = shape_of_block(tile.range);
      },
      bytes_per_unit);
}

}  // namespace tessera::testing
