// SPDX-License-Identifier: Apache-2.0
// Makes the n-th call of a kind fail in a program that is started with this library (LD_PRELOAD).
//
// The program stops at the end of MPI_Init_thread and receives orders; for each it forks a child, which
// continues as the program and counts its calls until MPI_Finalize. So the program and MPI start only once,
// and thousands of runs take a minute. Calls inside MPI's own functions are not counted.
#include "failing_calls.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <hwloc.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

using namespace tessera::failing;

/// Shared by the program and its child.
struct Counts {
  std::array<std::atomic<std::int32_t>, calls> made;
  std::atomic<std::int32_t> failed;
};

Counts* counts = nullptr;
Order order;
std::atomic<bool> armed = false;
bool in_child = false;
/// Inside a call of MPI or of this library: not counted. Memory of its own would be allocated by malloc.
__attribute__((tls_model("initial-exec"))) thread_local int inside = 0;

struct Inside {
  Inside() { ++inside; }
  ~Inside() { --inside; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

void trace() {
  constexpr int most = 40;
  void* frames[most];
  backtrace_symbols_fd(frames, backtrace(frames, most), STDERR_FILENO);
}

/// Counts a call; true, with errno, if it is to fail.
bool fails(Call call) {
  if (!armed.load(std::memory_order_relaxed) || inside > 0) return false;
  const Inside here;
  const std::int32_t number = ++counts->made[static_cast<std::size_t>(call)];
  if (order.first == 0 || call != order.call) return false;
  if (number < order.first || number - order.first >= order.in_a_row) return false;
  if (++counts->failed == 1 && order.traced != 0) trace();
  errno = order.error;
  return true;
}

/// A transfer that fails, or moves only one byte.
template <class Transfer>
ssize_t transfer(Call call, size_t bytes, Transfer&& move) {
  if (!fails(call)) return move(bytes);
  return order.error == 0 ? move(bytes < 1 ? bytes : 1) : -1;
}

template <class Function>
Function next(const char* name) {
  const Inside here;  // dlsym may take memory
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

/// The system's own function of the same name.
#define NEXT(name)                                            \
  ([]() -> decltype(&::name) {                                \
    static const auto found = next<decltype(&::name)>(#name); \
    return found;                                             \
  }())

mode_t mode_of(int flags, std::va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

/// Forks a child for each order, until there are no more.
void serve() {
  const Inside here;
  void* const shared =
      mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) std::abort();
  counts = new (shared) Counts{};
  void* frame = nullptr;
  (void)backtrace(&frame, 1);  // what it needs at first is loaded now
  while (NEXT(read)(orders, &order, sizeof order) == sizeof order) {
    for (auto& count : counts->made) count = 0;
    counts->failed = 0;
    const pid_t child = fork();
    if (child == 0) {
      (void)NEXT(close)(orders);
      (void)NEXT(close)(outcomes);
      (void)alarm(static_cast<unsigned>(order.seconds));
      in_child = true;
      armed = true;
      return;
    }
    Outcome outcome;
    if (child < 0 || waitpid(child, &outcome.status, 0) != child) std::abort();
    outcome.failed = counts->failed;
    for (std::size_t call = 0; call < calls; ++call) outcome.made[call] = counts->made[call];
    if (NEXT(write)(outcomes, &outcome, sizeof outcome) != sizeof outcome) std::abort();
  }
  std::_Exit(EXIT_SUCCESS);
}

}  // namespace

extern "C" {

// --- system calls

int open(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return fails(Call::open) ? -1 : NEXT(open)(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return fails(Call::open) ? -1 : NEXT(open64)(path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return fails(Call::open) ? -1 : NEXT(openat)(folder, path, flags, mode);
}
int openat64(int folder, const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return fails(Call::open) ? -1 : NEXT(openat64)(folder, path, flags, mode);
}
FILE* fopen(const char* path, const char* mode) {
  return fails(Call::open) ? nullptr : NEXT(fopen)(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  return fails(Call::open) ? nullptr : NEXT(fopen64)(path, mode);
}
DIR* opendir(const char* path) {
  return fails(Call::open) ? nullptr : NEXT(opendir)(path);
}
DIR* fdopendir(int folder) {
  return fails(Call::open) ? nullptr : NEXT(fdopendir)(folder);
}
struct dirent* readdir(DIR* folder) {
  return fails(Call::status) ? nullptr : NEXT(readdir)(folder);
}
ssize_t read(int file, void* bytes, size_t count) {
  return transfer(Call::read, count, [&](size_t most) { return NEXT(read)(file, bytes, most); });
}
ssize_t pread(int file, void* bytes, size_t count, off_t offset) {
  return transfer(Call::pread, count, [&](size_t most) { return NEXT(pread)(file, bytes, most, offset); });
}
ssize_t pread64(int file, void* bytes, size_t count, off64_t offset) {
  return transfer(Call::pread, count, [&](size_t most) { return NEXT(pread64)(file, bytes, most, offset); });
}
ssize_t write(int file, const void* bytes, size_t count) {
  return transfer(Call::write, count, [&](size_t most) { return NEXT(write)(file, bytes, most); });
}
ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
  return transfer(Call::write, count, [&](size_t most) { return NEXT(pwrite)(file, bytes, most, offset); });
}
int fsync(int file) {
  return fails(Call::fsync) ? -1 : NEXT(fsync)(file);
}
int fdatasync(int file) {
  return fails(Call::fsync) ? -1 : NEXT(fdatasync)(file);
}
int rename(const char* from, const char* to) noexcept {
  return fails(Call::rename) ? -1 : NEXT(rename)(from, to);
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  return fails(Call::rename) ? -1 : NEXT(renameat)(from_folder, from, to_folder, to);
}
int link(const char* from, const char* to) noexcept {
  return fails(Call::link) ? -1 : NEXT(link)(from, to);
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  return fails(Call::link) ? -1 : NEXT(linkat)(from_folder, from, to_folder, to, flags);
}
int symlink(const char* target, const char* path) noexcept {
  return fails(Call::link) ? -1 : NEXT(symlink)(target, path);
}
ssize_t readlink(const char* path, char* target, size_t bytes) noexcept {
  return fails(Call::status) ? -1 : NEXT(readlink)(path, target, bytes);
}
int unlink(const char* path) noexcept {
  return fails(Call::unlink) ? -1 : NEXT(unlink)(path);
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  return fails(Call::unlink) ? -1 : NEXT(unlinkat)(folder, path, flags);
}
/// The descriptor is closed, even if close() reports an error.
int close(int file) {
  const bool failed = fails(Call::close);
  const int code = errno;
  const int closed = NEXT(close)(file);
  if (!failed) return closed;
  errno = code;
  return -1;
}
int stat(const char* path, struct stat* status) noexcept {
  return fails(Call::status) ? -1 : NEXT(stat)(path, status);
}
int lstat(const char* path, struct stat* status) noexcept {
  return fails(Call::status) ? -1 : NEXT(lstat)(path, status);
}
int fstat(int file, struct stat* status) noexcept {
  return fails(Call::status) ? -1 : NEXT(fstat)(file, status);
}
int fstatat(int folder, const char* path, struct stat* status, int flags) noexcept {
  return fails(Call::status) ? -1 : NEXT(fstatat)(folder, path, status, flags);
}

void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  return fails(Call::map) ? MAP_FAILED : NEXT(mmap)(address, bytes, protection, flags, file, offset);
}

int posix_fallocate(int file, off_t begin, off_t bytes) noexcept {
  return fails(Call::reserve) ? errno : NEXT(posix_fallocate)(file, begin, bytes);
}

// glibc's own names, since dlsym allocates memory through these. NOLINTBEGIN(bugprone-reserved-identifier)
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
// NOLINTEND(bugprone-reserved-identifier)

void* malloc(size_t bytes) noexcept {
  return fails(Call::allocate) ? nullptr : __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) noexcept {
  return fails(Call::allocate) ? nullptr : __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) noexcept {
  return fails(Call::allocate) ? nullptr : __libc_realloc(old, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return fails(Call::allocate) ? nullptr : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) noexcept {
  if (fails(Call::allocate)) return ENOMEM;
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}

// --- hwloc: an unreadable kernel file fails an assertion in it

int hwloc_topology_init(hwloc_topology_t* topology) {
  const Inside here;
  return NEXT(hwloc_topology_init)(topology);
}
int hwloc_topology_load(hwloc_topology_t topology) {
  const Inside here;
  return NEXT(hwloc_topology_load)(topology);
}
void hwloc_topology_destroy(hwloc_topology_t topology) {
  const Inside here;
  NEXT(hwloc_topology_destroy)(topology);
}

// --- MPI

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  if (std::getenv(variable) != nullptr) serve();
  return code;
}
/// A child has no MPI threads, which MPI's end would wait for.
int MPI_Finalize() {
  armed = false;
  return in_child ? MPI_SUCCESS : PMPI_Finalize();
}
int MPI_Abort(MPI_Comm comm, int status) {
  if (in_child) std::_Exit(status);
  return PMPI_Abort(comm, status);
}

#define MPI_S_OWN(name, parameters, arguments) \
  int name parameters {                        \
    const Inside here;                         \
    return P##name arguments;                  \
  }
MPI_S_OWN(MPI_Comm_compare, (MPI_Comm a, MPI_Comm b, int* result), (a, b, result))
MPI_S_OWN(MPI_Comm_create_keyval,
          (MPI_Comm_copy_attr_function * copy, MPI_Comm_delete_attr_function* remove, int* key, void* extra),
          (copy, remove, key, extra))
MPI_S_OWN(MPI_Comm_free, (MPI_Comm * comm), (comm))
MPI_S_OWN(MPI_Comm_free_keyval, (int* key), (key))
MPI_S_OWN(MPI_Comm_get_errhandler, (MPI_Comm comm, MPI_Errhandler* handler), (comm, handler))
MPI_S_OWN(MPI_Comm_group, (MPI_Comm comm, MPI_Group* group), (comm, group))
MPI_S_OWN(MPI_Comm_idup, (MPI_Comm comm, MPI_Comm* copy, MPI_Request* request), (comm, copy, request))
MPI_S_OWN(MPI_Comm_rank, (MPI_Comm comm, int* rank), (comm, rank))
MPI_S_OWN(MPI_Comm_set_attr, (MPI_Comm comm, int key, void* value), (comm, key, value))
MPI_S_OWN(MPI_Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler handler), (comm, handler))
MPI_S_OWN(MPI_Comm_size, (MPI_Comm comm, int* size), (comm, size))
MPI_S_OWN(MPI_Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* part), (comm, color, key, part))
MPI_S_OWN(MPI_Comm_test_inter, (MPI_Comm comm, int* flag), (comm, flag))
MPI_S_OWN(MPI_Errhandler_free, (MPI_Errhandler * handler), (handler))
MPI_S_OWN(MPI_Error_string, (int code, char* text, int* length), (code, text, length))
MPI_S_OWN(MPI_Get_processor_name, (char* name, int* length), (name, length))
MPI_S_OWN(MPI_Group_free, (MPI_Group * group), (group))
MPI_S_OWN(MPI_Group_size, (MPI_Group group, int* size), (group, size))
MPI_S_OWN(MPI_Group_translate_ranks, (MPI_Group a, int count, const int* ranks, MPI_Group b, int* there),
          (a, count, ranks, b, there))
MPI_S_OWN(MPI_Iallgather,
          (const void* send, int sends, MPI_Datatype of, void* receive, int receives, MPI_Datatype to,
           MPI_Comm comm, MPI_Request* request),
          (send, sends, of, receive, receives, to, comm, request))
MPI_S_OWN(MPI_Iallgatherv,
          (const void* send, int sends, MPI_Datatype of, void* receive, const int* receives,
           const int* places, MPI_Datatype to, MPI_Comm comm, MPI_Request* request),
          (send, sends, of, receive, receives, places, to, comm, request))
MPI_S_OWN(MPI_Iallreduce,
          (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op how, MPI_Comm comm,
           MPI_Request* request),
          (send, receive, count, type, how, comm, request))
MPI_S_OWN(MPI_Ialltoall,
          (const void* send, int sends, MPI_Datatype of, void* receive, int receives, MPI_Datatype to,
           MPI_Comm comm, MPI_Request* request),
          (send, sends, of, receive, receives, to, comm, request))
MPI_S_OWN(MPI_Ialltoallv,
          (const void* send, const int* sends, const int* from, MPI_Datatype of, void* receive,
           const int* receives, const int* at, MPI_Datatype to, MPI_Comm comm, MPI_Request* request),
          (send, sends, from, of, receive, receives, at, to, comm, request))
MPI_S_OWN(MPI_Ibarrier, (MPI_Comm comm, MPI_Request* request), (comm, request))
MPI_S_OWN(MPI_Ibcast,
          (void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request),
          (data, count, type, root, comm, request))
MPI_S_OWN(MPI_Iexscan,
          (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op how, MPI_Comm comm,
           MPI_Request* request),
          (send, receive, count, type, how, comm, request))
MPI_S_OWN(MPI_Iprobe, (int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status),
          (from, tag, comm, flag, status))
MPI_S_OWN(MPI_Irecv,
          (void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request),
          (data, count, type, from, tag, comm, request))
MPI_S_OWN(MPI_Isend,
          (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
           MPI_Request* request),
          (data, count, type, to, tag, comm, request))
MPI_S_OWN(MPI_Recv,
          (void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status),
          (data, count, type, from, tag, comm, status))
MPI_S_OWN(MPI_Request_free, (MPI_Request * request), (request))
MPI_S_OWN(MPI_Request_get_status, (MPI_Request request, int* flag, MPI_Status* status),
          (request, flag, status))
MPI_S_OWN(MPI_Test, (MPI_Request * request, int* flag, MPI_Status* status), (request, flag, status))
MPI_S_OWN(MPI_Type_size, (MPI_Datatype type, int* size), (type, size))
}
