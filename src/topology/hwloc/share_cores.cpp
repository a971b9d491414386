// SPDX-License-Identifier: Apache-2.0
#include "topology/hwloc/share_cores.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

namespace TESSERA_NAMESPACE::detail {
namespace {

/// Counts the ranks that share a resource of a node, and numbers them.
template <class Thing>
class Sharers {
 public:
  void add(int node, const Thing& thing) { ++all_[{node, thing}]; }

  struct Place {
    int ranks = 1;
    int before = 0;
  };
  /// Call once for each rank, in rank order.
  Place next(int node, const Thing& thing) { return {all_.at({node, thing}), taken_[{node, thing}]++}; }

 private:
  std::map<std::pair<int, Thing>, int> all_;
  std::map<std::pair<int, Thing>, int> taken_;
};

template <class Place>
int part(int whole, const Place& place) {
  return std::max(1, whole / place.ranks + (place.before < whole % place.ranks ? 1 : 0));
}

std::string counted(int number, const char* thing) {
  return std::to_string(number) + ' ' + thing + (number == 1 ? "" : "s");
}

std::string shared_by(int ranks) {
  return ranks == 1 ? std::string() : ", shared by " + counted(ranks, "rank");
}

std::string decimal(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

}  // namespace

std::vector<CoreShare> share_cores(std::span<const RankCores> ranks) {
  Sharers<std::string> of_cpuset;
  Sharers<CgroupId> of_group;
  for (const RankCores& rank : ranks) {
    of_cpuset.add(rank.node, rank.cpuset);
    for (const CpuQuota& quota : rank.quotas) of_group.add(rank.node, quota.group);
  }
  std::vector<CoreShare> shares;
  shares.reserve(ranks.size());
  for (const RankCores& rank : ranks) {
    CoreShare share;
    const auto place = of_cpuset.next(rank.node, rank.cpuset);
    share.usable = std::max(1, rank.threads);
    share.fair = part(rank.threads, place);
    share.from = "its " + counted(rank.threads, "hardware thread") + shared_by(place.ranks);
    for (const CpuQuota& quota : rank.quotas) {
      const auto in_group = of_group.next(rank.node, quota.group);
      const int fair = part(quota.threads(), in_group);
      share.usable = std::min(share.usable, quota.threads());
      if (fair >= share.fair) continue;
      share.fair = fair;
      share.from = "a cgroup's quota of " + decimal(quota.cores) + (quota.cores == 1 ? " core" : " cores") +
                   shared_by(in_group.ranks);
    }
    shares.push_back(std::move(share));
  }
  return shares;
}

}  // namespace TESSERA_NAMESPACE::detail
