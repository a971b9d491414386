// SPDX-License-Identifier: Apache-2.0
#include "job/checkpoint/checkpoint_files.hpp"

#include "base/descriptor.hpp"
#include "base/number.hpp"
#include "job/checkpoint/checkpoint_format.hpp"
#include "mpi/fork.hpp"
#include "topology/linux/host_identity.hpp"

#include <tessera/error.hpp>
#include <tessera/topology/host_limits.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>
#include <random>
#include <system_error>
#include <utility>

namespace tessera::inline TESSERA_ABI {
namespace {

/// An attempt fails only if another start of the job has taken the generation.
constexpr int max_tries = 1000;

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw std::system_error(errno, std::generic_category(), path + ": " + what);
}

base::Descriptor opened(const std::string& path, int flags) {
  return base::Descriptor(::open(path.c_str(), flags | O_CLOEXEC, 0666));
}

std::string host_and_process() {
  return detail::this_hostname() + ", process " + std::to_string(::getpid());
}

std::string new_token() {
  std::random_device random;
  std::string token;
  for (int i = 0; i < 16; ++i) token += "0123456789abcdef"[random() % 16];
  return token;
}

}  // namespace

std::optional<std::string> read_if_there(const std::string& path) {
  // Opening a pipe would block until there is a writer.
  const base::Descriptor file = opened(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  const auto refuse = [&] {
    throw Error(ErrorCode::input, path + ": cannot be read: " + std::generic_category().message(errno));
  };
  if (!file.is_open()) {
    if (errno == ENOENT) return std::nullopt;
    refuse();
  }
  const auto status = file.status();
  if (!status || !S_ISREG(status->st_mode))
    throw Error(ErrorCode::input, path + ": cannot be read: it is no regular file");
  // A sparse file may have any size.
  const HostLimits limits = host_limits();
  const MemoryLimit* const tightest = limits.tightest_memory();
  if (tightest != nullptr && status->st_size > tightest->free_bytes)
    throw Error(ErrorCode::input, path + ": cannot be read: it has " + std::to_string(status->st_size) +
                                      " bytes, more than there is memory for");
  auto text = file.read_text();
  if (!text) refuse();
  return text;
}

CheckpointFiles::CheckpointFiles(std::string path)
    : path_(std::move(path)),
      folder_(std::filesystem::path(path_).parent_path().string()),
      token_(new_token()) {
  if (folder_.empty()) folder_ = ".";
}

CheckpointFiles::~CheckpointFiles() {
  if (generation_ == 0 || mpi::detail::is_forked_child()) return;
  unlink(temporary_);
  // After `remove`, a later start may have taken the same number: its file has another token.
  try {
    const auto held = read_if_there(own_file_);
    if (held && held->find(token_) != std::string::npos) unlink(own_file_);
  } catch (...) {
    // The file stays: the next start takes a later generation.
  }
}

void CheckpointFiles::step() const noexcept {
  if (faults_.hit(fault::Stage::checkpoint_step, std::nullopt, ++steps_)) (void)std::raise(SIGKILL);
}
void CheckpointFiles::unlink(const std::string& path) const noexcept {
  step();
  ::unlink(path.c_str());
}

std::string CheckpointFiles::file_of(std::int64_t generation) const {
  return path_ + ".generation-" + std::to_string(generation);
}
void CheckpointFiles::set_generation(std::int64_t generation) {
  std::string own_file = file_of(generation);
  temporary_ = own_file + '.' + token_ + ".new";
  own_file_ = std::move(own_file);
  generation_ = generation;
}

std::vector<CheckpointFiles::Entry> CheckpointFiles::entries() const {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(folder_.c_str()), &::closedir);
  if (!folder) fail(folder_, "cannot be listed");
  const std::string prefix = std::filesystem::path(path_).filename().string() + ".generation-";
  std::vector<Entry> found;
  for (errno = 0; const dirent* one = ::readdir(folder.get()); errno = 0) {
    const std::string_view name = one->d_name;
    if (!name.starts_with(prefix)) continue;
    std::string_view behind = name.substr(prefix.size());
    const auto generation = base::take_number<std::int64_t>(behind);
    if (!generation || !(behind.empty() || behind.front() == '.')) continue;
    // No start takes such a number: the file is not one of this checkpoint.
    if (*generation < 1 || *generation > last_generation) continue;
    found.push_back({*generation, !behind.empty(), folder_ + '/' + std::string(name)});
  }
  if (errno != 0) fail(folder_, "cannot be listed");
  return found;
}

void CheckpointFiles::take_generation(std::int64_t at_least) {
  try {
    const auto newest_of = [](const std::vector<Entry>& all) {
      std::int64_t newest = 0;
      for (const Entry& entry : all) {
        if (!entry.temporary) newest = std::max(newest, entry.generation);
      }
      return newest;
    };
    for (int tries = 0; tries < max_tries; ++tries) {
      const std::int64_t next = std::max(newest_of(entries()) + 1, at_least);
      if (next > last_generation)
        throw Error(ErrorCode::input, file_of(last_generation) +
                                          ": there is no later generation: if no job uses it, remove it");
      set_generation(next);
      const std::string& path = own_file_;
      step();
      base::Descriptor file = opened(path, O_WRONLY | O_CREAT | O_EXCL);
      if (!file.is_open() && errno == EEXIST) continue;  // another start has taken it
      const std::string text = host_and_process() + '\n' + token_ + '\n';
      step();
      if (!file.is_open()) fail(path, "cannot be written");
      if (!file.write(text) || !file.flush() || !file.close()) {
        const int reason = errno;
        unlink(path);
        errno = reason;
        fail(path, "cannot be written");
      }
      const std::vector<Entry> all = entries();
      if (newest_of(all) > generation_) {
        unlink(path);
        continue;
      }
      for (const Entry& entry : all) {
        if (entry.temporary) unlink(entry.path);
      }
      return;
    }
    generation_ = 0;
    throw Error(ErrorCode::input, path_ + ": other starts of the job take each generation first: end them");
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::input, error.what());
  }
}

void CheckpointFiles::forget_older() noexcept {
  try {
    for (const Entry& entry : entries()) {
      if (entry.generation < generation_) unlink(entry.path);
    }
  } catch (const std::exception&) {
    // Files of older generations are harmless.
  }
}

std::string CheckpointFiles::overrun() const {
  for (const Entry& entry : entries()) {
    if (entry.temporary || entry.generation <= generation_) continue;
    const std::string holder = read_if_there(entry.path).value_or("");
    return "a later start of the job has taken over " + path_ + " (" + holder.substr(0, holder.find('\n')) +
           ')';
  }
  const auto own = read_if_there(own_file_);
  if (own && own->find(token_) != std::string::npos) return {};
  return "a later start of the job has taken over " + path_ + ", or its files were removed";
}

void CheckpointFiles::write_temporary(std::string_view bytes, int save) const {
  const std::string& path = temporary_;
  step();
  ::unlink(path.c_str());  // left by a failed save
  base::Descriptor file = opened(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
  if (!file.is_open()) fail(path_, "cannot be written");
  if (faults_.hit(fault::Stage::checkpoint_write, std::nullopt, save)) {
    (void)file.write(bytes.substr(0, bytes.size() / 2));
    (void)std::raise(SIGKILL);
  }
  if (faults_.hit(fault::Stage::checkpoint_full, std::nullopt, save)) {
    (void)file.write(bytes.substr(0, bytes.size() / 2));
    errno = ENOSPC;
    fail(path_, "cannot be written");
  }
  step();
  if (!file.write(bytes) || !file.flush() || !file.close()) fail(path_, "cannot be written");
}

void CheckpointFiles::put_in_place(bool keep_previous, int save) const {
  const std::string aside = temporary_ + ".previous";
  if (keep_previous) {
    // By a link, so that a state exists under its name at any time; by a rename where links are not
    // supported.
    step();
    if (::link(path_.c_str(), aside.c_str()) == 0) {
      step();
      const bool moved = ::rename(aside.c_str(), previous_path().c_str()) == 0;
      const int reason = errno;
      unlink(aside);  // a rename of one file onto itself leaves both names
      errno = reason;
      if (!moved) fail(previous_path(), "cannot be written");
    } else if (errno != ENOENT && ::rename(path_.c_str(), previous_path().c_str()) != 0 && errno != ENOENT) {
      fail(previous_path(), "cannot be written");
    }
  }
  if (faults_.hit(fault::Stage::checkpoint_swap, std::nullopt, save)) (void)std::raise(SIGKILL);
  step();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, "cannot be written");
  step();
  const base::Descriptor folder = opened(folder_, O_RDONLY | O_DIRECTORY);
  if (!folder.is_open() || !folder.flush()) fail(folder_, "cannot be written");
}

std::string CheckpointFiles::write(std::string_view bytes, bool keep_previous, int save) {
  std::string problem;
  std::string newer;
  try {
    write_temporary(bytes, save);
    newer = overrun();
    if (newer.empty()) {
      put_in_place(keep_previous, save);
      return {};
    }
  } catch (const std::exception& error) {
    problem = error.what();
  }
  unlink(temporary_);
  if (newer.empty()) {
    // The temporary file may be gone because a later start removed it.
    try {
      newer = overrun();
    } catch (const std::exception&) {
      // An error of the file system: `problem` has it.
    }
  }
  if (!newer.empty()) throw Error(ErrorCode::job_fault, newer + ": this one ends, and has replaced nothing");
  return problem;
}

void CheckpointFiles::remove() noexcept {
  if (mpi::detail::is_forked_child()) return;
  try {
    if (!overrun().empty()) return;
    unlink(previous_path());
    unlink(path_);
    for (const Entry& entry : entries()) unlink(entry.path);
    generation_ = 0;
  } catch (const std::exception&) {
    // Files that cannot be listed stay.
  }
}

}  // namespace tessera::inline TESSERA_ABI
