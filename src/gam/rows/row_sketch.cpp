// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/row_sketch.hpp"

#include "base/at.hpp"
#include "base/hash.hpp"
#include "gam/rows/chunk.hpp"
#include "gam/rows/layout.hpp"

#include <tessera/job/together.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace tessera::gam {
namespace {

using base::at;

/// Rows of the sketch that a row is added to: each is in a quarter of its own.
constexpr int row_copies = 4;
/// Bits that are drawn for each of them: its place in the quarter, and the sign.
constexpr int place_bits = 15;
constexpr int largest_sketch = row_copies << place_bits;
constexpr std::int64_t sketched_block = 16'384;

/// Powers of two by which columns are multiplied to become integers. A sum of n values is at most sqrt(n)
/// times their norm.
std::vector<double> fixed_point(std::span<const double> norms, std::int64_t complete_rows) {
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(complete_rows)));
  const int room = (bits + 1) / 2;
  std::vector<double> scale;
  scale.reserve(norms.size());
  for (const double norm : norms) {
    scale.push_back(norm > 0 && std::isfinite(norm) ? std::ldexp(1.0, 61 - room - std::ilogb(norm) - 1)
                                                    : 0.0);
  }
  return scale;
}

/// Four neighbouring integers in registers of any processor.
using FourIntegers = std::int64_t __attribute__((vector_size(32)));

/// A row's nonzeros as integers: runs of four neighbouring columns, and single ones.
struct IntegerRow {
  template <class Value>
  struct Entry {
    std::size_t column;  ///< the first
    Value value;
  };

  void add_to(std::int64_t* line, std::int64_t sign) const {
    for (const auto& [column, values] : runs) {
      FourIntegers sum;
      std::memcpy(&sum, line + column, sizeof sum);
      sum = sign > 0 ? sum + values : sum - values;
      std::memcpy(line + column, &sum, sizeof sum);
    }
    for (const auto& [column, value] : singles) line[column] += sign * value;
  }

  std::vector<Entry<FourIntegers>> runs;
  std::vector<Entry<std::int64_t>> singles;
};

/// What one thread adds up.
class Adder {
 public:
  Adder(const Rows& rows, const RowLayout& layout, std::span<const double> scale, int sketch)
      : rows_(rows),
        view_(layout.view()),
        evaluator_(rows, layout),
        scale_(scale),
        quarter_(static_cast<std::uint64_t>(sketch / row_copies)),
        chunk_(view_),
        sums_(at(sketch) * scale.size()) {}

  void add(std::size_t begin, std::size_t end) {
    evaluator_.gather(chunk_, begin, end);
    for (int term = 0; term < view_.term_count; ++term) evaluator_.evaluate_term(term, chunk_);
    for (int r = 0; r < chunk_.count; ++r) {
      read_row(r);
      const auto number = static_cast<std::uint64_t>(rows_.frame->rows.begin) + chunk_.index[at(r)];
      std::uint64_t drawn = base::split_mix(number);
      for (std::uint64_t copy = 0; copy < row_copies; ++copy, drawn >>= place_bits + 1) {
        const std::uint64_t place = (drawn & ((1U << place_bits) - 1)) * quarter_ >> place_bits;
        row_.add_to(sums_.data() + (copy * quarter_ + place) * scale_.size(),
                    (drawn >> place_bits & 1) == 0 ? 1 : -1);
      }
    }
  }
  [[nodiscard]] std::vector<std::int64_t>& sums() noexcept { return sums_; }

 private:
  [[nodiscard]] std::int64_t integer(std::size_t column, double value) const {
    return static_cast<std::int64_t>(value * scale_[column]);
  }

  /// The nonzeros of a row, and the constant behind them.
  void read_row(int r) {
    row_.runs.clear();
    row_.singles.clear();
    for (int t = 0; t < view_.term_count; ++t) {
      const TermTable& term = view_.terms[t];
      const double* values = chunk_.values_of(term) + static_cast<std::ptrdiff_t>(r) * term.nonzeros;
      const int* offsets = view_.offsets + view_.placements[term.placement_begin].offset_begin;
      const int start = term.raw_begin + chunk_.starts_of(term.placement_begin)[r];
      for (int k = 0; k < term.nonzeros;) {
        const std::size_t column = at(start + offsets[k]);
        // Offsets increase, so that the outer two tell of the inner ones.
        if (k + 4 <= term.nonzeros && offsets[k + 3] == offsets[k] + 3) {
          const FourIntegers four{integer(column, values[k]), integer(column + 1, values[k + 1]),
                                  integer(column + 2, values[k + 2]), integer(column + 3, values[k + 3])};
          row_.runs.push_back({column, four});
          k += 4;
        } else {
          row_.singles.push_back({column, integer(column, values[k])});
          ++k;
        }
      }
    }
    row_.singles.push_back({scale_.size() - 1, integer(scale_.size() - 1, 1)});
  }

  const Rows& rows_;
  LayoutView view_;
  RowEvaluator evaluator_;
  std::span<const double> scale_;  ///< of each raw column, and of the constant
  std::uint64_t quarter_;
  RowChunk chunk_;
  IntegerRow row_;
  std::vector<std::int64_t> sums_;  ///< row by row of the sketch
};

}  // namespace

int sketch_rows(int columns) noexcept {
  return std::clamp(columns, 256, largest_sketch / row_copies) * row_copies;
}

Matrix row_sketch(Job& job, const Rows& rows, std::span<const double> norms, int sketch) {
  const Frame& frame = *rows.frame;
  std::vector<double> scale;
  std::vector<std::int64_t> sums;
  Matrix out;
  together(job.comm(), [&] {
    std::vector<double> all(norms.begin(), norms.end());
    all.push_back(std::sqrt(static_cast<double>(frame.complete_rows)));
    scale = fixed_point(all, frame.complete_rows);
    const RowLayout layout(*rows.design);
    std::vector<std::optional<Adder>> adders(at(job.threads()));
    job.host_team().for_each_block(frame.rows, sketched_block, [&](int thread, Range block) {
      std::optional<Adder>& adder = adders[at(thread)];
      if (!adder) adder.emplace(rows, layout, scale, sketch);
      const std::size_t end = at(block.end - frame.rows.begin);
      for (std::size_t next = at(block.begin - frame.rows.begin); next < end; next += chunk_rows)
        adder->add(next, std::min<std::size_t>(end, next + chunk_rows));
    });
    if (job.comm().rank() == 0) out = Matrix(sketch, static_cast<int>(scale.size()));
    sums.resize(at(sketch) * scale.size());
    for (std::optional<Adder>& adder : adders) {
      if (!adder) continue;
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += adder->sums()[i];
      adder.reset();
    }
  });
  job.comm().allreduce(std::span(sums), mpi::Reduction::sum);
  for (int j = 0; j < out.cols(); ++j) {
    if (scale[at(j)] == 0) continue;
    const double unit = 1 / (std::sqrt(static_cast<double>(row_copies)) * scale[at(j)]);
    for (int i = 0; i < sketch; ++i)
      out(i, j) = static_cast<double>(sums[at(i) * scale.size() + at(j)]) * unit;
  }
  return out;
}

}  // namespace tessera::gam
