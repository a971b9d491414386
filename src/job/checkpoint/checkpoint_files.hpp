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

/// The files of one checkpoint, used by one start of a job. Independent of MPI and of the format of a state.
///
///     FILE                           the state
///     FILE.previous                  the previous state
///     FILE.generation-N              host, process and token of the start that took generation N
///     FILE.generation-N.TOKEN.new    the next state of this start, being written
///
/// An older start cannot replace the state of a newer one. A save creates its temporary file, lists the
/// folder, and renames only if its generation is the newest. A start creates its generation file, lists the
/// folder, and removes all temporary files before it reads. If a save and a start run concurrently, the later
/// listing shows the file of the other: the save finds the newer generation, or the start removes the
/// temporary file. A rename that the network delays then fails, because its file is gone, or takes effect
/// before the newer start reads.
///
/// FILE belongs to this checkpoint by its name. Files with the other names are replaced or removed only if a
/// checkpoint has verifiably written them:
///
///     FILE.previous, ….new    a state: the first line of a checkpoint. A writer that was killed before its
///                             first byte leaves an empty file, which the digits of TOKEN identify.
///     FILE.generation-N       the text that a start leaves there. It is the target of a symbolic link,
///                             which is created with its text or not at all, on network file systems too.
///
/// Other files with such a name stay. Their generations count as taken.
class CheckpointFiles {
 public:
  explicit CheckpointFiles(std::string path);
  ~CheckpointFiles();
  CheckpointFiles(const CheckpointFiles&) = delete;
  CheckpointFiles& operator=(const CheckpointFiles&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string previous_path() const { return path_ + ".previous"; }
  [[nodiscard]] std::int64_t generation() const noexcept { return generation_; }

  /// Takes the next generation, at least `at_least`, and removes temporary files of other starts. Throws
  /// `Error(input)` if the folder cannot be listed or written.
  void take_generation(std::int64_t at_least);
  void remove_older_generations() noexcept;
  /// Files with names of this checkpoint that no checkpoint has verifiably written. Throws `Error(input)` if
  /// the folder cannot be listed.
  [[nodiscard]] std::vector<std::string> strangers() const;

  /// Replaces the state by `bytes`. With `keep_previous`, the old state becomes FILE.previous, unless that is
  /// a foreign file. Returns the problem in one line, or an empty string. Throws `Error(job_fault)` if a
  /// newer start has taken over. `save` is the number of the call, for fault points.
  [[nodiscard]] std::string write(std::string_view bytes, bool keep_previous, int save = 1);
  /// Whether FILE has the state of the last `write`, even if it may not survive a power failure.
  [[nodiscard]] bool is_written() const noexcept { return written_; }

  /// Removes all files of this and earlier starts, unless a newer start has taken over.
  void remove() noexcept;

  void set_faults(fault::Faults faults) { faults_ = std::move(faults); }

 private:
  struct Entry {
    std::int64_t generation = 0;
    std::string token;  ///< of a temporary file; else empty
    std::string path;

    [[nodiscard]] bool temporary() const noexcept { return !token.empty(); }
  };
  /// All files with names of generation or temporary files. Throws `std::system_error`.
  [[nodiscard]] std::vector<Entry> entries() const;
  /// Whether a checkpoint has verifiably written the file. Throws `std::system_error`.
  [[nodiscard]] static bool is_own(const Entry& entry);
  /// Removes files that a checkpoint has written, up to generation `last`. Throws `std::system_error`.
  void remove_own(std::int64_t last, bool temporary) const;
  /// Whether FILE.previous is absent or written by a checkpoint. Throws `std::system_error`.
  [[nodiscard]] bool may_replace_previous() const;
  [[nodiscard]] std::string file_of(std::int64_t generation) const;
  void set_generation(std::int64_t generation);
  /// Why this generation is no longer the newest; empty if it is still the newest.
  [[nodiscard]] std::string overrun() const;
  /// Creates the generation file. False if a file of this name exists.
  [[nodiscard]] bool create_own_file() const;
  void write_temporary(std::string_view bytes, int save) const;
  void put_in_place(bool keep_previous, int save);
  /// Fault point before every change of a file.
  void step() const noexcept;
  void unlink(const std::string& path) const noexcept;
  /// In a forked child the files belong to the parent, and must not be removed.
  [[nodiscard]] bool is_in_forked_child() const noexcept;

  std::string path_;
  std::string folder_;
  std::string token_;
  int forks_;
  std::int64_t generation_ = 0;  // 0: none
  // Stored, so that removal needs no allocation.
  std::string own_file_;   // generation file
  std::string temporary_;  // temporary file of the next state
  bool written_ = false;
  fault::Faults faults_;
  mutable int steps_ = 0;
};

/// Empty if the file does not exist. Throws `Error(input)` if it cannot be read.
[[nodiscard]] std::optional<std::string> read_if_there(const std::string& path);

}  // namespace TESSERA_NAMESPACE
