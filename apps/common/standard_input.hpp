// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>

#include <string>
#include <string_view>

namespace tessera::apps {

/// A table that is piped into the program: `-` in place of its path. Ranks read a table in parts, and more
/// than once, so rank 0 stores it in a file that exists as long as this object.
class StandardInput {
 public:
  /// *Collective.* If `path` is `-`, stores the standard input in a file in `folder` (empty: the folder of
  /// scratch files), and sets `path` to it. Throws the same `Error` on every rank: `usage` if the input is a
  /// terminal, `input` if it cannot be stored, or if a rank on another node does not see the file.
  StandardInput(const mpi::Communicator& comm, std::string& path, std::string folder);
  ~StandardInput();
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

 private:
  [[nodiscard]] std::string stored(const mpi::Communicator& comm, const std::string& folder);
  void remove() noexcept;

  std::string own_folder_;  ///< folder of the file, on rank 0; empty: there is none
};

/// A message in which the file of the standard input, if there is or was one, is called "standard input".
[[nodiscard]] std::string with_input_named(std::string_view message);

}  // namespace tessera::apps
