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

/// The files of one checkpoint as one start of a job has them: no MPI, no format, only files.
///
///     FILE                           the state
///     FILE.previous                  the one before
///     FILE.generation-N              a start has taken generation N: host, process, and a token of its own
///     FILE.generation-N.TOKEN.new    its next state, being written
///
/// Why an older start cannot overrun a newer one. A save creates its temporary file, then lists the folder,
/// and renames only if its generation is the newest. A start creates its generation, then lists the folder,
/// and removes every temporary file that it sees, before it reads. Of any two, the one that lists later sees
/// what the other has created: either the save finds that it is old, or its temporary file is removed. A
/// rename that is under way for as long as a network is away then finds nothing to rename, or was done before
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

  /// Takes the next generation, at least `at_least`, and removes what older starts have under way. Throws
  /// `Error(input)` if the folder cannot be listed or written.
  void take_generation(std::int64_t at_least);
  /// Removes the generations before this one.
  void forget_older() noexcept;

  /// Makes `bytes` the state; the one that was there becomes the previous one if `keep_previous`. Returns the
  /// problem, in one line, or nothing. Throws `Error(job_fault)` if a newer start has taken over. `save`
  /// counts them, for fault points.
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
  /// The generations and temporary files that are there. Throws `std::system_error`.
  [[nodiscard]] std::vector<Entry> entries() const;
  [[nodiscard]] std::string file_of(std::int64_t generation) const;
  void set_generation(std::int64_t generation);
  /// What is wrong with the generation of this start; empty if it is the newest.
  [[nodiscard]] std::string overrun() const;
  void write_temporary(std::string_view bytes, int save) const;
  void put_in_place(bool keep_previous, int save) const;
  /// Comes before every call that changes a file: one may be where this process dies.
  void step() const noexcept;
  void unlink(const std::string& path) const noexcept;

  std::string path_;
  std::string folder_;
  std::string token_;
  std::int64_t generation_ = 0;  // 0: none is taken
  // Kept, so that they can be removed where there is no memory to make a name.
  std::string own_file_;   // of the generation
  std::string temporary_;  // its next state, being written
  fault::Faults faults_;
  mutable int steps_ = 0;
};

/// The whole of a file, or nothing if there is none. Throws `Error(input)` naming it and the reason.
[[nodiscard]] std::optional<std::string> read_if_there(const std::string& path);

}  // namespace tessera::inline TESSERA_ABI
