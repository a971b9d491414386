// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/host_threads.hpp>

#include "base/number.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace TESSERA_NAMESPACE {
namespace {

/// OMP_NUM_THREADS may be a list, "8,2", for nested parallelism.
std::optional<int> first_number(std::string_view list) {
  const auto number = base::parse_number<int>(base::trimmed(list.substr(0, list.find(',')), " \t\n"));
  return number && *number >= 1 ? number : std::nullopt;
}

}  // namespace

HostThreads choose_threads(int asked, const InventoryRank& rank) {
  if (asked > 0) return {asked, "as requested", {}};
  HostThreads threads;
  for (const char* variable : {"OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"}) {
    const char* const text = std::getenv(variable);
    if (text == nullptr || *text == '\0') continue;
    const auto number = first_number(text);
    if (!number) {
      threads.ignored =
          std::string(variable) + "='" + text + "' is ignored, because the value is not a number of threads";
      continue;
    }
    const int usable = std::max(1, rank.usable_threads);
    threads.count = std::min(*number, usable);
    threads.from = variable;
    if (*number > usable)
      threads.from +=
          "=" + std::to_string(*number) + ", but only " + std::to_string(usable) + " can run at once";
    return threads;
  }
  threads.count = std::max(1, rank.fair_threads);
  threads.from = rank.fair_threads_from;
  return threads;
}

}  // namespace TESSERA_NAMESPACE
