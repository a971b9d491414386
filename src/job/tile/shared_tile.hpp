// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/tile/tile_cut.hpp"

#include <tessera/job/verdict.hpp>
#include <tessera/partition/plan.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>

namespace TESSERA_NAMESPACE {

/// The outcome of a tile or of one lane's parts.
struct TileOutcome {
  std::optional<Verdict::Failure> failure;
  bool cut_short = false;      ///< whether a stop request interrupted the work
  std::exception_ptr fatal{};  ///< a usage error or an exception of the host's tile: no fallback
  double seconds = 0;

  [[nodiscard]] bool is_success() const noexcept { return !failure && !cut_short && !fatal; }
  /// Merges the outcome of another lane.
  void add(TileOutcome&& other);
};

/// A tile of the running pass. The lanes of its device take parts concurrently.
class SharedTile {
 public:
  SharedTile(const PlannedTile& planned, const TileCut& cut)
      : planned_(planned), cut_(cut), next_unit_(planned.units.begin) {}

  [[nodiscard]] const PlannedTile& planned() const noexcept { return planned_; }
  [[nodiscard]] const TileCut& cut() const noexcept { return cut_; }
  /// The next part; empty if all are taken.
  [[nodiscard]] std::optional<Range> take_part() noexcept;
  void give_up() noexcept { next_unit_ = planned_.units.end; }

 private:
  const PlannedTile& planned_;
  TileCut cut_;
  std::atomic<std::int64_t> next_unit_;  ///< first unit of the next part
};

}  // namespace TESSERA_NAMESPACE
