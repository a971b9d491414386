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

/// The outcome of a tile, or of one lane's parts of it. Success: no failure, not cut short, nothing fatal.
struct TileOutcome {
  std::optional<Verdict::Failure> failure;
  bool cut_short = false;      ///< whether a stop was requested
  std::exception_ptr fatal{};  ///< an exception of the program, or of the host's tile; it excludes a fallback
  double seconds = 0;

  [[nodiscard]] bool is_success() const noexcept { return !failure && !cut_short && !fatal; }
  /// Combines the outcomes of two lanes into the tile's outcome.
  void add(TileOutcome&& other);
};

/// A tile of the running pass, whose parts the lanes of its device take in turn.
class SharedTile {
 public:
  SharedTile(const PlannedTile& planned, const TileCut& cut)
      : planned_(planned), cut_(cut), next_unit_(planned.units.begin) {}

  [[nodiscard]] const PlannedTile& planned() const noexcept { return planned_; }
  [[nodiscard]] const TileCut& cut() const noexcept { return cut_; }
  /// The next part; none once all are taken.
  [[nodiscard]] std::optional<Range> take_part() noexcept;
  /// Drops the parts that are not taken yet.
  void give_up() noexcept { next_unit_ = planned_.units.end; }

 private:
  const PlannedTile& planned_;
  TileCut cut_;
  std::atomic<std::int64_t> next_unit_;  ///< first unit of the next part
};

}  // namespace TESSERA_NAMESPACE
