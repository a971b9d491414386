// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/error.hpp>
#include <tessera/partition/plan.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <string>

namespace TESSERA_NAMESPACE::detail {

/// Divides `units` into blocks of `block` units; the last block may be shorter.
class Blocks {
 public:
  Blocks(std::int64_t units, std::int64_t block) : units_(units), block_(block) {
    if (units < 0)
      throw Error(ErrorCode::usage, "cannot plan " + std::to_string(units) + " units: give 0 or more");
    if (block < 1)
      throw Error(ErrorCode::usage,
                  "a block cannot have " + std::to_string(block) + " units: give 1 or more");
    count_ = units / block + (units % block != 0 ? 1 : 0);
  }

  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  [[nodiscard]] Range units_of(Range blocks) const noexcept {
    return {first_unit(blocks.begin), first_unit(blocks.end)};
  }

 private:
  /// First unit of the block, or the end of all units. The product is at most `units`: no overflow.
  [[nodiscard]] std::int64_t first_unit(std::int64_t block) const noexcept {
    return block == count_ ? units_ : block * block_;
  }

  std::int64_t units_;
  std::int64_t block_;
  std::int64_t count_ = 0;
};

}  // namespace TESSERA_NAMESPACE::detail
