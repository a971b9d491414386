// SPDX-License-Identifier: Apache-2.0
#include <tessera/topology/memory_shortage.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/message.hpp"
#include "topology/claim/nodes.hpp"
#include "topology/linux/host_identity.hpp"
#include "topology/worst_shortage.hpp"

namespace TESSERA_NAMESPACE {
namespace {

/// A limit as sent to other ranks, without `source`.
struct SentLimit : MemoryLimit {
  void members(const auto& to) { to(scope, group, limit_bytes, free_bytes); }
};

std::vector<detail::MemoryNeed> gather_needs(const mpi::Communicator& comm, std::int64_t bytes,
                                             std::span<const MemoryLimit> limits) {
  std::vector<SentLimit> mine;
  for (const MemoryLimit& limit : limits) mine.push_back({limit});
  const auto of_ranks = base::allgather_values(comm, std::move(mine));
  const auto needed = comm.allgather(bytes);
  const auto nodes = detail::nodes_of_ranks(comm, detail::this_boot_id(), detail::this_hostname());
  std::vector<detail::MemoryNeed> needs;
  for (std::size_t r = 0; r < needed.size(); ++r)
    needs.push_back({nodes[r], needed[r], {of_ranks[r].begin(), of_ranks[r].end()}});
  return needs;
}

// Identifies a limit. Ranks of a cgroup or node share its limits; a process's limit belongs to one rank.
using LimitKey = std::tuple<int, MemoryLimit::Scope, CgroupId, std::int64_t, int>;

LimitKey key_of(std::span<const detail::MemoryNeed> ranks, std::size_t rank, const MemoryLimit& limit) {
  const int owner = limit.scope == MemoryLimit::Scope::process ? static_cast<int>(rank) : -1;
  return {ranks[rank].node, limit.scope, limit.group, limit.limit_bytes, owner};
}

std::map<LimitKey, detail::Shortage> needs_by_limit(std::span<const detail::MemoryNeed> ranks) {
  std::map<LimitKey, detail::Shortage> all;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (std::size_t i = 0; i < ranks[r].limits.size(); ++i) {
      const MemoryLimit& limit = ranks[r].limits[i];
      const detail::Shortage first{static_cast<int>(r), i, 0, 0, 0};
      detail::Shortage& here = all.try_emplace(key_of(ranks, r, limit), first).first->second;
      ++here.ranks;
      // Sums saturate instead of overflowing.
      constexpr auto most = std::numeric_limits<std::int64_t>::max();
      here.needed_bytes += std::min(ranks[r].bytes, most - here.needed_bytes);
      here.free_bytes = std::max(here.free_bytes, limit.free_bytes);
    }
  }
  return all;
}

std::string gib(std::int64_t bytes) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.4g", static_cast<double>(bytes) / (1 << 30));
  return text.data();
}

const char* advice_for(MemoryLimit::Scope scope) {
  switch (scope) {
    case MemoryLimit::Scope::process: return "use more ranks, or raise this limit";
    case MemoryLimit::Scope::cgroup: return "use more nodes, or ask for more memory (Slurm: --mem)";
    case MemoryLimit::Scope::node: return "use more nodes";
  }
  return "";
}

}  // namespace

std::optional<detail::Shortage> detail::worst_shortage(std::span<const MemoryNeed> ranks) {
  std::optional<Shortage> worst;
  const auto is_worse = [](const Shortage& a, const Shortage& b) {
    const auto missing = [](const Shortage& s) { return s.needed_bytes - s.free_bytes; };
    return std::tuple(-missing(a), a.rank, a.limit) < std::tuple(-missing(b), b.rank, b.limit);
  };
  for (const auto& [key, here] : needs_by_limit(ranks)) {
    if (here.needed_bytes <= here.free_bytes) continue;
    if (!worst || is_worse(here, *worst)) worst = here;
  }
  return worst;
}

std::int64_t detail::share_of(std::span<const MemoryNeed> ranks, std::size_t rank) {
  const auto all = needs_by_limit(ranks);
  std::int64_t share = ranks[rank].bytes;
  for (const MemoryLimit& limit : ranks[rank].limits) {
    const Shortage& here = all.at(key_of(ranks, rank, limit));
    if (here.needed_bytes <= here.free_bytes) continue;
    const double part = static_cast<double>(here.free_bytes) / static_cast<double>(here.needed_bytes);
    share = std::min(share, static_cast<std::int64_t>(static_cast<double>(ranks[rank].bytes) * part));
  }
  return share;
}

namespace {

/// *Collective.* `needs` of all ranks, `limits` of this rank.
std::optional<MemoryShortage> describe_worst(const mpi::Communicator& comm,
                                             std::span<const detail::MemoryNeed> needs,
                                             std::span<const MemoryLimit> limits) {
  const auto worst = detail::worst_shortage(needs);
  if (!worst) return std::nullopt;
  const bool is_here = comm.rank() == worst->rank;
  MemoryShortage shortage;
  shortage.rank = worst->rank;
  shortage.ranks = worst->ranks;
  shortage.hostname = comm.broadcast_text(is_here ? detail::this_hostname() : std::string(), worst->rank);
  shortage.needed_bytes = worst->needed_bytes;
  shortage.limit = needs[static_cast<std::size_t>(worst->rank)].limits[worst->limit];
  shortage.limit.free_bytes = worst->free_bytes;
  shortage.limit.source =
      comm.broadcast_text(is_here ? limits[worst->limit].source : std::string(), worst->rank);
  return shortage;
}

}  // namespace

std::optional<MemoryShortage> find_memory_shortage(const mpi::Communicator& comm, std::int64_t bytes) {
  const auto limits = host_limits().memory;
  return describe_worst(comm, gather_needs(comm, bytes, limits), limits);
}

MemoryShare share_memory(const mpi::Communicator& comm, std::int64_t bytes,
                         std::optional<std::int64_t> node_bytes) {
  constexpr std::int64_t kept_part = 4;
  auto limits = host_limits().memory;
  for (MemoryLimit& limit : limits) limit.free_bytes -= limit.free_bytes / kept_part;
  if (node_bytes) limits.push_back({MemoryLimit::Scope::node, {}, *node_bytes, *node_bytes, {}});
  const auto needs = gather_needs(comm, bytes, limits);
  return {detail::share_of(needs, static_cast<std::size_t>(comm.rank())),
          describe_worst(comm, needs, limits)};
}

std::string to_string(const MemoryShortage& shortage) {
  const std::string ranks = shortage.ranks == 1 ? "rank " + std::to_string(shortage.rank)
                                                : std::to_string(shortage.ranks) + " ranks";
  return "need " + gib(shortage.needed_bytes) + " GiB on " + shortage.hostname + " (" + ranks + "), where " +
         gib(shortage.limit.free_bytes) + " of " + gib(shortage.limit.limit_bytes) + " GiB are left by " +
         shortage.limit.source + ": " + advice_for(shortage.limit.scope);
}

}  // namespace TESSERA_NAMESPACE
