// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include "job/fault/fault.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE {

/// The files of one checkpoint, as seen by one start of a job; knows neither MPI nor the format of a state.
///
///     FILE                           the state
///     FILE.previous                  the state before that
///     FILE.generation-N              made by the start that took generation N: its host, process and token
///     FILE.generation-N.TOKEN.new    the next state of this start, being written
///
/// Why an older start cannot replace the state of a newer one: A save creates its temporary file, then lists
/// the folder, and renames only if its generation is the newest. A start creates its generation file, then
/// lists the folder, and removes all temporary files before it reads. Whichever of a save and a start lists
/// later sees the file of the other: either the save finds the newer generation, or its temporary file is
/// removed. A rename that a network failure has delayed then either fails, as its file is gone, or took
/// effect before the newer start read.
///
/// Only FILE is this checkpoint's by its name. A file under another of these names is replaced or removed
/// only if it is known to have been written by a checkpoint:
///
///     FILE.previous, ….new    a state: the first line of a checkpoint. A writer that was killed before its
///                             first byte leaves an empty file, which is known by the digits of TOKEN.
///     FILE.generation-N       the text that a start leaves there. It is the target of a symbolic link,
///                             which is created with its text or not at all, on network file systems too.
///
/// All other files with such a name are left alone. Their numbers count as taken.
class CheckpointFiles {
 public:
  explicit CheckpointFiles(std::string path);
  ~CheckpointFiles();
  CheckpointFiles(const CheckpointFiles&) = delete;
  CheckpointFiles& operator=(const CheckpointFiles&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string previous_path() const { return path_ + ".previous"; }
  [[nodiscard]] std::int64_t generation() const noexcept { return generation_; }

  /// Takes the next generation, at least `at_least`, and removes the temporary files of older starts. Throws
  /// `Error(input)` if the folder cannot be listed or written.
  void take_generation(std::int64_t at_least);
  void remove_older_generations() noexcept;
  /// Files with names of this checkpoint that no checkpoint is known to have written. Throws `Error(input)`
  /// if the folder cannot be listed.
  [[nodiscard]] std::vector<std::string> strangers() const;

  /// Replaces the state by `bytes`; the old one becomes the previous state if `keep_previous`, unless that
  /// would replace another's file. Returns the problem in one line, or an empty string. Throws
  /// `Error(job_fault)` if a newer start has taken over. `save` is the number of the call, for fault points.
  [[nodiscard]] std::string write(std::string_view bytes, bool keep_previous, int save = 1);
  /// Whether the state of the last `write` is in FILE: also if it may not survive a power failure.
  [[nodiscard]] bool is_written() const noexcept { return written_; }

  /// Removes all files of this start and of earlier ones, unless a newer start has taken over.
  void remove() noexcept;

  void set_faults(fault::Faults faults) { faults_ = std::move(faults); }

 private:
  struct Entry {
    std::int64_t generation = 0;
    std::string token;  ///< token in the name of a temporary file; else empty
    std::string path;

    [[nodiscard]] bool temporary() const noexcept { return !token.empty(); }
  };
  /// All files with the name of a generation or temporary file. Throws `std::system_error`.
  [[nodiscard]] std::vector<Entry> entries() const;
  /// Whether the file is known to have been written by a checkpoint. Throws `std::system_error`.
  [[nodiscard]] static bool is_own(const Entry& entry);
  /// Removes the files that a checkpoint is known to have written, up to a generation. Throws
  /// `std::system_error`.
  void remove_own(std::int64_t last, bool temporary) const;
  /// Whether there is no FILE.previous, or a checkpoint has written it. Throws `std::system_error`.
  [[nodiscard]] bool may_replace_previous() const;
  [[nodiscard]] std::string file_of(std::int64_t generation) const;
  void set_generation(std::int64_t generation);
  /// Why this start's generation is no longer the newest; empty if it is.
  [[nodiscard]] std::string overrun() const;
  /// Creates the file of this generation; false if a file of that name exists.
  [[nodiscard]] bool create_own_file() const;
  void write_temporary(std::string_view bytes, int save) const;
  void put_in_place(bool keep_previous, int save);
  /// Called before every change of a file: a fault point may kill the process here.
  void step() const noexcept;
  void unlink(const std::string& path) const noexcept;
  /// Whether this process is a forked child: the files belong to its parent, and this copy leaves them alone.
  [[nodiscard]] bool is_in_forked_child() const noexcept;

  std::string path_;
  std::string folder_;
  std::string token_;
  int forks_;
  std::int64_t generation_ = 0;  // 0: none
  // Stored, so that the files can be removed without an allocation.
  std::string own_file_;   // path of the generation's file
  std::string temporary_;  // path of the next state, while it is written
  bool written_ = false;
  fault::Faults faults_;
  mutable int steps_ = 0;
};

/// The content of a file, or empty if there is no such file. Throws `Error(input)` naming the file and the
/// reason.
[[nodiscard]] std::optional<std::string> read_if_there(const std::string& path);

}  // namespace TESSERA_NAMESPACE
