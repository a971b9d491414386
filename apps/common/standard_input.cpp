// SPDX-License-Identifier: Apache-2.0
#include "common/standard_input.hpp"

#include "base/descriptor.hpp"
#include "common/text.hpp"

#include <tessera/job/together.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "files/scratch_memory.hpp"

namespace tessera::apps {
namespace {

[[noreturn]] void fail(const std::string& folder) {
  throw input_error("{}: standard input cannot be stored in this folder: {}: name another folder in $TMPDIR",
                    folder, std::strerror(errno));
}

void store(const std::string& path, const std::string& folder, const StopRequest& stop) {
  const base::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.is_open()) fail(folder);
  std::vector<char> buffer(std::size_t{1} << 20);
  for (pollfd input{STDIN_FILENO, POLLIN, 0};;) {
    if (stop.requested())
      throw Error(ErrorCode::interrupted, "the job was stopped while reading standard input");
    constexpr int milliseconds = 50;  // poll: a blocking read would continue after a signal
    if (::poll(&input, 1, milliseconds) <= 0) continue;
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got == 0) return;
    if (got < 0 && errno != EINTR)
      throw input_error("standard input cannot be read: {}", std::strerror(errno));
    if (got > 0 && !file.write({buffer.data(), static_cast<std::size_t>(got)})) fail(folder);
  }
}

/// The path of the stored file. Static, because messages may name the path after the file is removed.
std::string& stored_path() {
  static std::string path;
  return path;
}

}  // namespace

std::string with_input_named(std::string_view message) {
  std::string text(message);
  const std::string& path = stored_path();
  for (std::size_t place = 0; !path.empty() && (place = text.find(path, place)) != std::string::npos;)
    text.replace(place, path.size(), "standard input");
  return text;
}

StandardInput::StandardInput(const mpi::Communicator& comm, std::string& path, std::string folder,
                             const StopRequest& stop) {
  if (path != "-") return;
  const mpi::Purpose purpose(comm, "the reading of standard input");
  if (folder.empty()) folder = files::default_scratch_folder();
  try {
    path = stored_path() = stored(comm, folder, stop);
  } catch (...) {
    remove();
    throw;
  }
}

std::string StandardInput::stored(const mpi::Communicator& comm, const std::string& folder,
                                  const StopRequest& stop) {
  std::string path;
  together(comm, [&] {
    if (comm.rank() != 0) return;
    if (::isatty(STDIN_FILENO) != 0)
      throw usage_error("standard input is a terminal: pipe a table into it, or name a file");
    std::string pattern = folder + "/tessera-input-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) fail(folder);
    own_folder_ = pattern;
    path = pattern + "/standard-input";
    store(path, folder, stop);
  });
  path = comm.broadcast_text(path, 0);
  together(comm, [&] {
    if (::access(path.c_str(), R_OK) != 0)
      throw input_error(
          "{}: rank {} cannot find the copy of standard input that rank 0 stored in this folder: name a "
          "folder that all nodes share in --scratch or $TMPDIR",
          folder, comm.rank());
  });
  return path;
}

void StandardInput::remove() noexcept {
  std::error_code stays;
  if (!own_folder_.empty()) std::filesystem::remove_all(own_folder_, stays);
}

StandardInput::~StandardInput() {
  remove();
}

}  // namespace tessera::apps
