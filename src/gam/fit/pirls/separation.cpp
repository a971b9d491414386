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

/// Largest distance of a separated row's mean from its limit.
constexpr double near_limit = 1e-3;
/// Least step of a separated row's predictor. Steps are about 1 in such rows, and 0 near a finite estimate.
constexpr double large_step = 0.05;
constexpr std::size_t most_listed = 3;
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

struct Movement {
  std::int64_t running = 0;  ///< rows approaching their limit by a large step; incomplete if `others`
  bool others = false;       ///< whether a row that is not separated moves too
};

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

/// *Collective.* The movement over all ranks. A rank stops after the first block with `others`, which
/// excludes separation. This saves most of the scan: until the iteration has settled, nearly every row moves.
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

/// Levels, or cells of levels, in whose rows all responses satisfy `is_at_limit`: "f 'c' (40 rows)".
template <class IsAtLimit>
std::vector<std::string> limiting_cells(const tessera::Job& job, const Rows& rows, const RawTerm& term,
                                        const IsAtLimit& is_at_limit) {
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
    if (is_at_limit(response(rows, row))) ++sums[cells + cell];
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

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most_listed); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : "; ", names[i]);
  if (names.size() > most_listed) text += fmt::format("; and {} more", names.size() - most_listed);
  return text;
}

/// The limiting cells of all unpenalised terms of a predictor, as text; empty without such cells.
template <class IsAtLimit>
std::string all_limiting_cells(const tessera::Job& job, const Rows& rows, int predictor,
                               const IsAtLimit& is_at_limit) {
  std::vector<std::string> cells;
  for (const RawTerm& term : rows.design->terms) {
    if (term.predictor != predictor || !has_cells(term) || is_penalised(*rows.design, term)) continue;
    for (std::string& cell : limiting_cells(job, rows, term, is_at_limit)) cells.push_back(std::move(cell));
  }
  return list(cells);
}

std::vector<std::string> moving_terms(const tessera::Job& job, const Rows& rows,
                                      std::span<const double> raw_step) {
  std::vector<std::string> labels;
  RowReader reader(*rows.frame, *rows.design);
  std::vector<double> eta(at(rows.family.predictor_count()));
  for (const CoefBlock& block : rows.design->blocks) {
    if (block.variables.empty()) continue;  // the intercept only compensates for other terms
    const auto begin = at(block.raw_begin);
    const auto size = at(block.raw_size);
    std::vector<double> alone(raw_step.size());
    std::copy_n(raw_step.begin() + block.raw_begin, size, alone.begin() + static_cast<std::ptrdiff_t>(begin));
    double largest = 0;
    for (std::size_t row = 0; row < rows.frame->complete.size(); ++row) {
      if (!counts(rows, row)) continue;
      reader.linear_predictors(row, alone, eta);
      for (const double one : eta) largest = std::max(largest, std::abs(one));
    }
    if (job.comm().allreduce(largest, mpi::Reduction::max) >= large_step) labels.push_back(block.label);
  }
  return labels;
}

std::string name_of_class(const Rows& rows, int index) {
  const Variable& variable = rows.frame->variables[at(rows.response)];
  return variable.levels.empty() ? std::to_string(rows.family.first_class() + index)
                                 : fmt::format("'{}'", variable.levels[at(index)]);
}

struct ClassMovement {
  std::int64_t running = 0;    ///< rows in which a large step makes other classes impossible
  std::int64_t others = 0;     ///< other rows that move
  std::int64_t undecided = 0;  ///< rows whose own class has a probability of at most 1/2
};

/// Classifies the effect of a step on rows, for one thread.
class ClassMover {
 public:
  ClassMover(const Rows& rows, std::span<const double> raw_coef, std::span<const double> raw_step,
             double still)
      : rows_(rows),
        predictors_(rows),
        steps_(*rows.frame, *rows.design),
        raw_coef_(raw_coef),
        raw_step_(raw_step),
        still_(still),
        eta_(at(rows.family.predictor_count())),
        step_(eta_.size()),
        shares_(at(rows.family.classes())),
        gains_(shares_.size()) {}

  void add(std::size_t row) {
    predictors_.linear_predictors(row, raw_coef_, eta_);
    rows_.family.respond(eta_, shares_, {});
    const auto own = static_cast<std::size_t>(response(rows_, row)) - at(rows_.family.first_class());
    movement.undecided += shares_[own] > 0.5 ? 0 : 1;
    steps_.linear_predictors(row, raw_step_, step_);
    // `gains_`: how much the step favours each class in this row. This is the change of the log odds against
    // the first class, or for ordered classes a number that rises with the class.
    if (rows_.family.several() != nullptr) {
      std::ranges::copy(step_, gains_.begin() + 1);
    } else {
      for (std::size_t c = 0; c < gains_.size(); ++c)
        gains_[c] = step_[0] * static_cast<double>(c) / static_cast<double>(gains_.size() - 1);
    }
    const auto [least, most] = std::ranges::minmax(gains_);
    if (!(most - least > still_)) return;
    double away = 0;
    for (std::size_t c = 0; c < gains_.size(); ++c) {
      if (gains_[c] < most - still_) away += shares_[c];
    }
    if (gains_[own] < most - still_ || !(away < near_limit))
      ++movement.others;
    else if (most - least >= large_step)
      ++movement.running;
  }

  ClassMovement movement;

 private:
  const Rows& rows_;
  RowReader predictors_;
  RowReader steps_;
  std::span<const double> raw_coef_;
  std::span<const double> raw_step_;
  double still_;
  std::vector<double> eta_;
  std::vector<double> step_;
  std::vector<double> shares_;
  std::vector<double> gains_;
};

ClassMovement movement_of_classes(const tessera::Job& job, const Rows& rows, std::span<const double> raw_coef,
                                  std::span<const double> raw_step, double still) {
  const Frame& frame = *rows.frame;
  std::vector<std::optional<ClassMover>> movers(at(job.threads()));
  job.host_team().for_each_block(frame.rows, rows_of_work, [&](int thread, Range block) {
    std::optional<ClassMover>& mover = movers[at(thread)];
    if (!mover) mover.emplace(rows, raw_coef, raw_step, still);
    for (std::int64_t row = block.begin; row < block.end; ++row) {
      const std::size_t local = at(row - frame.rows.begin);
      if (counts(rows, local)) mover->add(local);
    }
  });
  std::array<std::int64_t, 3> sums{};
  for (const std::optional<ClassMover>& mover : movers) {
    if (!mover) continue;
    sums[0] += mover->movement.running;
    sums[1] += mover->movement.others;
    sums[2] += mover->movement.undecided;
  }
  job.comm().allreduce(std::span<std::int64_t>(sums), mpi::Reduction::sum);
  return {sums[0], sums[1], sums[2]};
}

std::optional<std::string> find_separation_of_classes(const tessera::Job& job, const Rows& rows,
                                                      std::span<const double> raw_coef,
                                                      std::span<const double> raw_step, double still,
                                                      bool without_end) {
  const ClassMovement movement = movement_of_classes(job, rows, raw_coef, raw_step, still);
  const bool whole = without_end && movement.undecided == 0;
  if (!whole && (movement.running == 0 || movement.others > 0)) return std::nullopt;
  const int first = rows.family.first_class();
  const int last = first + rows.family.classes() - 1;
  std::vector<std::string> reasons;
  const auto look = [&](int predictor, const std::string& where, int found, const char* rows_of,
                        const auto& is_at_limit) {
    const std::string cells = all_limiting_cells(job, rows, predictor, is_at_limit);
    if (!cells.empty())
      reasons.push_back(fmt::format("{}the response is {} in {} of {}", where,
                                    name_of_class(rows, found - first), rows_of, cells));
  };
  if (rows.family.several() == nullptr) {
    for (const int end : {first, last}) look(0, "", end, "all rows", [&](double y) { return y == end; });
  } else {
    for (int p = 0; p < rows.family.predictor_count(); ++p) {
      const std::string where = fmt::format("linear predictor {}: ", p + 1);
      for (const int absent : {p + 1, 0})
        look(p, where, absent, "no row", [&](double y) { return y != absent; });
    }
  }
  if (!reasons.empty()) return fmt::format("{}", fmt::join(reasons, ", and "));
  const std::vector<std::string> terms = moving_terms(job, rows, whole ? raw_coef : raw_step);
  return fmt::format(
      "{} separate{} classes: {}", list(terms), terms.size() == 1 ? "s" : "",
      whole ? "the fitted probability of the observed class tends to 1 in all rows"
            : fmt::format("the fitted probability of some classes tends to 0 in {} rows", movement.running));
}

}  // namespace

std::optional<std::string> find_separation(const tessera::Job& job, const Rows& rows,
                                           std::span<const double> raw_coef, std::span<const double> raw_step,
                                           double still, bool without_end) {
  // Without large steps there is no separation, so most fits end without the scan.
  const double largest =
      job.comm().allreduce(predictor_bound(*rows.frame, *rows.design, raw_step), mpi::Reduction::max);
  if (largest < large_step && !without_end) return std::nullopt;
  if (rows.family.has_classes())
    return find_separation_of_classes(job, rows, raw_coef, raw_step, still, without_end);
  const Movement movement = movement_of(job, rows, raw_coef, raw_step, still);
  if (movement.running == 0 || movement.others) return std::nullopt;

  const Limits limits = rows.family.limits();
  std::vector<std::string> reasons;
  for (const double limit : {limits.lower, limits.upper}) {
    if (!limits.has(limit)) continue;
    const std::string cells = all_limiting_cells(job, rows, 0, [&](double y) { return y == limit; });
    if (!cells.empty())
      reasons.push_back(fmt::format("the response is {:g} in all rows of {}", limit, cells));
  }
  if (!reasons.empty()) return fmt::format("{}", fmt::join(reasons, ", and "));
  const std::vector<std::string> terms = moving_terms(job, rows, raw_step);
  return fmt::format("{} separate{} responses of 0 from {}: the fitted means of {} rows tend to {}",
                     list(terms), terms.size() == 1 ? "s" : "",
                     limits.has_upper() ? "responses of 1" : "others", movement.running,
                     limits.has_upper() ? "0 or 1" : "0");
}

}  // namespace TESSERA_NAMESPACE::gam
