// SPDX-License-Identifier: Apache-2.0
#include "mpi/finalize.hpp"

#include "mpi/abort.hpp"
#include "mpi/check.hpp"
#include "mpi/exit_barrier.hpp"
#include "mpi/exit_guard.hpp"
#include "mpi/fork.hpp"
#include "mpi/process_owner.hpp"
#include "mpi/rank_group.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::mpi::detail {
namespace {

struct Finalisation {
  bool watched = false;
  std::vector<const AtFinalize*> works;
  std::vector<std::shared_ptr<RankGroup>> groups;
};

/// Never destroyed, because a static object's destructor may call MPI_Finalize.
Finalisation& finalisation() {
  static auto* const all = new Finalisation;
  return *all;
}

/// MPI_Finalize calls this function first, while all MPI calls still work (MPI 3.1, section 8.7.1).
int before_finalize(MPI_Comm, int, void*, void*) {
  if (is_forked_child()) return MPI_SUCCESS;
  // Leaves the groups' communicators to MPI, because MPI_Comm_free in an attribute's delete callback may
  // deadlock.
  const auto groups = finalisation().groups;
  if (exits_watched) (void)pass_exit_barriers(ExitPath::finalize);
  for (const auto& group : groups) group->give_up_channel();
  disarm_exit_guard();
  return MPI_SUCCESS;
}

/// Keeps this library loaded after dlclose, because MPI will call `before_finalize`.
void keep_loaded() noexcept {
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void*>(&before_finalize), &here) != 0)
    (void)dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace

void watch_finalize() {
  if (std::exchange(finalisation().watched, true)) return;
  keep_loaded();
  int key = MPI_KEYVAL_INVALID;
  check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &before_finalize, &key, nullptr),
        "MPI_Comm_create_keyval");
  check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
  check(MPI_Comm_free_keyval(&key), "MPI_Comm_free_keyval");
}

bool pass_exit_barriers(ExitPath path) noexcept {
  const std::vector<const AtFinalize*> works = finalisation().works;
  for (auto work = works.rbegin(); work != works.rend(); ++work) (**work)(path);
  const auto groups = std::exchange(finalisation().groups, {});
  try {
    for (const auto& group : groups) group->depart(path);
    const WatchdogTimeouts timeouts = exit_timeouts(path, std::chrono::milliseconds(0));
    for (const auto& group : groups) exit_barrier(*group, path, timeouts);
    return std::ranges::any_of(groups, [](const auto& group) { return group->is_world(); });
  } catch (const std::exception& fault) {
    say("at the end of the program: ", fault.what());
    return false;
  }
}

AtFinalize::AtFinalize(std::function<void(ExitPath)> work) : work_(std::move(work)) {
  finalisation().works.push_back(this);
}

AtFinalize::~AtFinalize() {
  std::erase(finalisation().works, this);
}

void keep_until_finalize(std::shared_ptr<RankGroup> group) {
  finalisation().groups.push_back(std::move(group));
}

}  // namespace TESSERA_NAMESPACE::mpi::detail
