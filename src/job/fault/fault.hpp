// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

/// Fault injection for test builds:
///
///     TESSERA_FAULT="bind@rank1.device0, throw@rank*:pass2"
///
/// Entries have the form `stage@rankR[.deviceD][:passN]`. R may be `*`; an entry without a device or pass
/// applies to all devices or passes. D is an index among the rank's claimed devices (for probe, its visible
/// devices); passes of a job are numbered from 1. A build without TESSERA_ENABLE_FAULTS ignores the variable.
namespace tessera::fault {

enum class Stage {
  probe,      ///< the rank cannot enumerate its devices
  claim,      ///< a claimed device is inaccessible
  score,      ///< the timed run of a device fails (`ScoreModel::measured`)
  bind,       ///< a tile's thread cannot be bound
  allocate,   ///< a tile's memory cannot be allocated
  throwing,   ///< "throw": the tile function throws after it has written
  lost,       ///< a tile fails, and arrays cannot be copied from its device
  failing,    ///< "fail": the tile function calls `Tile::fail` after it has written
  nccl,       ///< the rank cannot open NCCL
  wrong,      ///< an exercise gets a wrong result
  slow,       ///< an exercise takes four times as long
  vote_late,  ///< "vote-late": the rank votes late; `device` is ignored
  stop,       ///< the rank is stopped by SIGSTOP at the start of the pass
  signal,     ///< the rank sends itself SIGUSR1 at the start of the pass
  kill,       ///< the rank is killed by SIGKILL at the start of the pass
  // Below, `pass` is the number of the checkpoint's save, from 1.
  checkpoint_write,  ///< "checkpoint-write": the writer is killed with half of the state written
  checkpoint_swap,   ///< "checkpoint-swap": the writer is killed with both the new and the old state
  checkpoint_full,   ///< "checkpoint-full": the disk is full
  // Below, `pass` is the number of the system call that changes a file of the checkpoint, from 1.
  checkpoint_step,  ///< "checkpoint-step": the writer is killed before call number `pass`
};

[[nodiscard]] std::string_view to_string(Stage stage);

struct Point {
  Stage stage{};
  std::optional<int> rank;    ///< empty: every rank
  std::optional<int> device;  ///< empty: every device
  std::optional<int> pass;    ///< empty: every pass

  friend bool operator==(const Point&, const Point&) = default;
};

/// Throws `Error(usage)` that quotes the invalid entry.
[[nodiscard]] std::vector<Point> parse(std::string_view text);

class Injected : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Faults {
 public:
  Faults() = default;
  Faults(std::vector<Point> points, int rank);

  /// Reads TESSERA_FAULT. Throws like `parse`.
  [[nodiscard]] static Faults from_environment(int rank);

  /// `device` is empty for stages without a device.
  [[nodiscard]] bool hit(Stage stage, std::optional<int> device, int pass) const noexcept;

  /// Throws `Injected` with the stage's name if `hit`.
  void throw_if_hit(Stage stage, int device, int pass) const;

 private:
  std::vector<Point> points_;
};

}  // namespace tessera::fault
