// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/separation.hpp"

#include "base/at.hpp"
#include "gam/fit/pirls/predictor_bound.hpp"
#include "gam/rows/chunk.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/row_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// A row can count as separated if its mean is closer to the limit than this.
constexpr double near_limit = 1e-3;
/// Minimum step of a separated row in the linear predictor: about 1 there, and about 0 near an estimate.
constexpr double large_step = 0.05;
/// Maximum number of levels or terms that a message lists.
constexpr std::size_t most_listed = 3;
/// Rows in a block of work.
constexpr std::int64_t rows_of_work = 4096;

double prior_weight(const Rows& rows, std::size_t row) {
  if (rows.prior_weight < 0) return 1;
  return rows.frame->variables[at(rows.prior_weight)].numbers[row];
}

double response(const Rows& rows, std::size_t row) {
  return rows.frame->variables[at(rows.response)].numbers[row];
}

bool counts(const Rows& rows, std::size_t row) {
  return rows.frame->complete[row] != 0 && prior_weight(rows, row) > 0;
}

/// Effect of a step on the rows of a rank.
struct Movement {
  std::int64_t running = 0;  ///< rows that approach their limit by a large step; incomplete if `others`
  bool others = false;       ///< some other rows move too
};

/// Counts the movements of the rows of one thread, a chunk at a time.
class Mover {
 public:
  Mover(const Rows& rows, const RowLayout& layout, std::span<const double> raw_coef,
        std::span<const double> raw_step, double still)
      : rows_(rows),
        evaluator_(rows, layout),
        raw_coef_(raw_coef),
        raw_step_(raw_step),
        still_(still),
        terms_(layout.view().term_count),
        chunk_(layout) {}

  /// Adds local rows [begin, end), at most `chunk_rows`.
  void add(std::size_t begin, std::size_t end) {
    evaluator_.gather(chunk_, begin, end);
    std::fill(chunk_.eta.begin(), chunk_.eta.end(), 0.0);
    for (int term = 0; term < terms_; ++term) {
      evaluator_.evaluate_term(term, chunk_);
      evaluator_.add_predictor(term, raw_step_, chunk_);
    }
    step_ = chunk_.eta;
    bool at_coef = false;
    for (int r = 0; r < chunk_.count; ++r) {
      if (!(std::abs(step_[at(r)]) > still_) || !counts(rows_, chunk_.index[at(r)])) continue;
      if (!at_coef) move_to_coef();
      at_coef = true;
      if (!runs_off(r))
        movement_.others = true;
      else if (std::abs(step_[at(r)]) >= large_step)
        ++movement_.running;
    }
  }
  [[nodiscard]] const Movement& movement() const noexcept { return movement_; }

 private:
  void move_to_coef() {
    chunk_.eta = chunk_.offset;
    for (int term = 0; term < terms_; ++term) evaluator_.add_predictor(term, raw_coef_, chunk_);
  }
  /// Whether a row is separated: its response is a limit of the mean, its mean is near that limit, and the
  /// step moves the mean closer.
  [[nodiscard]] bool runs_off(int r) const {
    const double y = response(rows_, chunk_.index[at(r)]);
    const double step = step_[at(r)];
    const Limits limits = rows_.family.limits();
    if (!limits.has(y) || (y == limits.lower ? step > 0 : step < 0)) return false;
    return std::abs(rows_.family.mean(chunk_.eta[at(r)]) - y) < near_limit;
  }

  const Rows& rows_;
  RowEvaluator evaluator_;
  std::span<const double> raw_coef_;
  std::span<const double> raw_step_;
  double still_;
  int terms_;
  RowChunk chunk_;
  std::vector<double> step_;
  Movement movement_;
};

/// *Collective.* The movement over all ranks. A rank stops after the first block with `others`, which decides
/// the answer. This saves most of the scan: until the iteration has settled, nearly every row moves.
Movement movement_of(const tessera::Job& job, const Rows& rows, std::span<const double> raw_coef,
                     std::span<const double> raw_step, double still) {
  const Frame& frame = *rows.frame;
  const RowLayout layout(*rows.design);
  std::vector<std::optional<Mover>> movers(at(job.threads()));
  std::atomic<bool> others = false;
  job.host_team().for_each_block(frame.rows, rows_of_work, [&](int thread, Range block) {
    if (others.load(std::memory_order_relaxed)) return;
    std::optional<Mover>& mover = movers[at(thread)];
    if (!mover) mover.emplace(rows, layout, raw_coef, raw_step, still);
    const std::size_t end = at(block.end - frame.rows.begin);
    for (std::size_t next = at(block.begin - frame.rows.begin); next < end; next += chunk_rows)
      mover->add(next, std::min<std::size_t>(end, next + chunk_rows));
    if (mover->movement().others) others.store(true, std::memory_order_relaxed);
  });
  std::array<std::int64_t, 2> sums{};
  for (const std::optional<Mover>& mover : movers) {
    if (!mover) continue;
    sums[0] += mover->movement().running;
    sums[1] += mover->movement().others ? 1 : 0;
  }
  job.comm().allreduce(std::span<std::int64_t>(sums), mpi::Reduction::sum);
  return {sums[0], sums[1] > 0};
}

/// True if a term's raw columns are indicators of the cells of factors.
bool has_cells(const RawTerm& term) {
  return !term.components.empty() &&
         std::all_of(term.components.begin(), term.components.end(),
                     [](const Component& c) { return c.kind == Component::Kind::factor; });
}

bool is_penalised(const Design& design, const RawTerm& term) {
  return std::any_of(design.blocks.begin(), design.blocks.end(), [&](const CoefBlock& block) {
    return block.penalty && block.raw_begin < term.raw_begin + term.raw_size &&
           term.raw_begin < block.raw_begin + block.raw_size;
  });
}

std::string name_of_cell(const Rows& rows, const RawTerm& term, std::size_t cell) {
  std::string name;
  // The last component varies fastest, and belongs to the first variable of the formula's term.
  for (auto component = term.components.rbegin(); component != term.components.rend(); ++component) {
    const Variable& variable = rows.frame->variables[at(component->variable)];
    const std::size_t levels = variable.levels.size();
    name += fmt::format("{}{} '{}'", name.empty() ? "" : ", ", variable.name, variable.levels[cell % levels]);
    cell /= levels;
  }
  return name;
}

/// Levels, or cells of levels, whose rows all have responses at the same limit: "f 'c' (40 rows)".
std::vector<std::string> limiting_cells(const tessera::Job& job, const Rows& rows, const RawTerm& term,
                                        double limit) {
  const Frame& frame = *rows.frame;
  const auto cells = at(term.raw_size);
  std::vector<std::int64_t> sums(2 * cells);  // per cell: number of rows, and number of rows at the limit
  for (std::size_t row = 0; row < frame.complete.size(); ++row) {
    if (!counts(rows, row)) continue;
    std::size_t cell = 0;
    for (const Component& component : term.components) {
      const Variable& variable = frame.variables[at(component.variable)];
      cell = cell * variable.levels.size() + at(variable.codes[row]);
    }
    ++sums[cell];
    if (response(rows, row) == limit) ++sums[cells + cell];
  }
  job.comm().allreduce(std::span(sums), mpi::Reduction::sum);
  std::vector<std::string> names;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    if (sums[cell] == 0 || sums[cells + cell] < sums[cell]) continue;
    names.push_back(
        fmt::format("{} ({} row{})", name_of_cell(rows, term, cell), sums[cell], sums[cell] == 1 ? "" : "s"));
  }
  return names;
}

/// Labels of the blocks whose contribution moves rows by large steps.
std::vector<std::string> moving_terms(const tessera::Job& job, const Rows& rows,
                                      std::span<const double> raw_step) {
  std::vector<std::string> labels;
  RowReader reader(*rows.frame, *rows.design);
  for (const CoefBlock& block : rows.design->blocks) {
    if (block.variables.empty()) continue;  // the intercept only compensates for other terms
    const auto begin = at(block.raw_begin);
    const auto size = at(block.raw_size);
    std::vector<double> alone(raw_step.size());
    std::copy_n(raw_step.begin() + block.raw_begin, size, alone.begin() + static_cast<std::ptrdiff_t>(begin));
    double largest = 0;
    for (std::size_t row = 0; row < rows.frame->complete.size(); ++row) {
      if (counts(rows, row)) largest = std::max(largest, std::abs(reader.linear_predictor(row, alone)));
    }
    if (job.comm().allreduce(largest, mpi::Reduction::max) >= large_step) labels.push_back(block.label);
  }
  return labels;
}

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most_listed); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : "; ", names[i]);
  if (names.size() > most_listed) text += fmt::format("; and {} more", names.size() - most_listed);
  return text;
}

}  // namespace

std::optional<std::string> find_separation(const tessera::Job& job, const Rows& rows,
                                           std::span<const double> raw_coef, std::span<const double> raw_step,
                                           double still) {
  // Without large steps there is no separation, so most fits end without the scan.
  const double largest =
      job.comm().allreduce(predictor_bound(*rows.frame, *rows.design, raw_step), mpi::Reduction::max);
  if (largest < large_step) return std::nullopt;
  const Movement movement = movement_of(job, rows, raw_coef, raw_step, still);
  if (movement.running == 0 || movement.others) return std::nullopt;

  const Limits limits = rows.family.limits();
  std::vector<std::string> reasons;
  for (const double limit : {limits.lower, limits.upper}) {
    if (!limits.has(limit)) continue;
    std::vector<std::string> cells;
    for (const RawTerm& term : rows.design->terms) {
      if (!has_cells(term) || is_penalised(*rows.design, term)) continue;
      for (std::string& cell : limiting_cells(job, rows, term, limit)) cells.push_back(std::move(cell));
    }
    if (!cells.empty())
      reasons.push_back(fmt::format("the response is {:g} in all rows of {}", limit, list(cells)));
  }
  if (!reasons.empty()) return fmt::format("{}", fmt::join(reasons, ", and "));
  const std::vector<std::string> terms = moving_terms(job, rows, raw_step);
  return fmt::format("{} separate{} responses of 0 from {}: the fitted means of {} rows tend to {}",
                     list(terms), terms.size() == 1 ? "s" : "", limits.has_upper() ? "those of 1" : "others",
                     movement.running, limits.has_upper() ? "0 or 1" : "0");
}

}  // namespace TESSERA_NAMESPACE::gam
