// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/host.hpp"

#include "base/at.hpp"
#include "gam/family/visit.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace tessera::gam {
namespace {

/// Rows evaluated together: the values of one term stay in the first-level cache, those of all terms in
/// the second. The bits do not depend on it.
constexpr int chunk_rows = 256;

using base::at;

/// One term of a product over the rows of a chunk.
struct Side {
  const double* values;  ///< `nonzeros` a row
  const int* starts;     ///< one a row
};

/// Where the nonzeros of a product's terms meet, from where their places do.
struct Meetings {
  const std::int64_t* lines;  ///< by nonzero of the row term
  const int* offsets;         ///< by nonzero of the column term
};

/// Two neighbouring doubles in one register of any 64-bit processor.
using Two = double __attribute__((vector_size(16)));

/// From wherever they lie: they are aligned as doubles are, not as pairs.
inline Two load_two(const double* from) {
  Two two;
  std::memcpy(&two, from, sizeof two);
  return two;
}
inline void store_two(double* to, Two two) {
  std::memcpy(to, &two, sizeof two);
}

/// out[k] += value * b[k] for four neighbours.
inline void add_four(double* out, double value, const double* b) {
  const Two low = load_two(out) + value * load_two(b);
  const Two high = load_two(out + 2) + value * load_two(b + 2);
  store_two(out, low);
  store_two(out + 2, high);
}

/// Row by row, sums[place_a * columns + lines[i] + place_b + offsets[j]] += a_i b_j, where the offsets come
/// in runs of four. `row_nonzeros` is a constant for the counts that nearly every product has; 0: any number
/// of both.
template <int row_nonzeros>
void add_runs(const Product& product, int count, const Side& row, const Side& column, const Meetings& meet,
              double* sums) {
  constexpr bool any = row_nonzeros == 0;
  const int rows = any ? product.row_nonzeros : row_nonzeros;
  const int columns = any ? product.column_nonzeros : 4;
  const std::int64_t line_size = product.columns;
  for (int r = 0; r < count; ++r) {
    const double* a = row.values + static_cast<std::ptrdiff_t>(r) * rows;
    const double* b = column.values + static_cast<std::ptrdiff_t>(r) * columns;
    double* corner = sums + row.starts[r] * line_size + column.starts[r];
    for (int i = 0; i < rows; ++i) {
      double* line = corner + meet.lines[i];
      // Below its diagonal a symmetric product is not read.
      for (int j = any && product.symmetric ? i / 4 * 4 : 0; j < columns; j += 4) {
        add_four(line + meet.offsets[j], a[i], b + j);
      }
    }
  }
}

/// As `add_runs`, for a column term with one nonzero, and so a row term with one.
void add_single(const Product& product, int count, const Side& row, const Side& column, double* sums) {
  const std::int64_t line_size = product.columns;
  for (int r = 0; r < count; ++r) {
    sums[row.starts[r] * line_size + column.starts[r]] += row.values[r] * column.values[r];
  }
}

/// As `add_runs`, for column offsets that are no runs: a spline that is not the fastest component.
void add_scattered(const Product& product, int count, const Side& row, const Side& column,
                   const Meetings& meet, double* sums) {
  for (int r = 0; r < count; ++r) {
    const double* a = row.values + static_cast<std::ptrdiff_t>(r) * product.row_nonzeros;
    const double* b = column.values + static_cast<std::ptrdiff_t>(r) * product.column_nonzeros;
    double* corner = sums + static_cast<std::int64_t>(row.starts[r]) * product.columns + column.starts[r];
    for (int i = 0; i < product.row_nonzeros; ++i) {
      double* line = corner + meet.lines[i];
      for (int j = 0; j < product.column_nonzeros; ++j) line[meet.offsets[j]] += a[i] * b[j];
    }
  }
}

}  // namespace

/// The complete rows of a run of rows, as arrays over them. Arrays over terms and placements follow one
/// another with `chunk_rows` rows each.
struct HostRows::Chunk {
  explicit Chunk(const LayoutView& view)
      : index(chunk_rows),
        response(chunk_rows),
        offset(chunk_rows),
        prior(chunk_rows),
        eta(chunk_rows),
        weight(chunk_rows),
        first(chunk_rows),
        part(4 * at(chunk_rows)),
        starts(at(view.placement_count) * chunk_rows),
        values(at(view.values_per_row) * chunk_rows),
        weighted(values.size()) {}

  [[nodiscard]] double* values_of(const TermTable& term) {
    return values.data() + term.value_begin * chunk_rows;
  }
  [[nodiscard]] int* starts_of(int placement) {
    return starts.data() + static_cast<std::ptrdiff_t>(placement) * chunk_rows;
  }

  int count = 0;
  std::vector<std::size_t> index;  ///< local rows
  std::vector<double> response, offset, prior, eta, weight;
  std::vector<int> first;    ///< places of one component
  std::vector<double> part;  ///< values of one component
  std::vector<int> starts;
  std::vector<double> values;    ///< of the terms, then the residual
  std::vector<double> weighted;  ///< the same times the row's weight, unless that is 1 in every row
  bool unit_weights = false;
};

/// A chunk's buffers for the duration of one call, whatever thread makes it.
class HostRows::Lease {
 public:
  explicit Lease(HostRows& owner) : owner_(owner) {
    {
      const std::lock_guard lock(owner.mutex_);
      if (!owner.idle_.empty()) {
        chunk_ = std::move(owner.idle_.back());
        owner.idle_.pop_back();
      }
    }
    if (!chunk_) chunk_ = std::make_unique<Chunk>(owner.view_);
  }
  ~Lease() {
    const std::lock_guard lock(owner_.mutex_);
    owner_.idle_.push_back(std::move(chunk_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Chunk& operator*() const { return *chunk_; }

 private:
  HostRows& owner_;
  std::unique_ptr<Chunk> chunk_;
};

HostRows::HostRows(const Rows& rows, const RowLayout& layout)
    : rows_(rows), layout_(layout), view_(layout.view()) {}

HostRows::~HostRows() = default;

void HostRows::add(PassKind kind, std::span<const double> raw_coef, std::size_t begin, std::size_t end,
                   std::span<double> sums) {
  const Lease lease(*this);
  Chunk& chunk = *lease;
  for (std::size_t next = begin; next < end; next += chunk_rows) {
    gather_rows(chunk, next, std::min<std::size_t>(end, next + chunk_rows));
    for (int term = 0; term < view_.term_count; ++term) {
      evaluate_term(term, chunk);
      if (kind != PassKind::moments) add_predictor(term, raw_coef, chunk);
    }
    visit(rows_.family, [&](const auto& family) { finish_rows(kind, family, chunk, sums.data()); });
    for (const Product& product : layout_.products(kind)) add_product(product, chunk, sums.data());
  }
}

/// Finds the complete rows among local rows [begin, end) and gathers what the response needs of them.
void HostRows::gather_rows(Chunk& chunk, std::size_t begin, std::size_t end) const {
  const Frame& frame = *rows_.frame;
  int count = 0;
  for (std::size_t row = begin; row < end; ++row) {
    chunk.index[at(count)] = row;
    count += frame.complete[row] != 0 ? 1 : 0;
  }
  chunk.count = count;
  const auto gather = [&](int variable, double factor, std::vector<double>& out) {
    const double* numbers = frame.variables[at(variable)].numbers.data();
    for (int r = 0; r < count; ++r) out[at(r)] = factor * numbers[chunk.index[at(r)]];
  };
  gather(rows_.response, rows_.response_factor, chunk.response);
  std::fill(chunk.offset.begin(), chunk.offset.end(), 0.0);
  for (const int variable : rows_.offsets) {
    const double* numbers = frame.variables[at(variable)].numbers.data();
    for (int r = 0; r < count; ++r)
      chunk.offset[at(r)] += rows_.response_factor * numbers[chunk.index[at(r)]];
  }
  if (rows_.prior_weight >= 0) {
    gather(rows_.prior_weight, rows_.prior_factor, chunk.prior);
  } else {
    std::fill(chunk.prior.begin(), chunk.prior.end(), 1.0);
  }
  chunk.eta = chunk.offset;
  int* zero_starts = chunk.starts_of(view_.terms[view_.term_count].placement_begin);
  std::fill(zero_starts, zero_starts + count, 0);
}

void HostRows::evaluate_component(const ComponentTable& component, const Chunk& chunk, int* __restrict starts,
                                  double* __restrict values) const {
  const Variable& variable = rows_.frame->variables[at(component.variable)];
  const std::size_t* index = chunk.index.data();
  switch (component.kind) {
    case Component::Kind::numeric:
      std::fill_n(starts, chunk.count, 0);
      std::fill_n(values, chunk.count, 0.0);
      for (int part = 0; part < component.parts; ++part) {
        const int column = view_.part_variables[component.part_begin + part];
        const double* numbers = rows_.frame->variables[at(column)].numbers.data();
        const double* standard = view_.numbers + component.part_numbers + std::ptrdiff_t{2} * part;
        for (int r = 0; r < chunk.count; ++r) values[r] += numeric_part(standard, numbers[index[r]]);
      }
      break;
    case Component::Kind::factor:
      for (int r = 0; r < chunk.count; ++r) {
        starts[r] = variable.codes[index[r]];
        values[r] = 1;
      }
      break;
    case Component::Kind::spline: {
      const double* numbers = variable.numbers.data();
      const MarginTable margin = component.margin;
      for (int r = 0; r < chunk.count; ++r) {
        const Located located = locate(margin, view_.numbers, numbers[index[r]]);
        starts[r] = located.first;
        local_values(margin, view_.numbers, located, values + std::ptrdiff_t{4} * r);
      }
      break;
    }
  }
}

/// Values and starts of one term.
void HostRows::evaluate_term(int term_index, Chunk& chunk) const {
  const TermTable& term = view_.terms[term_index];
  const int count = chunk.count;
  double* values = chunk.values_of(term);
  for (int p = term.placement_begin; p < term.placement_end; ++p) {
    int* starts = chunk.starts_of(p);
    std::fill(starts, starts + count, 0);
  }
  if (term.component_begin == term.component_end) std::fill(values, values + count, 1.0);
  int nonzeros = 1;
  for (int c = term.component_begin; c < term.component_end; ++c) {
    const ComponentTable& component = view_.components[c];
    const bool spline = component.kind == Component::Kind::spline;
    const bool only_one_yet = c == term.component_begin;
    double* part = only_one_yet ? values : chunk.part.data();
    evaluate_component(component, chunk, chunk.first.data(), part);
    if (only_one_yet) {
      nonzeros = spline ? 4 : 1;
    } else if (spline) {
      // Rows grow to four times their length, so the last goes first.
      for (int r = count - 1; r >= 0; --r) {
        double* from = values + static_cast<std::ptrdiff_t>(r) * nonzeros;
        double* to = values + static_cast<std::ptrdiff_t>(r) * nonzeros * 4;
        std::copy_backward(from, from + nonzeros, to + nonzeros);
        expand_by_four(to, nonzeros, part + static_cast<std::ptrdiff_t>(4) * r);
      }
      nonzeros *= 4;
    } else {
      for (int r = 0; r < count; ++r) {
        for (int k = 0; k < nonzeros; ++k) values[r * nonzeros + k] *= part[r];
      }
    }
    for (int p = term.placement_begin; p < term.placement_end; ++p) {
      const int stride = view_.strides[view_.placements[p].stride_begin + c - term.component_begin];
      int* starts = chunk.starts_of(p);
      for (int r = 0; r < count; ++r) starts[r] += stride * chunk.first[at(r)];
    }
  }
}

/// eta += the term's values times its coefficients.
void HostRows::add_predictor(int term_index, std::span<const double> raw_coef, Chunk& chunk) const {
  const TermTable& term = view_.terms[term_index];
  const double* values = chunk.values_of(term);
  const int* starts = chunk.starts_of(term.placement_begin);
  const int* offsets = view_.offsets + view_.placements[term.placement_begin].offset_begin;
  const double* coef = raw_coef.data() + term.raw_begin;
  const auto add = [&](auto nonzeros) {
    for (int r = 0; r < chunk.count; ++r, values += nonzeros) {
      double sum = 0;
      for (int k = 0; k < nonzeros; ++k) sum += coef[starts[r] + offsets[k]] * values[k];
      chunk.eta[at(r)] += sum;
    }
  };
  if (term.nonzeros == 4) {
    add(std::integral_constant<int, 4>{});
  } else {
    add(term.nonzeros);
  }
}

/// Weights and residuals from eta; adds the scalars to `sums`.
template <RowFamily F>
void HostRows::finish_rows(PassKind kind, const F& family, Chunk& chunk, double* sums) const {
  double* residual = chunk.values_of(view_.terms[view_.term_count]);
  for (int r = 0; r < chunk.count; ++r) {
    const auto i = at(r);
    const RowOutcome row =
        row_outcome(kind, family, chunk.response[i], chunk.eta[i], chunk.offset[i], chunk.prior[i]);
    chunk.weight[i] = row.weight;
    residual[r] = row.residual;
    for (int k = 0; k < RowLayout::scalar_count; ++k) sums[k] += row.scalars[k];
    if (kind != PassKind::moments && row.scalars[2] != 0) clear_row(r, chunk);
  }
  chunk.unit_weights = kind == PassKind::moments || (F::linear && rows_.prior_weight < 0);
  if (chunk.unit_weights || kind == PassKind::deviance) return;
  for (int term = 0; term <= view_.term_count; ++term) {
    const int nonzeros = view_.terms[term].nonzeros;
    const std::ptrdiff_t begin = view_.terms[term].value_begin * chunk_rows;
    const double* __restrict values = chunk.values.data() + begin;
    double* __restrict weighted = chunk.weighted.data() + begin;
    for (int r = 0; r < chunk.count; ++r) {
      const double weight = chunk.weight[at(r)];
      for (int k = 0; k < nonzeros; ++k, ++values, ++weighted) *weighted = weight * *values;
    }
  }
}

/// Makes a bad row give nothing to any product, whatever its weight: its values need not be finite.
void HostRows::clear_row(int r, Chunk& chunk) const {
  for (int term = 0; term <= view_.term_count; ++term) {
    const int nonzeros = view_.terms[term].nonzeros;
    std::fill_n(chunk.values_of(view_.terms[term]) + static_cast<std::ptrdiff_t>(r) * nonzeros, nonzeros,
                0.0);
  }
}

/// Adds what the chunk's rows give to one pair of terms.
void HostRows::add_product(const Product& product, const Chunk& chunk, double* sums) const {
  const auto side = [&](int term, int placement, const std::vector<double>& values) {
    return Side{values.data() + view_.terms[term].value_begin * chunk_rows,
                chunk.starts.data() + static_cast<std::ptrdiff_t>(placement) * chunk_rows};
  };
  const Side row =
      side(product.row_term, product.row_placement, chunk.unit_weights ? chunk.values : chunk.weighted);
  const Side column = side(product.column_term, product.column_placement, chunk.values);
  const Meetings meet{view_.lines + product.line_begin, view_.offsets + product.offset_begin};
  double* out = sums + product.begin;
  const int rows = product.row_nonzeros;
  const int columns = product.column_nonzeros;
  if (columns == 1) {
    add_single(product, chunk.count, row, column, out);
  } else if (!product.runs_of_four) {
    add_scattered(product, chunk.count, row, column, meet, out);
  } else if (rows == 1 && columns == 4) {
    add_runs<1>(product, chunk.count, row, column, meet, out);
  } else if (rows == 4 && columns == 4) {
    add_runs<4>(product, chunk.count, row, column, meet, out);
  } else {
    add_runs<0>(product, chunk.count, row, column, meet, out);
  }
}

}  // namespace tessera::gam
