// SPDX-License-Identifier: Apache-2.0
#include "gam/data/frame/column_statistics.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/ordered_key.hpp"
#include "gam/data/frame/extents.hpp"
#include "gam/data/frame/frame_part.hpp"
#include "gam/formula/orthogonal_polynomial.hpp"

#include <tessera/job/reproducible_sum.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

class ColumnSummary {
 public:
  ColumnSummary(const Workers& workers, Range rows, std::int64_t block, const Statistic& statistic,
                const RowValues& values)
      : workers_(workers), rows_(rows), block_(block), statistic_(statistic), values_(values) {}

  std::vector<double> run() {
    switch (statistic_.kind) {
      case Statistic::Kind::levels: return levels();
      case Statistic::Kind::range: return range(-infinity, infinity);
      case Statistic::Kind::moments: return moments();
      case Statistic::Kind::polynomial:
        return polynomial(at(static_cast<std::int64_t>(statistic_.arguments[0])));
      case Statistic::Kind::quantiles: return quantiles();
    }
    return {};
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  [[noreturn]] void refuse(std::string_view why) const {
    throw base::input_error("{} {}", statistic_.call, why);
  }

  /// *Collective.* Calls `use(thread, values)` with the non-missing values of each block.
  template <class Use>
  void for_each_block(const Use& use) const {
    std::vector<std::vector<double>> buffers(at(workers_.team.size()));
    together(workers_.comm, [&] {
      workers_.team.for_each_block(rows_, block_, [&](int thread, Range block) {
        std::vector<double>& buffer = buffers[at(thread)];
        buffer.resize(at(block.size()));
        values_(at(block.begin - rows_.begin), buffer);
        std::erase_if(buffer, [](double value) { return std::isnan(value); });
        use(thread, std::span<const double>(buffer));
      });
    });
  }

  /// *Collective.* Reproducible sums over all values of the job.
  template <class Add>
  [[nodiscard]] std::vector<double> summed(std::size_t width, const Add& add) const {
    std::vector<ReproducibleSum> sums(at(workers_.team.size()), ReproducibleSum(width));
    for_each_block([&](int thread, std::span<const double> values) {
      std::vector<double> partial(width);
      for (const double value : values) add(value, std::span(partial));
      if (!std::ranges::all_of(partial, [](double sum) { return std::isfinite(sum); }))
        refuse("is infinite in a row: leave the row out or make the value NA");
      sums[at(thread)].add(std::span<const double>(partial));
    });
    for (std::size_t i = 1; i < sums.size(); ++i) sums.front().merge(sums[i]);
    sums.front().allreduce(workers_.comm);
    return sums.front().values();
  }

  [[nodiscard]] std::vector<double> levels() const {
    std::vector<std::vector<double>> met(at(workers_.team.size()));
    const auto make_distinct = [](std::vector<double>& values) {
      std::ranges::sort(values);
      values.erase(std::unique(values.begin(), values.end()), values.end());
    };
    const auto check = [&](const std::vector<double>& values) {
      if (values.size() > max_levels)
        refuse(fmt::format("has more than {} levels: leave it out", max_levels));
    };
    for_each_block([&](int thread, std::span<const double> values) {
      std::vector<double>& mine = met[at(thread)];
      for (const double value : values) mine.push_back(value + 0.0);
      make_distinct(mine);
      check(mine);
    });
    std::vector<double> mine;
    for (const std::vector<double>& one : met) mine.insert(mine.end(), one.begin(), one.end());
    make_distinct(mine);
    std::vector<double> all = workers_.comm.allgatherv(std::span<const double>(mine));
    make_distinct(all);
    check(all);
    return all;
  }

  [[nodiscard]] std::vector<double> range(double lower, double upper) const {
    std::vector<Extent> of_threads(at(workers_.team.size()));
    for_each_block([&](int thread, std::span<const double> values) {
      for (const double value : values) {
        if (value >= lower && value <= upper) of_threads[at(thread)].add(value);
      }
    });
    std::array<Extent, 1> all;
    for (const Extent& one : of_threads) all[0].add(one);
    unite(workers_.comm, all);
    if (all[0].empty()) refuse("has no value: leave it out");
    if (!std::isfinite(all[0].min) || !std::isfinite(all[0].max))
      refuse("is infinite in a row: leave the row out or make the value NA");
    return {all[0].min, all[0].max};
  }

  struct Mean {
    double count;
    double mean;
  };
  [[nodiscard]] Mean mean() const {
    const std::vector<double> sums = summed(2, [](double value, std::span<double> out) {
      out[0] += 1;
      out[1] += value;
    });
    if (sums[0] < 2) refuse("has fewer than two values: leave it out");
    return {sums[0], sums[1] / sums[0]};
  }

  [[nodiscard]] std::vector<double> moments() const {
    const auto [count, centre] = mean();
    const double about = centre;
    const std::vector<double> sums = summed(2, [about](double value, std::span<double> out) {
      out[0] += (value - about) * (value - about);
      out[1] += value * value;
    });
    if (!(sums[0] > 0)) refuse("is the same in every row: leave it out");
    return {centre, std::sqrt(sums[0] / (count - 1)), std::sqrt(sums[1] / (count - 1))};
  }

  /// The coefficients of R's poly(): degree recurrence terms, then degree + 1 squared norms.
  [[nodiscard]] std::vector<double> polynomial(std::size_t degree) const {
    const double centre = mean().mean;
    // A polynomial with a smaller sum of squares, relative to that of x^j, is zero up to rounding.
    constexpr double nothing = 1e-24;
    std::vector<double> alpha;
    std::vector<double> square;
    double sum_of_powers = 0;
    for (std::size_t j = 0; j <= degree; ++j) {
      const std::vector<double> sums = summed(3, [&](double value, std::span<double> out) {
        const double x = value - centre;
        const double z = orthogonal_polynomial(alpha.data(), square.data(), j, x);
        double power = 1;
        for (std::size_t i = 0; i < j; ++i) power *= x;
        out[0] += z * z;
        out[1] += x * z * z;
        out[2] += power * power;
      });
      sum_of_powers = sums[2];
      if (!(sums[0] > nothing * sum_of_powers))
        refuse(fmt::format("has only {} distinct values: give a degree below this number", j));
      square.push_back(sums[0]);
      if (j < degree) alpha.push_back(sums[1] / sums[0]);
    }
    for (double& one : alpha) one += centre;
    alpha.insert(alpha.end(), square.begin(), square.end());
    return alpha;
  }

  /// *Collective.* The values at `places` (from 0) among the sorted values in [lower, upper], by radix
  /// selection on the bytes of their keys (`base::ordered_key`).
  [[nodiscard]] std::vector<double> select(std::span<const std::int64_t> places, double lower,
                                           double upper) const {
    constexpr std::size_t digits = 256;
    std::vector<std::uint64_t> keys(places.size(), 0);
    std::vector<std::int64_t> before(places.begin(), places.end());
    for (int shift = 56; shift >= 0; shift -= 8) {
      std::vector<std::vector<std::int64_t>> counts(at(workers_.team.size()),
                                                    std::vector<std::int64_t>(digits * places.size()));
      for_each_block([&](int thread, std::span<const double> values) {
        for (const double value : values) {
          if (!(value >= lower && value <= upper)) continue;
          const std::uint64_t key = base::ordered_key(value);
          for (std::size_t p = 0; p < keys.size(); ++p) {
            if (shift < 56 && (key >> (shift + 8)) != (keys[p] >> (shift + 8))) continue;
            ++counts[at(thread)][p * digits + ((key >> shift) & (digits - 1))];
          }
        }
      });
      for (std::size_t t = 1; t < counts.size(); ++t) {
        for (std::size_t i = 0; i < counts[0].size(); ++i) counts[0][i] += counts[t][i];
      }
      workers_.comm.allreduce(std::span(counts[0]), mpi::Reduction::sum);
      for (std::size_t p = 0; p < keys.size(); ++p) {
        std::size_t digit = 0;
        for (; digit + 1 < digits && before[p] >= counts[0][p * digits + digit]; ++digit)
          before[p] -= counts[0][p * digits + digit];
        keys[p] |= std::uint64_t{digit} << shift;
      }
    }
    std::vector<double> out;
    for (const std::uint64_t key : keys) out.push_back(base::value_of_key(key));
    return out;
  }

  /// The minimum, the maximum, and R's type-7 quantiles at the probabilities `arguments[4…]`.
  [[nodiscard]] std::vector<double> quantiles() const {
    const double lower = statistic_.arguments[0];
    const double upper = statistic_.arguments[1];
    std::vector<double> out = range(lower, upper);
    const std::span probabilities = std::span(statistic_.arguments).subspan(4);
    if (probabilities.empty()) return out;
    const double count = summed(1, [&](double value, std::span<double> sums) {
      sums[0] += value >= lower && value <= upper ? 1 : 0;
    })[0];
    std::vector<std::int64_t> places;
    for (const double probability : probabilities) {
      const double index = 1 + (count - 1) * probability;
      places.push_back(static_cast<std::int64_t>(std::floor(index)) - 1);
      places.push_back(static_cast<std::int64_t>(std::ceil(index)) - 1);
    }
    const std::vector<double> found = select(places, lower, upper);
    for (std::size_t i = 0; i < probabilities.size(); ++i) {
      const double low = found[2 * i];
      const double high = found[2 * i + 1];
      const double index = 1 + (count - 1) * probabilities[i];
      const double h = index - std::floor(index);
      out.push_back(low == high || h == 0 ? low : (1 - h) * low + h * high);
    }
    return out;
  }

  const Workers& workers_;
  Range rows_;
  std::int64_t block_;
  const Statistic& statistic_;
  const RowValues& values_;
};

}  // namespace

std::vector<double> statistic_of(const Workers& workers, Range rows, std::int64_t block,
                                 const Statistic& statistic, const RowValues& values) {
  return ColumnSummary(workers, rows, block, statistic, values).run();
}

}  // namespace TESSERA_NAMESPACE::gam
