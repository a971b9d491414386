// SPDX-License-Identifier: Apache-2.0
#include "job/checkpoint/checkpoint_files.hpp"

#include "base/descriptor.hpp"
#include "base/number.hpp"
#include "base/own_digits.hpp"
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
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>
#include <system_error>

namespace TESSERA_NAMESPACE {
namespace {

/// Maximum number of attempts to take a generation. An attempt fails only if another start takes a number
/// that is at least as high.
constexpr int max_tries = 1000;

constexpr std::string_view previous_suffix = ".previous";
constexpr std::string_view new_suffix = ".new";

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw std::system_error(errno, std::generic_category(), path + ": " + what);
}

base::Descriptor opened(const std::string& path, int flags) {
  return base::Descriptor(::open(path.c_str(), flags | O_CLOEXEC, 0666));
}

/// Content of a generation file: the magic, "HOST, process N", a separator, and the start's token.
constexpr std::string_view holder_magic = "tessera generation; ";
constexpr std::string_view holder_separator = "; ";
/// More than the content of a generation file.
constexpr std::size_t max_holder_bytes = 512;

struct Holder {
  std::string who;
  std::string token;
};

std::string this_holder(const std::string& token) {
  return std::string(holder_magic) + detail::this_hostname() + ", process " + std::to_string(::getpid()) +
         std::string(holder_separator) + token;
}

/// Programs up to version 0.2 wrote tokens of 16 digits.
bool is_token(std::string_view text) {
  return (text.size() == base::random_digits || text.size() == 2 * base::random_digits) &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Parses the content of a generation file; empty if no start has written it. Programs up to version 0.2
/// wrote two lines: "HOST, process N" and TOKEN.
std::optional<Holder> holder_of(std::string_view text) {
  std::string_view separator = holder_separator;
  if (text.starts_with(holder_magic)) {
    text.remove_prefix(holder_magic.size());
  } else if (text.ends_with('\n')) {
    text.remove_suffix(1);
    separator = "\n";
  } else {
    return std::nullopt;
  }
  const std::size_t end = text.rfind(separator);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view who = text.substr(0, end);
  const std::string_view token = text.substr(end + separator.size());
  const std::size_t digits = who.find_last_not_of("0123456789") + 1;
  const bool is_process = digits < who.size() && who.substr(0, digits).ends_with(", process ");
  if (!is_process || who.find('\n') != std::string_view::npos || !is_token(token)) return std::nullopt;
  return Holder{std::string(who), std::string(token)};
}

/// The first bytes of a file; empty for a folder, a link, a missing file, or one that this user may not read.
/// Throws `std::system_error` for other errors.
std::optional<std::string> beginning_of(const std::string& path, std::size_t bytes) {
  const base::Descriptor file = opened(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (!file.is_open()) {
    for (const int other : {ENOENT, ELOOP, EACCES, EPERM, ENXIO})
      if (errno == other) return std::nullopt;
    fail(path, "cannot be read");
  }
  const auto status = file.status();
  if (!status) fail(path, "cannot be read");
  if (!S_ISREG(status->st_mode)) return std::nullopt;
  auto text = file.read_text(bytes);
  if (!text) fail(path, "cannot be read");
  return text;
}

/// The start that created a generation file; empty if no start has written the file, or it is gone.
std::optional<Holder> holder_in(const std::string& path) {
  std::array<char, max_holder_bytes> target{};
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  if (size >= 0) return holder_of({target.data(), static_cast<std::size_t>(size)});
  if (errno == ENOENT) return std::nullopt;
  // EINVAL: not a link, but a file of an older program or of a file system without symbolic links.
  if (errno != EINVAL) fail(path, "cannot be read");
  const auto text = beginning_of(path, max_holder_bytes);
  return text ? holder_of(*text) : std::nullopt;
}

}  // namespace

std::optional<std::string> read_if_there(const std::string& path) {
  // O_NONBLOCK, because opening a pipe would block until there is a writer.
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
    throw Error(ErrorCode::input, path + ": cannot be read: it is not a regular file");
  // A sparse file may be larger than the memory.
  const HostLimits limits = host_limits();
  const MemoryLimit* const tightest = limits.tightest_memory();
  if (tightest != nullptr && status->st_size > tightest->free_bytes)
    throw Error(ErrorCode::input, path + ": cannot be read: it has " + std::to_string(status->st_size) +
                                      " bytes, which is more than the free memory: name another file");
  auto text = file.read_text();
  if (!text) refuse();
  return text;
}

CheckpointFiles::CheckpointFiles(std::string path)
    : path_(std::move(path)),
      folder_(std::filesystem::path(path_).parent_path().string()),
      token_(base::new_own_digits()),
      forks_(mpi::detail::forks()) {
  if (folder_.empty()) folder_ = ".";
}

bool CheckpointFiles::is_in_forked_child() const noexcept {
  return forks_ != mpi::detail::forks();
}

CheckpointFiles::~CheckpointFiles() {
  if (generation_ == 0 || is_in_forked_child()) return;
  unlink(temporary_);
  // After `remove`, a later start may have taken the same generation, with another token.
  try {
    const auto holder = holder_in(own_file_);
    if (holder && holder->token == token_) unlink(own_file_);
  } catch (...) {
    // The file stays, and the next start takes a later generation.
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
  temporary_ = own_file + '.' + token_ + std::string(new_suffix);
  own_file_ = std::move(own_file);
  generation_ = generation;
}

std::vector<CheckpointFiles::Entry> CheckpointFiles::entries() const {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(folder_.c_str()), &::closedir);
  if (!folder) fail(folder_, "cannot be listed");
  const std::string own_name = std::filesystem::path(path_).filename().string();
  const std::string prefix = own_name + ".generation-";
  const std::string place = path_.substr(0, path_.size() - own_name.size());
  std::vector<Entry> found;
  for (errno = 0; const dirent* one = ::readdir(folder.get()); errno = 0) {
    const std::string_view name = one->d_name;
    if (!name.starts_with(prefix)) continue;
    std::string_view behind = name.substr(prefix.size());
    const auto generation = base::take_number<std::int64_t>(behind);
    // Not a valid generation: a foreign file.
    if (!generation || *generation < 1 || *generation > last_generation) continue;
    std::string token;
    if (!behind.empty()) {
      // ".TOKEN.new", or ".TOKEN.new.previous" before its rename to FILE.previous.
      if (behind.ends_with(previous_suffix)) behind.remove_suffix(previous_suffix.size());
      if (!behind.starts_with('.') || !behind.ends_with(new_suffix)) continue;
      token = behind.substr(1, behind.size() - 1 - new_suffix.size());
      if (!is_token(token)) continue;
    }
    found.push_back({*generation, std::move(token), place + std::string(name)});
  }
  if (errno != 0) fail(folder_, "cannot be listed");
  return found;
}

bool CheckpointFiles::is_own(const Entry& entry) {
  if (!entry.temporary()) return holder_in(entry.path).has_value();
  const auto beginning = beginning_of(entry.path, checkpoint_magic.size());
  if (!beginning) return false;
  return beginning == checkpoint_magic ||
         (checkpoint_magic.starts_with(*beginning) && base::are_own_digits(entry.token));
}

void CheckpointFiles::remove_own(std::int64_t last, bool temporary) const {
  for (const Entry& entry : entries())
    if (entry.temporary() == temporary && entry.generation <= last && is_own(entry)) unlink(entry.path);
}

std::vector<std::string> CheckpointFiles::strangers() const {
  std::vector<std::string> all;
  try {
    if (!may_replace_previous()) all.push_back(previous_path());
    for (const Entry& entry : entries())
      if (!is_own(entry)) all.push_back(entry.path);
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::input, error.what());
  }
  std::ranges::sort(all);
  return all;
}

bool CheckpointFiles::may_replace_previous() const {
  struct stat status {};
  if (::lstat(previous_path().c_str(), &status) != 0 && errno == ENOENT) return true;
  return beginning_of(previous_path(), checkpoint_magic.size()) == checkpoint_magic;
}

bool CheckpointFiles::create_own_file() const {
  const std::string text = this_holder(token_);
  step();
  if (::symlink(text.c_str(), own_file_.c_str()) == 0) return true;
  if (errno == EEXIST) return false;
  const bool has_no_links = errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS;
  if (!has_no_links) fail(own_file_, "cannot be written");
  step();
  base::Descriptor file = opened(own_file_, O_WRONLY | O_CREAT | O_EXCL);
  if (!file.is_open() && errno == EEXIST) return false;
  if (!file.is_open()) fail(own_file_, "cannot be written");
  step();
  if (file.write(text) && file.flush() && file.close()) return true;
  const int reason = errno;
  unlink(own_file_);
  errno = reason;
  fail(own_file_, "cannot be written");
}

void CheckpointFiles::take_generation(std::int64_t at_least) {
  try {
    // Counts foreign files too, because their names are taken.
    const auto newest = [this] {
      std::int64_t found = 0;
      for (const Entry& entry : entries())
        if (!entry.temporary()) found = std::max(found, entry.generation);
      return found;
    };
    for (int tries = 0; tries < max_tries; ++tries) {
      const std::int64_t next = std::max(newest() + 1, at_least);
      if (next > last_generation)
        throw Error(ErrorCode::input, file_of(last_generation) +
                                          ": the generation number of this file is the highest possible: "
                                          "remove the file if no job uses the checkpoint");
      set_generation(next);
      if (!create_own_file()) continue;  // another start has taken the generation
      if (newest() > generation_) {
        unlink(own_file_);
        continue;
      }
      remove_own(last_generation, true);
      return;
    }
    generation_ = 0;
    throw Error(ErrorCode::input,
                path_ + ": other starts of the same job write to this checkpoint: end these jobs");
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::input, error.what());
  }
}

void CheckpointFiles::remove_older_generations() noexcept {
  try {
    remove_own(generation_ - 1, true);
    remove_own(generation_ - 1, false);
  } catch (const std::exception&) {
    // Files of older generations are harmless.
  }
}

std::string CheckpointFiles::overrun() const {
  for (const Entry& entry : entries()) {
    if (entry.temporary() || entry.generation <= generation_) continue;
    std::string who = entry.path;
    try {
      if (auto holder = holder_in(entry.path)) who = std::move(holder->who);
    } catch (const std::system_error&) {
      // Host and process of the newer start stay unknown.
    }
    return "a later start of the job has taken over " + path_ + " (" + who + ')';
  }
  const auto own = holder_in(own_file_);
  if (own && own->token == token_) return {};
  return "a later start of the job has taken over " + path_ + ", or its files were removed";
}

void CheckpointFiles::write_temporary(std::string_view bytes, int save) const {
  const std::string& path = temporary_;
  step();
  ::unlink(path.c_str());  // of a failed save
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

void CheckpointFiles::put_in_place(bool keep_previous, int save) {
  const std::string aside = temporary_ + std::string(previous_suffix);
  if (keep_previous && may_replace_previous()) {
    // With a hard link, FILE exists at any time. On file systems without links, FILE is renamed.
    step();
    if (::link(path_.c_str(), aside.c_str()) == 0) {
      step();
      const bool moved = ::rename(aside.c_str(), previous_path().c_str()) == 0;
      const int reason = errno;
      unlink(aside);  // rename() of two links to one file leaves both
      errno = reason;
      if (!moved) fail(previous_path(), "cannot be written");
    } else if (errno != ENOENT && ::rename(path_.c_str(), previous_path().c_str()) != 0 && errno != ENOENT) {
      fail(previous_path(), "cannot be written");
    }
  }
  if (faults_.hit(fault::Stage::checkpoint_swap, std::nullopt, save)) (void)std::raise(SIGKILL);
  step();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, "cannot be written");
  written_ = true;
  step();
  const base::Descriptor folder = opened(folder_, O_RDONLY | O_DIRECTORY);
  if (!folder.is_open() || !folder.flush())
    fail(path_, "is written, but may not survive a power failure, as its folder cannot be flushed to disk");
}

std::string CheckpointFiles::write(std::string_view bytes, bool keep_previous, int save) {
  std::string problem;
  std::string newer;
  written_ = false;
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
  if (written_) return problem;
  unlink(temporary_);
  if (newer.empty()) {
    // A later start may have removed the temporary file.
    try {
      newer = overrun();
    } catch (const std::exception&) {
      // `problem` has the file system's error.
    }
  }
  if (!newer.empty())
    throw Error(ErrorCode::job_fault,
                newer + ": this start of the job ends and leaves the checkpoint unchanged");
  return problem;
}

void CheckpointFiles::remove() noexcept {
  if (is_in_forked_child()) return;
  try {
    if (!overrun().empty()) return;
    if (may_replace_previous()) unlink(previous_path());
    unlink(path_);
    remove_own(generation_, true);
    remove_own(generation_, false);
    generation_ = 0;
  } catch (const std::exception&) {
    // The files stay if they cannot be listed.
  }
}

}  // namespace TESSERA_NAMESPACE
