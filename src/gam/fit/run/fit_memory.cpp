// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/run/fit_memory.hpp"

#include "base/errors.hpp"
#include "gam/basis/bases.hpp"
#include "gam/reml/search.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/row_sketch.hpp"
#include "gam/terms/shape.hpp"

#include <tessera/job/reproducible_sum.hpp>
#include <tessera/job/together.hpp>
#include <tessera/topology/memory_shortage.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max() / 4;

/// Memory of any fit: stacks, and rows being evaluated.
constexpr std::int64_t overhead_bytes = std::int64_t{16} << 20;

/// `doubles` is a floating-point number, because sizes of large models overflow integers.
std::int64_t bytes_of(double doubles) {
  return overhead_bytes + (doubles < static_cast<double>(most_bytes) / 8
                               ? static_cast<std::int64_t>(8 * doubles)
                               : most_bytes);
}

class Measure {
 public:
  explicit Measure(const Frame& frame) : frame_(frame) {}

  void add(const ParametricTerm& term) {
    TermShape shape = shape_of(term, frame_);
    take({1, shape.raw, shape.coefficients, 0, true, false}, std::move(shape.components));
  }

  void add(const SmoothSpec& spec, bool nested) {
    TermShape shape = shape_of(spec, frame_);
    // A smooth with a numeric by= variable rarely keeps its constraint.
    const std::int64_t constraints = shape.constrained && !shape.by_number ? 1 : 0;
    const ModelSize::Blocks block{shape.blocks,    shape.raw,    shape.coefficients - constraints,
                                  shape.penalties, shape.random, shape.ridge || shape.diagonal};
    if (nested) {
      size_.nested_raw += block.count * block.raw;
      size_.nested_coef += block.count * block.coef;
    }
    if (block.ridge)
      effects_.push_back({size_.blocks.size(), design_.raw_size, spec.label,
                          shape.diagonal ? shape.components.back().raw_size() : 1});
    take(block, std::move(shape.components));
  }

  [[nodiscard]] ModelSize size(std::int64_t largest_whole_effect, const Series* series) {
    std::vector<EffectSize> sizes;
    for (const RandomEffect& effect : effects_) {
      const ModelSize::Blocks& own = size_.blocks[effect.blocks];
      sizes.push_back({own.coef, own.raw});
    }
    const std::vector<bool> parted = parted_effects(sizes, largest_whole_effect, frame_.complete_rows);
    const auto rows = static_cast<double>(frame_.complete_rows);
    double pairs = 0;
    double of_levels = 0;  // nonzero columns of earlier effects in a row
    int runs = 0;
    for (std::size_t i = 0; i < effects_.size(); ++i) {
      const RandomEffect& effect = effects_[i];
      ModelSize::Blocks& own = size_.blocks[effect.blocks];
      if (!parted[i]) {
        check_coefficients(own.coef, effect.label);
        continue;
      }
      own.parted = true;
      const auto columns = static_cast<double>(own.raw * own.count);
      const bool whole = own.coef <= largest_whole_effect;
      // In a smooth by a factor, a row uses only one level.
      pairs += columns * static_cast<double>((whole ? own.raw : effect.of_level) - 1) / 2 +
               std::min(rows * of_levels * effect.of_level, columns * static_cast<double>(size_.parted_raw));
      of_levels += effect.of_level;
      size_.parted += own.coef * own.count;
      size_.parted_raw += own.raw * own.count;
      runs += static_cast<int>(own.count);
      for (int k = 0; k < own.count; ++k)
        design_.parted_columns.add(effect.raw_begin + k * static_cast<int>(own.raw),
                                   static_cast<int>(own.raw));
    }
    size_.pairs = static_cast<std::int64_t>(std::min(pairs, 1e18));
    size_.raw = design_.raw_size;
    size_.width = static_cast<std::int64_t>(RowLayout(design_, 0, nullptr, series).width(PassKind::step)) +
                  (runs > 1 ? size_.pairs : 0);
    return std::move(size_);
  }

  void take(const ModelSize::Blocks& blocks, std::vector<Component> components) {
    design_.add_term(std::move(components));
    size_.coef += blocks.count * blocks.coef;
    size_.blocks.push_back(blocks);
  }

 private:
  const Frame& frame_;
  Design design_;  ///< raw columns only
  ModelSize size_;
  struct RandomEffect {
    std::size_t blocks;  ///< index among the model's blocks
    int raw_begin;
    std::string label;
    int of_level;  ///< columns per level
  };
  std::vector<RandomEffect> effects_;
};

/// In doubles.
struct Totals {
  double design = 0;    ///< maps and penalties
  double written = 0;   ///< the part of `design` that is written to a model's file
  double bases = 0;     ///< rotations, and the penalties in rotated coordinates
  double products = 0;  ///< (X'WX + S)^-1 S_j
  double largest_map = 0;
  double largest_coef = 0;  ///< largest number of coefficients of a block
  double largest_raw = 0;
  double max_penalty_values = 0;  ///< doubles in the penalties of a block, if it has several
};

Totals totals_of(const ModelSize& size) {
  Totals all;
  const auto core = static_cast<double>(size.coef - size.parted);
  for (const ModelSize::Blocks& one : size.blocks) {
    const auto count = static_cast<double>(one.count);
    const auto coef = static_cast<double>(one.coef);
    const auto penalties = static_cast<double>(one.penalties);
    const double map = static_cast<double>(one.raw) * coef;
    const double squares = penalties * coef * coef;
    // Names and diagonals, which the model's file has too, take 16 doubles per coefficient.
    all.design += count * 16 * coef;
    all.written += count * 16 * coef;
    if (one.parted) continue;
    all.products += count * penalties * core * coef;
    all.largest_coef = std::max(all.largest_coef, coef);
    all.largest_raw = std::max(all.largest_raw, static_cast<double>(one.raw));
    if (one.ridge) continue;
    // A block with several penalties also stores their common eigenvectors.
    all.design += count * (map + squares + (one.penalties > 1 ? coef * coef : 0));
    if (!one.sparse) all.written += count * (map + squares);
    // Sparse blocks store only diagonals; other blocks have dense matrices in their own bases.
    if (!one.sparse) all.bases += count * (coef * coef + (one.penalties > 1 ? 2 * squares : 0));
    all.largest_map = std::max(all.largest_map, map);
    if (one.penalties > 1) all.max_penalty_values = std::max(all.max_penalty_values, penalties * coef * coef);
  }
  return all;
}

bool is_nested(const SmoothSpec& smooth, const FormulaTerms& formula) {
  const auto texts_of = [](const SmoothSpec& one) {
    std::vector<std::string_view> texts;
    for (const MarginSpec& margin : one.margins)
      margin.for_each_variable([&](const Expression& variable) { texts.emplace_back(variable.text); });
    return texts;
  };
  const std::vector<std::string_view> own = texts_of(smooth);
  const auto shares = [&](const SmoothSpec& other) {
    return &other != &smooth && other.by == smooth.by && other.is_side_constrained() &&
           std::ranges::any_of(texts_of(other), [&](std::string_view text) {
             return std::ranges::find(own, text) != own.end();
           });
  };
  return smooth.is_side_constrained() && std::ranges::any_of(formula.smooths, shares);
}

struct MemoryPart {
  std::int64_t FitMemory::*bytes;
  std::string_view name;
};
constexpr std::array parts{MemoryPart{&FitMemory::design, "the design"},
                           MemoryPart{&FitMemory::sums, "the sums over the rows"},
                           MemoryPart{&FitMemory::nesting, "the side conditions of nested smooths"},
                           MemoryPart{&FitMemory::mapping, "the crossproduct"},
                           MemoryPart{&FitMemory::search, "the search for smoothing parameters"},
                           MemoryPart{&FitMemory::results, "the covariance and the tests"},
                           MemoryPart{&FitMemory::writing, "the writing of the model"}};

const MemoryPart& largest_part(const FitMemory& memory) {
  return *std::max_element(parts.begin(), parts.end(), [&](const MemoryPart& a, const MemoryPart& b) {
    return memory.*a.bytes < memory.*b.bytes;
  });
}

}  // namespace

ModelSize size_of_model(const FormulaTerms& formula, const Frame& frame, std::int64_t largest_whole_effect,
                        const Series* series) {
  Measure measure(frame);
  for (int p = 0; p < formula.predictors(); ++p) {
    const FormulaTerms& one = formula.of_predictor(p);
    if (one.intercept) measure.take({}, {});
    for (const ParametricTerm& term : one.parametric) measure.add(term);
    for (const SmoothSpec& spec : one.smooths) measure.add(spec, is_nested(spec, one));
  }
  return measure.size(largest_whole_effect, series);
}

FitMemory memory_of_fit(const ModelSize& size, int sums_at_once, int threads, bool solves, bool on_hosts) {
  const Totals all = totals_of(size);
  const auto square = [&](std::int64_t rows, std::int64_t parted) {
    const auto core = static_cast<double>(rows - parted);
    return core * core + static_cast<double>(parted) * (core + 1) + 1.5 * static_cast<double>(size.pairs);
  };
  const double matrix = square(size.coef, size.parted);
  const auto width = static_cast<double>(size.width);
  const double block = all.largest_coef * all.largest_coef;
  const double gram = square(size.raw, size.parted_raw);  // R'WR

  FitMemory memory;
  // The draft, the design, and for one block the constraint and the products with it.
  memory.design = bytes_of(2 * all.design + all.largest_map + 4 * block);
  // A reproducible sum takes 40 bytes per element, and a partial sum 8; threads share a wide sum. 36 bytes
  // per element are sent to other ranks. The last step's crossproduct exists until it is replaced.
  const int sums = on_hosts && size.width >= std::int64_t{ReproducibleSum::shared_width} ? 1 : sums_at_once;
  memory.sums = bytes_of(all.design + gram + width * (5.0 * sums + sums_at_once + 5.5) + gram);
  if (size.nested_raw > 0) {
    // A sketch per thread, their sum and its matrix; in coefficients two copies, and two for the QR.
    const auto rows = static_cast<double>(sketch_rows(static_cast<int>(size.nested_coef)));
    memory.nesting =
        bytes_of(all.design + gram +
                 rows * (static_cast<double>(size.nested_raw + 1) * (threads + (solves ? 2 : 1)) +
                         (solves ? 4.0 : 0.0) * static_cast<double>(size.nested_coef)));
  }
  if (!solves) return memory;
  memory.mapping =
      bytes_of(all.design + gram + matrix + all.largest_raw * all.largest_raw + 2 * all.largest_map);
  // Three copies of X'WX; an evaluation adds X'WX + S, its factor and inverse, each with an intermediate
  // matrix; graded penalties, and a decomposition of the largest block.
  memory.search = bytes_of(all.design + gram + 7 * matrix + all.bases + all.products +
                           2 * all.max_penalty_values + (all.max_penalty_values > 0 ? 6 * block : 3 * block) +
                           doubles_of_evaluations(static_cast<double>(size.coef - size.parted), threads - 1));
  // Inverse, crossproduct and covariance, with copies in the formula's coordinates.
  const double triangle = size.parted == 0 && size.coef <= largest_triangle ? matrix : 0;
  memory.results = bytes_of(2 * all.design + 8 * matrix + 3 * triangle + 5 * block);
  // Bytes per number: 16 in the JSON document and some 22 characters of text. Both double their capacity as
  // they grow: 116 bytes at most, right after the text has grown.
  memory.writing = bytes_of(all.design + 4 * matrix + triangle + 14.5 * (all.written + triangle / 2));
  return memory;
}

std::int64_t FitMemory::most() const {
  return this->*largest_part(*this).bytes;
}
std::string_view FitMemory::largest() const {
  return largest_part(*this).name;
}

std::string to_string(const FitMemory& memory, const ModelSize& size) {
  return fmt::format(
      "memory: {:.3g} GiB per rank at most, in addition to the rows, for {}: {} coefficients, {} columns",
      static_cast<double>(memory.most()) / (1 << 30), memory.largest(), size.coef, size.raw);
}

std::int64_t require_memory(const FitContext& fit, const Rows& rows) {
  Job& job = fit.job;
  ModelSize size;
  Series series = rows.series;
  if (fit.options.estimate_rho) series.rho = 0.5;  // any nonzero value
  together(job.comm(), [&] {
    size = size_of_model(fit.formula, *rows.frame, fit.options.largest_tested_effect, &series);
  });
  const bool on_devices = fit.plan.on_devices() && !job.on_host();
  // The rank that solves needs memory for the model, and so does rank 0, which receives the solution.
  const Plan unit = job.plan(1);
  const int solver = on_devices ? unit.tiles().front().rank : 0;
  const int rank = job.comm().rank();
  const int sums = on_devices ? static_cast<int>(job.devices().size()) : job.threads();
  const FitMemory memory =
      memory_of_fit(size, std::max(sums, 1), job.threads(), rank == 0 || rank == solver, !on_devices);
  fit.observer.note(to_string(memory, size));
  const auto shortage = find_memory_shortage(job.comm(), memory.most());
  if (!shortage) return memory.most();
  throw base::input_error(
      "a model of {} coefficients in {} columns {}, lower the memory limit for rows, or use a smaller k, "
      "fewer levels or fewer terms",
      size.coef, size.raw, to_string(*shortage));
}

std::int64_t memory_of_elimination(const EliminationOrder& order, int core) {
  // Over the coefficients that are not eliminated: X'WX, X'WX + S, the factor and the inverse. Over the
  // eliminated coefficients: X'WX, the factor and the inverse, with the positions of their elements.
  const double outer = static_cast<double>(order.left()) + core;
  const auto sparse = static_cast<double>(order.lower.rows.size() + order.beside.rows.size());
  return bytes_of(4 * outer * outer + 6 * sparse + 3.0 * order.eliminated() * core);
}

void require_memory(const FitContext& fit, const Design& design, const LevelPairs& pairs) {
  const mpi::Communicator& comm = fit.job.comm();
  const int core = design.raw_size - design.parted_columns.size();
  std::int64_t bytes = 0;
  int left = 0;
  together(comm, [&] {
    if (comm.rank() != 0) return;
    Part part;  // without the core
    for (const Part::Run& run : design.parted_columns.runs()) part.add(part.size(), run.size);
    const EliminationOrder order(PartedMatrix(part.size(), part, pairs.pattern), {});
    bytes = memory_of_elimination(order, core);
    left = order.left();
  });
  const auto shortage = find_memory_shortage(comm, bytes);
  if (comm.rank() == 0)
    fit.observer.note(fmt::format("random effects: {} pairs of levels, {} of {} coefficients eliminated",
                                  pairs.pattern->rows.size(), design.parted_columns.size() - left,
                                  design.parted_columns.size()));
  if (!shortage) return;
  throw base::input_error("random effects with {} pairs of levels {}, or remove one of the random effects",
                          pairs.pattern->rows.size(), to_string(*shortage));
}

}  // namespace TESSERA_NAMESPACE::gam
