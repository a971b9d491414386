// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/stop_request.hpp>
#include <tessera/mpi/communicator.hpp>

#include <string>
#include <string_view>

namespace tessera::apps {

/// A table piped into the program (path `-`). Rank 0 stores it in a file for the lifetime of this object,
/// because all ranks read parts of a table, more than once.
class StandardInput {
 public:
  /// *Collective.* If `path` is `-`, stores standard input in a file in `folder` (empty: the folder of
  /// scratch files) and sets `path` to the file's path. Throws the same `Error` on every rank: `usage` if
  /// standard input is a terminal, `input` if the file cannot be stored or if another node does not see the
  /// file, `interrupted` if `stop` requests a stop.
  StandardInput(const mpi::Communicator& comm, std::string& path, std::string folder,
                const StopRequest& stop);
  ~StandardInput();
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

 private:
  [[nodiscard]] std::string stored(const mpi::Communicator& comm, const std::string& folder,
                                   const StopRequest& stop);
  void remove() noexcept;

  std::string own_folder_;  ///< on rank 0: the file's folder; empty: none
};

/// The message, with the path of the stored standard input replaced by "standard input".
[[nodiscard]] std::string with_input_named(std::string_view message);

}  // namespace tessera::apps
