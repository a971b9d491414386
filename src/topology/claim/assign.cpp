// SPDX-License-Identifier: Apache-2.0
#include "topology/claim/assign.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>

#include "topology/claim/matching.hpp"

namespace TESSERA_NAMESPACE::detail {
namespace {

/// Numbers ranks as rows and devices as columns in ascending order, so that the matching breaks ties by rank
/// and UUID.
class Sights {
 public:
  explicit Sights(std::span<const Sighting> sightings) {
    for (const Sighting& s : sightings) {
      ranks_.push_back(s.rank);
      uuids_.push_back(s.uuid);
    }
    sort_unique(ranks_);
    sort_unique(uuids_);
    for (const Sighting& s : sightings) {
      const std::size_t device = place(uuids_, s.uuid);
      const auto [at, first] = distance_.try_emplace({device, place(ranks_, s.rank)}, s.distance);
      if (!first) at->second = std::min(at->second, s.distance);
      elsewhere_.resize(uuids_.size(), 0);
      elsewhere_[device] = std::max(elsewhere_[device], s.users_elsewhere);
    }
  }

  [[nodiscard]] std::size_t ranks() const { return ranks_.size(); }
  [[nodiscard]] std::size_t devices() const { return uuids_.size(); }
  [[nodiscard]] int rank(std::size_t row) const { return ranks_[row]; }
  [[nodiscard]] const Uuid& uuid(std::size_t device) const { return uuids_[device]; }
  /// Distance by (device, row), ordered by device and then row.
  [[nodiscard]] const auto& distances() const { return distance_; }
  /// Number of ranks of other jobs, by device.
  [[nodiscard]] const std::vector<int>& elsewhere() const { return elsewhere_; }
  [[nodiscard]] bool is_free(std::size_t device) const { return elsewhere_[device] == 0; }

 private:
  template <class T>
  static void sort_unique(std::vector<T>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  }
  template <class T>
  static std::size_t place(const std::vector<T>& values, const T& value) {
    return static_cast<std::size_t>(std::lower_bound(values.begin(), values.end(), value) - values.begin());
  }

  std::vector<int> ranks_;
  std::vector<Uuid> uuids_;
  std::map<std::pair<std::size_t, std::size_t>, int> distance_;
  std::vector<int> elsewhere_;
};

struct Use {
  std::size_t row;
  int distance;
  std::size_t device;
  friend auto operator<=>(const Use&, const Use&) = default;
};

std::vector<Use> match_one_each(const Sights& sights) {
  std::vector<Edge> edges;
  int nearest = 0;  // the matching requires nonnegative costs
  for (const auto& [seen, distance] : sights.distances()) nearest = std::min(nearest, distance);
  for (const auto& [seen, distance] : sights.distances())
    if (sights.is_free(seen.first))
      edges.push_back({seen.second, seen.first, std::int64_t{distance} - nearest});
  const auto matched = best_matching(sights.ranks(), sights.devices(), edges);
  std::vector<Use> uses;
  for (std::size_t row = 0; row < matched.size(); ++row)
    if (matched[row]) uses.push_back({row, sights.distances().at({*matched[row], row}), *matched[row]});
  return uses;
}

/// Second step of `assign_devices`: assigns the remaining devices.
void hand_out_rest(const Sights& sights, std::vector<Use>& uses) {
  std::vector<std::size_t> held(sights.ranks(), 0);
  std::vector<char> used(sights.devices(), 0);
  for (const Use& use : uses) {
    ++held[use.row];
    used[use.device] = 1;
  }
  for (auto seen = sights.distances().begin(); seen != sights.distances().end();) {
    const std::size_t device = seen->first.first;
    std::tuple best(seen->second, held[seen->first.second], seen->first.second);
    for (; seen != sights.distances().end() && seen->first.first == device; ++seen)
      best = std::min(best, std::tuple(seen->second, held[seen->first.second], seen->first.second));
    if (used[device] != 0 || !sights.is_free(device)) continue;
    const auto& [distance, count, row] = best;
    uses.push_back({row, distance, device});
    ++held[row];
  }
}

/// Last step of `assign_devices`: ranks without a device share one.
void share(const Sights& sights, std::vector<Use>& uses) {
  std::vector<char> busy(sights.ranks(), 0);
  std::vector<int> sharers = sights.elsewhere();
  for (const Use& use : uses) {
    busy[use.row] = 1;
    ++sharers[use.device];
  }
  for (std::size_t row = 0; row < sights.ranks(); ++row) {
    if (busy[row] != 0) continue;
    // Every row has a device to share, because rows are ranks that see a device.
    std::optional<std::tuple<int, int, std::size_t>> best;
    for (std::size_t device = 0; device < sights.devices(); ++device) {
      const auto seen = sights.distances().find({device, row});
      if (seen == sights.distances().end()) continue;
      const std::tuple join(sharers[device], seen->second, device);
      best = best ? std::min(*best, join) : join;
    }
    const auto& [count, distance, device] = *best;
    uses.push_back({row, distance, device});
    ++sharers[device];
  }
}

}  // namespace

std::vector<Assignment> assign_devices(std::span<const Sighting> sightings, bool allow_sharing) {
  const Sights sights(sightings);
  auto uses = match_one_each(sights);
  hand_out_rest(sights, uses);
  if (allow_sharing) share(sights, uses);

  std::vector<int> sharers = sights.elsewhere();
  for (const Use& use : uses) ++sharers[use.device];
  std::sort(uses.begin(), uses.end());
  std::vector<Assignment> assignments;
  assignments.reserve(uses.size());
  for (const Use& use : uses)
    assignments.push_back({sights.rank(use.row), sights.uuid(use.device), sharers[use.device]});
  return assignments;
}

}  // namespace TESSERA_NAMESPACE::detail
