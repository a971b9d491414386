// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/workers.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Maps the complete rows of a frame to their indices among the complete rows of the job, and back (rank and
/// select). Immutable, hence thread-safe. Memory: 8 bytes per 1,024 rows.
class CompleteRowIndex {
 public:
  /// *Collective.* Counts the complete rows on the threads of the team. The frame must outlive this object.
  CompleteRowIndex(const Workers& workers, const Frame& frame);

  /// Number of complete rows on lower ranks, which is the index of this rank's first complete row.
  [[nodiscard]] std::int64_t first() const noexcept { return before_.front(); }
  [[nodiscard]] std::int64_t end() const noexcept { return before_.back(); }
  [[nodiscard]] std::int64_t index_of(std::size_t row) const;
  /// The local row with this index; nothing if the row is on another rank. Cost: up to 0.1 us.
  [[nodiscard]] std::optional<std::size_t> row_of(std::int64_t index) const;

 private:
  [[nodiscard]] std::span<const std::uint8_t> marks_of(std::size_t stretch) const;

  const Frame& frame_;
  std::vector<std::int64_t> before_;  ///< complete rows of the job before each 1,024 rows, and before `end()`
};

}  // namespace TESSERA_NAMESPACE::gam
