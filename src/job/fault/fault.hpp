// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

/// Faults on purpose, to prove in test builds what a job does about them:
///
///     TESSERA_FAULT="bind@rank1.device0, throw@rank*:pass2"
///
/// Each entry, separated by `,`, is `stage@rankR[.deviceD][:passN]`. R may be `*`, every rank; without
/// a device every device is meant, without a pass every pass. Devices count the rank's claimed ones (for
/// probe, those that it sees), passes of a job count from 1. A build without TESSERA_ENABLE_FAULTS
/// reads nothing and has no fault.
namespace tessera::fault {

enum class Stage {
  probe,      ///< the rank cannot look for its devices
  claim,      ///< a claimed device cannot be reached
  score,      ///< the timed run of a device fails (`ScoreModel::measured`)
  bind,       ///< a tile's thread cannot be bound
  allocate,   ///< a tile's memory cannot be had
  throwing,   ///< "throw": the tile function throws, after it has written
  failing,    ///< "fail": the tile function calls `Tile::fail`, after it has written
  nccl,       ///< the rank cannot open NCCL
  vote_late,  ///< "vote-late": the rank comes late to the vote; `device` does not matter
  stop,       ///< the rank stops (SIGSTOP) as the pass begins, and stays so
  signal,     ///< the rank sends itself SIGUSR1 as the pass begins
  kill,       ///< the rank dies of SIGKILL as the pass begins
  // `pass` counts the saves of a checkpoint here, from 1.
  checkpoint_write,  ///< "checkpoint-write": the writer dies with half of the state written
  checkpoint_swap,   ///< "checkpoint-swap": it dies with the new state beside the old one
  checkpoint_full,   ///< "checkpoint-full": the disk is full
  // It counts the calls that change a file of the checkpoint here.
  checkpoint_step,  ///< "checkpoint-step": the writer dies before that call
};

[[nodiscard]] std::string_view to_string(Stage stage);

struct Point {
  Stage stage{};
  std::optional<int> rank;    ///< empty: every rank
  std::optional<int> device;  ///< empty: every device
  std::optional<int> pass;    ///< empty: every pass

  friend bool operator==(const Point&, const Point&) = default;
};

/// Throws `Error(usage)` that quotes the entry it cannot read.
[[nodiscard]] std::vector<Point> parse(std::string_view text);

class Injected : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The fault points of one rank.
class Faults {
 public:
  Faults() = default;
  Faults(std::vector<Point> points, int rank);

  /// Those of TESSERA_FAULT. Throws as `parse` does.
  [[nodiscard]] static Faults from_environment(int rank);

  /// `device` is empty where the stage has none.
  [[nodiscard]] bool hit(Stage stage, std::optional<int> device, int pass) const noexcept;

  /// Throws `Injected` naming the stage if the point is hit.
  void throw_if_hit(Stage stage, int device, int pass) const;

 private:
  std::vector<Point> points_;
};

}  // namespace tessera::fault
