// SPDX-License-Identifier: Apache-2.0
#include "topology/claim/device_locks.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <type_traits>
#include <utility>

#include "topology/driver/parse_uuid.hpp"
#include "topology/linux/linux_files.hpp"
#include "topology/linux/private_folder.hpp"

namespace TESSERA_NAMESPACE::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view claims_file = "claims";
constexpr std::string_view simulated_prefix = "sim-";
constexpr int max_slots = 1024;

/// The format of a `DeviceUser` in the file.
struct SlotRecord {
  std::int32_t pid;
  std::int32_t shared;
  std::int64_t budget_bytes;
  std::array<char, 48> program;
};
static_assert(std::is_trivially_copyable_v<SlotRecord>);

constexpr off_t reserved_byte(int slot) {
  return 2 * off_t{slot};
}
constexpr off_t user_byte(int slot) {
  return 2 * off_t{slot} + 1;
}

[[noreturn]] void fail(const fs::path& file, const char* what) {
  throw Error(ErrorCode::job_fault, file.string() + " cannot be " + what + ": " + std::strerror(errno));
}

/// Whether a file is empty or has only records. Protects other files in a folder that the user named.
bool has_records_only(int file) {
  SlotRecord record{};
  constexpr SlotRecord free{};
  ssize_t got = 0;
  for (int slot = 0; slot <= max_slots; ++slot) {
    got = pread(file, &record, sizeof record, off_t{slot} * static_cast<off_t>(sizeof record));
    if (got == 0) return true;
    if (got != static_cast<ssize_t>(sizeof record)) return false;
    // Any budget is valid, because a job records it before its options are checked.
    const bool is_used =
        record.pid > 0 && (record.shared == 0 || record.shared == 1) && record.program.back() == '\0';
    if (!is_used && std::memcmp(&record, &free, sizeof record) != 0) return false;
  }
  return false;
}

HeldLock open_file(const fs::path& file) {
  HeldLock opened(open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (opened.file() < 0) fail(file, "opened");
  if (!has_records_only(opened.file()))
    throw Error(ErrorCode::job_fault, file.string() +
                                          " is not a GPU lock file: remove the file if no program needs it, "
                                          "or set TESSERA_LOCK_DIR to another folder");
  return opened;
}

/// A length of 0 locks to the end of the file.
constexpr off_t all_bytes = 0;

/// Returns false on failure.
bool set_lock(int file, short type, off_t begin, off_t bytes) noexcept {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = begin;
  lock.l_len = bytes;
  return fcntl(file, F_OFD_SETLK, &lock) == 0;
}

/// False if another open file description has locked the byte.
bool try_lock(int file, off_t byte, const fs::path& name) {
  if (set_lock(file, F_WRLCK, byte, 1)) return true;
  if (errno != EAGAIN && errno != EACCES) fail(name, "locked");
  return false;
}

/// Whether another open file description has locked any of `bytes` bytes.
bool is_locked(int file, off_t begin, off_t bytes, const fs::path& name) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = begin;
  lock.l_len = bytes;
  if (fcntl(file, F_OFD_GETLK, &lock) != 0) fail(name, "checked for locks");
  return lock.l_type != F_UNLCK;
}

void write_record(int file, int slot, const DeviceUser& user, const fs::path& name) {
  SlotRecord record{user.pid, user.shared ? 1 : 0, user.budget_bytes, {}};
  std::copy_n(user.program.begin(), std::min(user.program.size(), record.program.size() - 1),
              record.program.begin());
  if (pwrite(file, &record, sizeof record, off_t{slot} * static_cast<off_t>(sizeof record)) !=
      static_cast<ssize_t>(sizeof record))
    fail(name, "written");
}

DeviceUser read_record(int file, int slot) {
  SlotRecord record{};
  // A record that cannot be read counts as an exclusive user.
  if (pread(file, &record, sizeof record, off_t{slot} * static_cast<off_t>(sizeof record)) !=
      static_cast<ssize_t>(sizeof record))
    return {};
  record.program.back() = '\0';
  return {record.shared != 0, record.budget_bytes, record.pid, record.program.data()};
}

/// Removes a lock file unless a slot is locked. The caller must hold the claim lock, so that no slot is
/// reserved meanwhile.
void remove_if_free(const fs::path& file) noexcept {
  try {
    const int opened = open(file.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (opened < 0) return;
    const HeldLock held(opened);
    if (has_records_only(opened) && !is_locked(opened, 0, all_bytes, file)) (void)unlink(file.c_str());
  } catch (...) {
    // The file stays, which does no harm.
  }
}

/// Whether `name` has the form that `lock_name` gives to simulated devices.
bool is_simulated_name(std::string_view name) {
  const std::size_t digits = to_string(Uuid{}).size();
  return name.starts_with(simulated_prefix) && name.size() > simulated_prefix.size() + digits &&
         parse_uuid(std::string(name.substr(name.size() - digits))).has_value();
}

void remove_free_simulated(const fs::path& folder) {
  // Not fs::directory_iterator, which terminates the program if memory runs out (GCC 12).
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  if (!entries) return;
  while (const dirent* entry = readdir(entries.get()))
    if (is_simulated_name(entry->d_name)) remove_if_free(folder / entry->d_name);
}

/// Creates the folder if it is missing. Returns why the folder cannot be used; empty if it can be used.
std::string prepare_public(const fs::path& folder) {
  (void)mkdir(folder.c_str(), S_IRWXU);  // the result is checked below
  std::string problem = problem_of_private_folder(folder);
  if (problem.empty() && access(folder.c_str(), W_OK | X_OK) != 0) problem = std::strerror(errno);
  return problem;
}

/// A prefix of the text, with `_` for each character that is unusual in file names.
std::string as_name(std::string_view text) {
  constexpr std::size_t longest = 64;
  std::string name(text.substr(0, longest));
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
  };
  std::ranges::replace_if(
      name, [&](char c) { return !is_plain(c); }, '_');
  return name;
}

/// Owner of a locked slot. The last user of a simulated device removes the file.
struct LockedSlot {
  LockedSlot(HeldLock taken, fs::path of, bool goes)
      : lock(std::move(taken)), file(std::move(of)), removes(goes) {}
  ~LockedSlot() {
    const bool was_own = lock.is_own();
    lock.release();
    if (!removes || !was_own) return;
    try {
      const fs::path claims = file.parent_path() / claims_file;
      const HeldLock claim = open_file(claims);
      // Otherwise a claim is in progress: this claim or a later one removes the file.
      if (try_lock(claim.file(), 0, claims)) remove_if_free(file);
    } catch (...) {
      // The folder was removed with the file.
    }
  }
  LockedSlot(const LockedSlot&) = delete;
  LockedSlot& operator=(const LockedSlot&) = delete;

  HeldLock lock;
  fs::path file;
  bool removes;
};

}  // namespace

std::string to_string(const DeviceUser& user) {
  if (user.pid == getpid()) return "another job of this process";
  return "pid " + std::to_string(user.pid) + (user.program.empty() ? "" : " (" + user.program + ")");
}

DeviceUser this_user(bool shared, std::int64_t budget_bytes) {
  return {shared, budget_bytes, static_cast<std::int32_t>(getpid()), first_line("/proc/self/comm")};
}

fs::path lock_folder() {
  if (const char* own = std::getenv("TESSERA_LOCK_DIR"); own != nullptr && *own != '\0') {
    std::error_code failed;
    fs::create_directories(own, failed);
    if (failed)
      throw Error(ErrorCode::job_fault,
                  "TESSERA_LOCK_DIR=\"" + std::string(own) + "\" cannot be created: " + failed.message());
    return own;
  }
  std::string problems;
  for (const char* base : {"/dev/shm", "/tmp"}) {
    fs::path folder = fs::path(base) / ("tessera-" + std::to_string(geteuid()));
    const std::string problem = prepare_public(folder);
    if (problem.empty()) return folder;
    problems += (problems.empty() ? "" : "; ") + folder.string() + ": " + problem;
  }
  throw Error(ErrorCode::job_fault, "no folder can hold the GPU lock files (" + problems +
                                        "): set TESSERA_LOCK_DIR to a folder that can be written");
}

std::string lock_name(const DeviceInfo& device, std::string_view launch, std::string_view node) {
  const std::string uuid = to_string(device.uuid);
  return device.simulated ? std::string(simulated_prefix) + as_name(launch) + '-' + as_name(node) + '-' + uuid
                          : uuid;
}

std::string this_launch() {
  const auto variable = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string(text != nullptr ? text : "");
  };
  if (auto name = variable("PMIX_NAMESPACE"); !name.empty()) return name;
  if (auto step = variable("SLURM_STEP_ID"); !step.empty()) return variable("SLURM_JOB_ID") + '.' + step;
  // Ranks of one launcher on one machine have the same parent process.
  const bool launched = !variable("PMI_RANK").empty() || !variable("OMPI_COMM_WORLD_RANK").empty();
  return std::to_string(launched ? getppid() : getpid());
}

HeldLock::HeldLock(int file) : file_(file), process_(static_cast<std::int32_t>(getpid())) {}
HeldLock::HeldLock(HeldLock&& other) noexcept
    : file_(std::exchange(other.file_, -1)), process_(other.process_) {}
HeldLock& HeldLock::operator=(HeldLock&& other) noexcept {
  if (this != &other) {
    release();
    file_ = std::exchange(other.file_, -1);
    process_ = other.process_;
  }
  return *this;
}
HeldLock::~HeldLock() {
  release();
}
bool HeldLock::is_own() const noexcept {
  return process_ == static_cast<std::int32_t>(getpid());
}
void HeldLock::release() noexcept {
  if (file_ < 0) return;
  // Unlocks explicitly, because close() does not release the locks if a forked child has the file open.
  if (is_own()) (void)set_lock(file_, F_UNLCK, 0, all_bytes);
  (void)close(std::exchange(file_, -1));
}

ClaimLock::ClaimLock(fs::path folder, const std::function<void()>& progress, std::chrono::seconds patience)
    : folder_(std::move(folder)) {
  const fs::path file = folder_ / claims_file;
  lock_ = open_file(file);
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!try_lock(lock_.file(), 0, file)) {
    if (std::chrono::steady_clock::now() > end)
      throw ClaimInProgress(to_string(read_record(lock_.file(), 0)) + " has been claiming GPUs for " +
                            std::to_string(patience.count()) +
                            " s: end this process if it hangs or is suspended");
    if (progress) progress();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  write_record(lock_.file(), 0, this_user(false, 0), file);
  remove_free_simulated(folder_);
}

std::vector<DeviceUser> ClaimLock::users_of(const std::string& name, int except) const {
  const fs::path path = folder_ / name;
  const HeldLock file(open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (file.file() < 0 && errno != ENOENT) fail(path, "opened");
  std::vector<DeviceUser> users;
  if (file.file() < 0) return users;
  for (int slot = 0; slot < max_slots; ++slot) {
    if (!is_locked(file.file(), reserved_byte(slot), all_bytes, path))
      break;  // neither this slot nor any later one is locked
    if (slot != except && is_locked(file.file(), reserved_byte(slot), 2, path))
      users.push_back(read_record(file.file(), slot));
  }
  return users;
}

ReservedSlot ClaimLock::reserve(const std::string& name, const DeviceUser& user) const {
  const fs::path path = folder_ / name;
  HeldLock file = open_file(path);
  for (int slot = 0; slot < max_slots; ++slot) {
    if (is_locked(file.file(), reserved_byte(slot), 2, path)) continue;
    if (!try_lock(file.file(), reserved_byte(slot), path)) continue;
    write_record(file.file(), slot, user, path);
    return {slot, std::move(file)};
  }
  throw Error(ErrorCode::job_fault, name + " is used by " + std::to_string(max_slots) +
                                        " ranks, the maximum: end other jobs on this GPU");
}

std::shared_ptr<const void> take_slot(const fs::path& folder, const std::string& name, int slot,
                                      const DeviceUser& user) {
  const fs::path path = folder / name;
  HeldLock file = open_file(path);
  if (!try_lock(file.file(), user_byte(slot), path)) return nullptr;
  write_record(file.file(), slot, user, path);
  return std::make_shared<const LockedSlot>(std::move(file), path, name.starts_with(simulated_prefix));
}

void describe_slot(const fs::path& folder, const std::string& name, int slot, const DeviceUser& user) {
  const fs::path path = folder / name;
  write_record(open_file(path).file(), slot, user, path);
}

}  // namespace TESSERA_NAMESPACE::detail
