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

namespace tessera::inline TESSERA_ABI {

/// The files of one checkpoint, as seen by one start of a job, without MPI and format.
///
///     FILE                           the state
///     FILE.previous                  the one before
///     FILE.generation-N              a start has taken generation N: host, process, and a token of its own
///     FILE.generation-N.TOKEN.new    its next state, being written
///
/// Why an older start cannot replace the state of a newer one: A save creates its temporary file, then lists
/// the folder, and renames only if its generation is the newest. A start creates its generation file, then
/// lists the folder, and removes all temporary files before it reads. Of any two, the one that lists later
/// sees the file of the other: either the save finds the newer generation, or its temporary file is removed.
/// A rename that a network failure has delayed then either fails, as its file is gone, or took effect before
/// the newer start read.
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
  /// Removes the files of earlier generations.
  void forget_older() noexcept;

  /// Replaces the state by `bytes`; the old one becomes the previous state if `keep_previous`. Returns the
  /// problem in one line, or an empty string. Throws `Error(job_fault)` if a newer start has taken over.
  /// `save` is the number of the call, for fault points.
  [[nodiscard]] std::string write(std::string_view bytes, bool keep_previous, int save = 1);

  /// Removes all files, unless a newer start has taken over.
  void remove() noexcept;

  void set_faults(fault::Faults faults) { faults_ = std::move(faults); }

 private:
  struct Entry {
    std::int64_t generation = 0;
    bool temporary = false;
    std::string path;
  };
  /// The existing generation and temporary files. Throws `std::system_error`.
  [[nodiscard]] std::vector<Entry> entries() const;
  [[nodiscard]] std::string file_of(std::int64_t generation) const;
  void set_generation(std::int64_t generation);
  /// Why the generation of this start is not the newest; empty if it is.
  [[nodiscard]] std::string overrun() const;
  void write_temporary(std::string_view bytes, int save) const;
  void put_in_place(bool keep_previous, int save) const;
  /// Precedes every call that changes a file: a fault point may kill the process here.
  void step() const noexcept;
  void unlink(const std::string& path) const noexcept;

  std::string path_;
  std::string folder_;
  std::string token_;
  std::int64_t generation_ = 0;  // 0: none
  // Stored, so that the files can be removed without an allocation.
  std::string own_file_;   // of the generation
  std::string temporary_;  // the next state, being written
  fault::Faults faults_;
  mutable int steps_ = 0;
};

/// The content of a file, or empty if there is no such file. Throws `Error(input)` naming the file and the
/// reason.
[[nodiscard]] std::optional<std::string> read_if_there(const std::string& path);

}  // namespace tessera::inline TESSERA_ABI
