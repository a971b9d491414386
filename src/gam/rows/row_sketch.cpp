// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/row_sketch.hpp"

#include "base/at.hpp"
#include "base/hash.hpp"
#include "base/target_clones.hpp"
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

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Each row is added to this many rows of the sketch, one per quarter.
constexpr int row_copies = 4;
/// Hash bits for the position in a quarter; one more bit is the sign.
constexpr int place_bits = 15;
constexpr int largest_sketch = row_copies << place_bits;
constexpr std::int64_t sketched_block = 16'384;
/// Bits of a column's norm as an integer: values use the last 51 bits of a double.
constexpr int largest_digits = 49;

/// Powers of two that scale columns to integers. A sum of n values is at most sqrt(n) times the norm.
std::vector<double> fixed_point(std::span<const double> norms, std::int64_t complete_rows) {
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(complete_rows)));
  const int digits = std::min(largest_digits, 60 - (bits + 1) / 2);
  std::vector<double> scale;
  scale.reserve(norms.size());
  for (const double norm : norms)
    scale.push_back(norm > 0 && std::isfinite(norm) ? std::ldexp(1.0, digits - std::ilogb(norm)) : 0.0);
  return scale;
}

using Four = double __attribute__((vector_size(32)));
using FourIntegers = std::int64_t __attribute__((vector_size(32)));

/// One nonzero, or four in adjacent columns, of a term.
struct Run {
  const double* values;     ///< of the first row
  std::ptrdiff_t nonzeros;  ///< stride between rows
  const int* starts;        ///< by row
  std::ptrdiff_t column;    ///< first column, relative to a row's start
};

struct RowPlaces {
  std::int64_t* lines[row_copies];  ///< rows of the sketch that the row is added to
  std::int64_t signs[row_copies];   ///< 0, or -1 to negate the row
};

/// Adding this constant rounds a double to the nearest integer, held in the last bits of the sum.
constexpr double to_integer = 0x1.8p52;
constexpr auto digits_of_none = std::bit_cast<std::int64_t>(to_integer);

TESSERA_TARGET_CLONES void add_runs_of_four(std::span<const Run> runs, std::span<const RowPlaces> rows,
                                            const double* scale) {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const RowPlaces& places = rows[r];
    for (const Run& run : runs) {
      const std::ptrdiff_t column = run.column + run.starts[r];
      Four values;
      Four factors;
      std::memcpy(&values, run.values + static_cast<std::ptrdiff_t>(r) * run.nonzeros, sizeof values);
      std::memcpy(&factors, scale + column, sizeof factors);
      const FourIntegers whole =
          reinterpret_cast<FourIntegers>(values * factors + to_integer) - digits_of_none;
      for (int copy = 0; copy < row_copies; ++copy) {
        const FourIntegers sign = FourIntegers{} + places.signs[copy];
        FourIntegers sum;
        std::memcpy(&sum, places.lines[copy] + column, sizeof sum);
        sum += (whole ^ sign) - sign;
        std::memcpy(places.lines[copy] + column, &sum, sizeof sum);
      }
    }
  }
}

void add_singles(std::span<const Run> runs, std::span<const RowPlaces> rows, const double* scale) {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const RowPlaces& places = rows[r];
    for (const Run& run : runs) {
      const std::ptrdiff_t column = run.column + run.starts[r];
      const double value = run.values[static_cast<std::ptrdiff_t>(r) * run.nonzeros];
      const std::int64_t whole =
          std::bit_cast<std::int64_t>(value * scale[column] + to_integer) - digits_of_none;
      for (int copy = 0; copy < row_copies; ++copy)
        places.lines[copy][column] += (whole ^ places.signs[copy]) - places.signs[copy];
    }
  }
}

/// A thread's part of the sketch.
class Adder {
 public:
  Adder(const Rows& rows, const RowLayout& layout, std::span<const double> scale, int sketch)
      : rows_(rows),
        view_(layout.view()),
        evaluator_(rows, layout),
        scale_(scale),
        quarter_(static_cast<std::uint64_t>(sketch / row_copies)),
        chunk_(layout),
        places_(chunk_rows),
        sums_(at(sketch) * scale.size()) {
    for (int t = 0; t < view_.term_count; ++t) add_runs_of(view_.terms[t]);
    const std::ptrdiff_t constant = static_cast<std::ptrdiff_t>(scale.size()) - 1;
    singles_.push_back({ones_.data(), 1, zeros_.data(), constant});
  }
  Adder(const Adder&) = delete;
  Adder& operator=(const Adder&) = delete;

  void add(std::size_t begin, std::size_t end) {
    evaluator_.gather(chunk_, begin, end);
    for (int term = 0; term < view_.term_count; ++term) evaluator_.evaluate_term(term, chunk_);
    const auto first = static_cast<std::uint64_t>(rows_.frame->rows.begin);
    for (int r = 0; r < chunk_.count; ++r) draw(first + chunk_.index[at(r)], places_[at(r)]);
    const std::span<const RowPlaces> places(places_.data(), at(chunk_.count));
    add_runs_of_four(fours_, places, scale_.data());
    add_singles(singles_, places, scale_.data());
  }
  [[nodiscard]] std::vector<std::int64_t>& sums() noexcept { return sums_; }

 private:
  void add_runs_of(const TermTable& term) {
    const int* offsets = view_.offsets + view_.placements[term.placement_begin].offset_begin;
    for (int k = 0; k < term.nonzeros;) {
      // Offsets increase: if the first and last differ by 3, all four are adjacent.
      const bool four = k + 4 <= term.nonzeros && offsets[k + 3] == offsets[k] + 3;
      (four ? fours_ : singles_)
          .push_back({chunk_.values_of(term) + k, term.nonzeros, chunk_.starts_of(term.placement_begin),
                      term.raw_begin + offsets[k]});
      k += four ? 4 : 1;
    }
  }

  void draw(std::uint64_t number, RowPlaces& places) {
    std::uint64_t drawn = base::split_mix(number);
    for (std::uint64_t copy = 0; copy < row_copies; ++copy, drawn >>= place_bits + 1) {
      const std::uint64_t place = (drawn & ((1U << place_bits) - 1)) * quarter_ >> place_bits;
      places.lines[copy] = sums_.data() + (copy * quarter_ + place) * scale_.size();
      places.signs[copy] = -static_cast<std::int64_t>(drawn >> place_bits & 1);
    }
  }

  const Rows& rows_;
  LayoutView view_;
  RowEvaluator evaluator_;
  std::span<const double> scale_;  ///< by raw column, then the constant
  std::uint64_t quarter_;
  RowChunk chunk_;
  std::vector<double> ones_ = std::vector<double>(chunk_rows, 1.0);
  std::vector<int> zeros_ = std::vector<int>(chunk_rows);
  std::vector<Run> fours_;  ///< runs of four columns
  std::vector<Run> singles_;
  std::vector<RowPlaces> places_;   ///< by row of the chunk
  std::vector<std::int64_t> sums_;  ///< row-major
};

}  // namespace

int sketch_rows(int columns) noexcept {
  return std::clamp(columns, 256, largest_sketch / row_copies) * row_copies;
}

Matrix row_sketch(Job& job, const Frame& frame, const Design& design, std::span<const double> norms,
                  int sketch) {
  const Rows rows{.frame = &frame, .design = &design, .family = {}, .response = -1};
  std::vector<double> scale;
  std::vector<std::int64_t> sums;
  Matrix out;
  together(job.comm(), [&] {
    std::vector<double> all(norms.begin(), norms.end());
    all.push_back(std::sqrt(static_cast<double>(frame.complete_rows)));
    scale = fixed_point(all, frame.complete_rows);
    const RowLayout layout(design);
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

}  // namespace TESSERA_NAMESPACE::gam
