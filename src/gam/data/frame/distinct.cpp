// SPDX-License-Identifier: Apache-2.0
// Order statistics of the distinct values of a column whose rows are distributed over ranks.
#include "gam/data/frame/distinct.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/hash.hpp"
#include "base/ordered_key.hpp"
#include "gam/data/frame/extents.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::ordered_key;
using base::sign_bit;
using base::value_of_key;

template <class T>
void sort_distinct(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

/// *Collective.* Distributes the keys over the ranks by hash. `keys` and the result are sorted and distinct.
std::vector<std::uint64_t> spread(const mpi::Communicator& comm, std::vector<std::uint64_t> keys) {
  if (comm.size() == 1) return keys;
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto rank_of = [ranks](std::uint64_t key) { return base::split_mix(key) % ranks; };
  std::vector<std::size_t> counts(ranks);
  for (const std::uint64_t key : keys) ++counts[rank_of(key)];
  std::vector<std::size_t> next(ranks);
  std::exclusive_scan(counts.begin(), counts.end(), next.begin(), std::size_t{0});
  std::vector<std::uint64_t> outgoing(keys.size());
  for (const std::uint64_t key : keys) outgoing[next[rank_of(key)]++] = key;
  std::vector<std::uint64_t>().swap(keys);
  std::vector<std::uint64_t> mine =
      comm.alltoallv(std::span<const std::uint64_t>(outgoing), std::span<const std::size_t>(counts));
  std::vector<std::uint64_t>().swap(outgoing);
  sort_distinct(mine);
  return mine;
}

const ColumnNumbers& numbers_of(const Frame& frame, int variable) {
  const Variable& column = frame.variables.at(static_cast<std::size_t>(variable));
  if (column.factor)
    throw base::usage_error(
        "'{0}' is text, but a spline needs numbers: write s({0}, bs=\"re\") for an effect "
        "of each level, or s(NUMBER, by={0}) for a curve of each",
        column.name);
  return column.numbers;
}

struct KeyRange {
  std::uint64_t first = 0;
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
};

void add_keys(const Frame& frame, const ColumnNumbers& numbers, Range rows, KeyRange range,
              std::vector<std::uint64_t>& keys) {
  numbers.prepare_to_read(base::at(rows.begin), base::at(rows.end));
  for (std::size_t i = base::at(rows.begin); i < base::at(rows.end); ++i) {
    if (frame.complete[i] == 0) continue;
    const std::uint64_t key = ordered_key(numbers[i]);
    if (key < range.first || key > range.last || (!keys.empty() && keys.back() == key)) continue;
    // Remove duplicates before the list grows, because most rows may share few values.
    if (keys.size() == keys.capacity()) {
      sort_distinct(keys);
      keys.reserve(2 * keys.size() + 1);
    }
    keys.push_back(key);
  }
}

/// The sorted distinct keys in `range` of this rank's complete rows, about `expected` keys. Threads sort
/// shares of the rows, then merge pairs of shares.
std::vector<std::uint64_t> local_keys(const Workers& workers, const Frame& frame,
                                      const ColumnNumbers& numbers, KeyRange range, std::int64_t expected) {
  constexpr std::int64_t rows_of_run = 1 << 16;
  const auto rows = static_cast<std::int64_t>(numbers.size());
  constexpr std::int64_t most_of_share = 1 << 18;
  const std::int64_t share = std::clamp<std::int64_t>((rows - 1) / workers.team.size() + 1, 1, most_of_share);
  std::vector<std::vector<std::uint64_t>> shares(base::at((rows + share - 1) / share));
  workers.team.for_each_block({0, rows}, share, [&](int /*thread*/, Range part) {
    std::vector<std::uint64_t>& keys = shares[base::at(part.begin / share)];
    // Reserve generously, because untouched pages cost nothing.
    keys.reserve(base::at(std::min(part.size(), expected)));
    for (std::int64_t begin = part.begin; begin < part.end; begin += rows_of_run)
      add_keys(frame, numbers, {begin, std::min(part.end, begin + rows_of_run)}, range, keys);
    sort_distinct(keys);
  });
  for (std::size_t width = 1; width < shares.size(); width *= 2) {
    workers.team.for_each_block(
        {0, std::ssize(shares)}, 2 * static_cast<std::int64_t>(width), [&](int /*thread*/, Range pair) {
          const std::size_t first = base::at(pair.begin);
          if (first + width >= shares.size()) return;
          std::vector<std::uint64_t> both;
          both.reserve(shares[first].size() + shares[first + width].size());
          std::ranges::set_union(shares[first], shares[first + width], std::back_inserter(both));
          shares[first] = std::move(both);
          std::vector<std::uint64_t>().swap(shares[first + width]);
        });
  }
  return shares.empty() ? std::vector<std::uint64_t>() : std::move(shares.front());
}

/// *Collective.* The keys at these positions of the job's sorted keys, by bisection: one allreduce per bit.
std::vector<std::uint64_t> select(const mpi::Communicator& comm, std::span<const std::uint64_t> keys,
                                  std::span<const std::int64_t> positions) {
  std::vector<std::uint64_t> found(positions.size(), 0);
  std::vector<std::int64_t> below(positions.size());
  for (std::uint64_t bit = sign_bit; bit != 0; bit >>= 1) {
    for (std::size_t t = 0; t < positions.size(); ++t)
      below[t] = std::lower_bound(keys.begin(), keys.end(), found[t] | bit) - keys.begin();
    comm.allreduce(std::span(below), mpi::Reduction::sum);
    // If at most `position` keys are smaller, the sought key has this bit.
    for (std::size_t t = 0; t < positions.size(); ++t) {
      if (below[t] <= positions[t]) found[t] |= bit;
    }
  }
  return found;
}

/// The distinct keys of a column, distributed over the ranks, in as many ranges as memory requires. All
/// member functions are *collective*.
class DistinctKeys {
 public:
  DistinctKeys(const Workers& workers, const Frame& frame, const ColumnNumbers& numbers,
               std::span<const double> extra, std::int64_t at_once)
      : workers_(workers), frame_(frame), numbers_(numbers), at_once_(at_once) {
    for (const double value : extra) extra_.push_back(ordered_key(value));
    cut();
    for (std::size_t range = 0; range < ranges_.size(); ++range) {
      load(range);
      begins_.push_back(begins_.back() + workers.comm.allreduce(std::ssize(keys_), mpi::Reduction::sum));
    }
  }

  [[nodiscard]] std::int64_t count() const { return begins_.back(); }

  [[nodiscard]] std::vector<std::uint64_t> at(std::span<const std::int64_t> places) {
    std::vector<std::uint64_t> found(places.size());
    for (std::size_t range = 0; range < ranges_.size(); ++range) {
      std::vector<std::size_t> these;
      std::vector<std::int64_t> here;
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (places[i] < begins_[range] || places[i] >= begins_[range + 1]) continue;
        these.push_back(i);
        here.push_back(places[i] - begins_[range]);
      }
      if (here.empty()) continue;
      load(range);
      const std::vector<std::uint64_t> keys = select(workers_.comm, keys_, here);
      for (std::size_t i = 0; i < these.size(); ++i) found[these[i]] = keys[i];
    }
    return found;
  }

 private:
  /// Cuts the keys into ranges with about equal numbers of rows, based on a sample of the column.
  void cut() {
    constexpr std::int64_t most_sampled = 4096;
    const mpi::Communicator& comm = workers_.comm;
    const auto rows = static_cast<std::int64_t>(numbers_.size());
    const std::int64_t ranges =
        comm.allreduce(rows == 0 ? 1 : (rows - 1) / at_once_ + 1, mpi::Reduction::max);
    ranges_.assign(1, {});
    if (ranges == 1) return;
    std::vector<std::uint64_t> mine;
    for (std::int64_t row = 0; row < rows; row += (rows - 1) / most_sampled + 1) {
      if (frame_.complete[base::at(row)] != 0) mine.push_back(ordered_key(numbers_[base::at(row)]));
    }
    std::vector<std::uint64_t> sample = comm.allgatherv(std::span<const std::uint64_t>(mine));
    std::sort(sample.begin(), sample.end());
    for (std::int64_t range = 1; range < ranges && !sample.empty(); ++range) {
      const std::uint64_t first = sample[base::at(range * std::ssize(sample) / ranges)];
      if (first <= ranges_.back().first) continue;
      ranges_.back().last = first - 1;
      ranges_.push_back({.first = first});
    }
  }

  void load(std::size_t range) {
    if (loaded_ == range) return;
    loaded_ = range;
    std::vector<std::uint64_t>().swap(keys_);
    std::vector<std::uint64_t> keys = local_keys(workers_, frame_, numbers_, ranges_[range], at_once_);
    for (const std::uint64_t key : extra_) {
      if (key < ranges_[range].first || key > ranges_[range].last) continue;
      const auto place = std::lower_bound(keys.begin(), keys.end(), key);
      if (place == keys.end() || *place != key) keys.insert(place, key);
    }
    keys_ = spread(workers_.comm, std::move(keys));
  }

  const Workers& workers_;
  const Frame& frame_;
  const ColumnNumbers& numbers_;
  std::int64_t at_once_;
  std::vector<std::uint64_t> extra_;
  std::vector<KeyRange> ranges_;
  std::vector<std::int64_t> begins_ = {0};  ///< position of each range's first key, then the number of keys
  std::optional<std::size_t> loaded_;
  std::vector<std::uint64_t> keys_;  ///< this rank's keys in the current range
};

/// Number of values of a column that a rank may hold at once, in three copies: as many as fit into a quarter
/// of the memory for columns, but at least `least`.
std::int64_t values_at_once(const RowMemory& memory) {
  constexpr std::int64_t least = std::int64_t{1} << 21;
  constexpr auto copies = static_cast<std::int64_t>(3 * sizeof(std::uint64_t));
  return std::max(least, memory.bytes() / 4 / copies);
}

}  // namespace

Distinct distinct_values(const Workers& workers, const Frame& frame, int variable, std::int64_t enough) {
  const mpi::Communicator& comm = workers.comm;
  const ColumnNumbers& numbers = numbers_of(frame, variable);
  // Few values are needed, so a sorted list per thread is faster than sorting the column.
  std::vector<std::vector<double>> met(base::at(workers.team.size()));
  const Extent extent = extent_of(workers, frame, variable);
  for_each_run(workers, frame, [&](int thread, std::size_t begin, std::size_t end) {
    numbers.prepare_to_read(begin, end);
    std::vector<double>& found = met[base::at(thread)];
    for (std::size_t i = begin; i < end && std::ssize(found) < enough; ++i) {
      if (frame.complete[i] == 0) continue;
      const double value = numbers[i] + 0.0;
      const auto position = std::lower_bound(found.begin(), found.end(), value);
      if (position == found.end() || *position != value) found.insert(position, value);
    }
  });
  std::vector<double> found;
  for (const std::vector<double>& one : met) found.insert(found.end(), one.begin(), one.end());
  sort_distinct(found);
  std::int64_t count = comm.allreduce(std::min<std::int64_t>(std::ssize(found), enough), mpi::Reduction::max);
  if (count < enough) {  // no rank has found enough by itself
    std::vector<double> all = comm.allgatherv(std::span<const double>(found));
    sort_distinct(all);
    count = std::ssize(all);
  }
  if (count == 0) return {};
  return {std::min(count, enough), extent.min, extent.max};
}

std::vector<double> distinct_quantiles(const Workers& workers, const Frame& frame, int variable, int count,
                                       std::span<const double> extra, std::optional<std::int64_t> at_once) {
  if (count < 1) throw base::usage_error("{} quantiles are requested: request 1 or more", count);
  DistinctKeys values(workers, frame, numbers_of(frame, variable), extra,
                      at_once.value_or(values_at_once(frame.memory)));
  if (values.count() == 0)
    throw base::input_error("{} has no value in any complete row: leave it out of the formula",
                            frame.variables.at(static_cast<std::size_t>(variable)).name);
  // Hyndman and Fan, The American Statistician 50 (1996), definition 7, computed as in R's quantile(): place
  // = 1 + (m - 1) p, (1 - h) x[floor] + h x[ceiling].
  std::vector<std::int64_t> positions;
  std::vector<double> fractions;
  const double step = count > 1 ? 1.0 / (count - 1) : 0.0;
  for (int i = 0; i < count; ++i) {
    const double probability = count > 1 && i == count - 1 ? 1.0 : i * step;
    const double position = 1 + static_cast<double>(values.count() - 1) * probability;
    positions.push_back(static_cast<std::int64_t>(std::floor(position)) - 1);
    positions.push_back(static_cast<std::int64_t>(std::ceil(position)) - 1);
    fractions.push_back(position - std::floor(position));
  }
  const std::vector<std::uint64_t> keys = values.at(positions);
  std::vector<double> result;
  for (std::size_t i = 0; i < fractions.size(); ++i) {
    const double low = value_of_key(keys[2 * i]);
    const double high = value_of_key(keys[2 * i + 1]);
    const double h = fractions[i];
    result.push_back(low == high || h == 0 ? low : (1 - h) * low + h * high);
  }
  return result;
}

}  // namespace TESSERA_NAMESPACE::gam
