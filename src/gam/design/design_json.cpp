// SPDX-License-Identifier: Apache-2.0
#include "gam/design/design_json.hpp"

#include "gam/basis/bases.hpp"
#include "gam/basis/isotropic.hpp"
#include "gam/basis/thin_plate.hpp"

#include <tessera/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

namespace TESSERA_NAMESPACE::gam {
namespace {

using SortedJson = nlohmann::json;

using files::JsonField;

/// Limits the memory for matrices from a file: a short text can declare a large matrix, because zeros are
/// omitted. The limit is a multiple of the size of the full covariance, which the file contains.
class NumbersLeft {
 public:
  /// `splines`: maximum number in a term; a spline has up to twice as many raw columns as coefficients.
  NumbersLeft(std::int64_t coefficients, int splines)
      : left_(least + (per_covariance + (std::int64_t{2} << splines)) * coefficients * coefficients) {}

  [[nodiscard]] Matrix matrix(const JsonField& field, int rows, int cols) {
    const std::int64_t count = std::int64_t{rows} * cols;
    if (count > left_)
      field.refuse(fmt::format(
          "has {} x {} numbers, more than a model with this number of coefficients needs", rows, cols));
    left_ -= count;
    return {rows, cols};
  }

 private:
  static constexpr std::int64_t least = std::int64_t{1} << 23;
  static constexpr std::int64_t per_covariance = 64;
  std::int64_t left_;
};

/// Writes a matrix; a mostly zero one (selections, wrapping maps, bands) as (row, column, value).
SortedJson matrix_json(const Matrix& matrix) {
  SortedJson json{{"rows", matrix.rows()}, {"cols", matrix.cols()}};
  const auto values = matrix.values();
  const auto zeros = std::count(values.begin(), values.end(), 0.0);
  if (3 * (static_cast<std::ptrdiff_t>(values.size()) - zeros) >=
      static_cast<std::ptrdiff_t>(values.size())) {
    json["values"] = std::vector<double>(values.begin(), values.end());
    return json;
  }
  SortedJson entries = SortedJson::array();
  for (int j = 0; j < matrix.cols(); ++j) {
    for (int i = 0; i < matrix.rows(); ++i) {
      if (matrix(i, j) != 0) entries.push_back({i, j, matrix(i, j)});
    }
  }
  json["entries"] = std::move(entries);
  return json;
}

Matrix matrix_from(const JsonField& field, int rows, int cols, NumbersLeft& left) {
  static_cast<void>(field.at("rows").whole(rows, rows));
  static_cast<void>(field.at("cols").whole(cols, cols));
  Matrix matrix = left.matrix(field, rows, cols);
  if (const auto all = field.find("values")) {
    const std::vector<double> values = all->numbers(matrix.values().size());
    std::copy(values.begin(), values.end(), matrix.values().begin());
    return matrix;
  }
  for (const JsonField& entry : field.at("entries").elements()) {
    const std::vector<JsonField> parts = entry.elements(3);
    matrix(parts[0].whole(0, rows - 1), parts[1].whole(0, cols - 1)) = parts[2].number();
  }
  return matrix;
}

SortedJson diagonal_json(int size, double value) {
  SortedJson entries = SortedJson::array();
  for (int i = 0; i < size; ++i) entries.push_back({i, i, value});
  return {{"rows", size}, {"cols", size}, {"entries", std::move(entries)}};
}

/// Returns the factor if the matrix is a multiple of the identity of this size, otherwise nothing.
std::optional<double> diagonal_from(const JsonField& field, int size) {
  const auto list = field.find("entries");
  if (!list) return std::nullopt;
  static_cast<void>(field.at("rows").whole(size, size));
  static_cast<void>(field.at("cols").whole(size, size));
  const std::vector<JsonField> entries = list->elements();
  if (std::ssize(entries) != size) return std::nullopt;
  double factor = 0;
  for (int i = 0; i < size; ++i) {
    const std::vector<JsonField> parts = entries[static_cast<std::size_t>(i)].elements(3);
    if (parts[0].whole(0, size - 1) != i || parts[1].whole(0, size - 1) != i) return std::nullopt;
    if (i > 0 && parts[2].number() != factor) return std::nullopt;
    factor = parts[2].number();
  }
  return factor;
}

/// Writes a margin; cells that are all equal, as for equally spaced B-splines, are written once.
SortedJson margin_json(const Margin& margin) {
  SortedJson json{{"breaks", margin.breaks},
                  {"uniform", margin.uniform},
                  {"cyclic", margin.cyclic},
                  {"stride", margin.stride}};
  const bool same = std::all_of(margin.cells.begin(), margin.cells.end(),
                                [&](const auto& cell) { return cell == margin.cells.front(); });
  if (same) {
    json["cell"] = margin.cells.front();
  } else {
    json["cells"] = margin.cells;
  }
  return json;
}

std::array<double, 16> cell_from(const JsonField& field) {
  std::array<double, 16> cell{};
  const std::vector<double> values = field.numbers(cell.size());
  std::copy(values.begin(), values.end(), cell.begin());
  return cell;
}

bool usable_width(double width) {
  return width > 0 && std::isfinite(width) && std::isfinite(1 / width);
}

std::vector<double> breaks_from(const JsonField& field, bool uniform) {
  std::vector<double> breaks = field.numbers();
  if (breaks.size() < 2) field.refuse("has fewer than 2 breaks");
  const double mean = (breaks.back() - breaks.front()) / static_cast<double>(breaks.size() - 1);
  const double largest = std::max(std::abs(breaks.front()), std::abs(breaks.back()));
  for (std::size_t i = 1; i < breaks.size(); ++i) {
    const double width = breaks[i] - breaks[i - 1];
    if (!usable_width(width) || !usable_width(mean))
      field.refuse(fmt::format(
          "does not increase by a positive, finite step from element {} to the next element", i - 1));
    if (uniform && std::abs(width - mean) > 1e-6 * mean + 1e-14 * largest)
      field.refuse(fmt::format("is not equally spaced at element {}", i));
  }
  return breaks;
}

Margin margin_from(const JsonField& field) {
  Margin margin;
  margin.uniform = field.at("uniform").truth();
  margin.breaks = breaks_from(field.at("breaks"), margin.uniform);
  margin.cyclic = field.at("cyclic").truth();
  margin.stride = field.at("stride").whole(1, 2);
  const std::size_t cells = margin.breaks.size() - 1;
  if (const auto same = field.find("cell")) {
    margin.cells.assign(cells, cell_from(*same));
  } else {
    for (const JsonField& cell : field.at("cells").elements(cells)) margin.cells.push_back(cell_from(cell));
  }
  return margin;
}

SortedJson radial_json(const RadialColumns& radial) {
  return {{"points", radial.points},
          {"shift", radial.shift},
          {"unit", radial.unit},
          {"map", matrix_json(radial.map)}};
}

SortedJson isotropic_json(const Component& component, const Design& design) {
  const IsotropicColumns& columns = *component.isotropic;
  SortedJson variables = SortedJson::array();
  for (const int other : component.others)
    variables.push_back(design.variables[static_cast<std::size_t>(other)].name);
  return {{"others", std::move(variables)},
          {"function", radial_names[static_cast<std::size_t>(columns.function.kind)]},
          {"power", columns.function.power},
          {"scale", columns.function.scale},
          {"exponent", columns.function.exponent},
          {"points", matrix_json(columns.points)},
          {"shift", columns.shift},
          {"powers", columns.powers},
          {"map", matrix_json(component.combinations)}};
}

/// Reads radial columns, with at most as many points and columns as a smooth of `coefficients` can have.
RadialColumns radial_from(const JsonField& field, int coefficients) {
  constexpr std::size_t most_points = 10'000;
  RadialColumns radial;
  const JsonField points = field.at("points");
  radial.points = breaks_from(points, false);
  if (radial.points.size() > most_points)
    points.refuse(fmt::format("has {} points, more than {}", radial.points.size(), most_points));
  radial.shift = field.at("shift").number();
  radial.unit = field.at("unit").number();
  if (!std::isfinite(radial.shift)) field.at("shift").refuse("is not a finite number");
  if (!usable_width(radial.unit)) field.at("unit").refuse("is not a valid unit");
  const JsonField map = field.at("map");
  const int columns = map.at("cols").whole(1, coefficients + 1);
  NumbersLeft left(0, 0);
  radial.map = matrix_from(map, static_cast<int>(radial.points.size()) + 2, columns, left);
  return radial;
}

Component isotropic_from(const JsonField& field, int coefficients) {
  constexpr int most_points = 10'000;
  constexpr int most_power = 100;
  IsotropicColumns columns;
  const JsonField function = field.at("function");
  const auto* const kind = std::ranges::find(radial_names, function.text());
  if (kind == radial_names.end()) function.refuse("is not the name of a known radial function");
  columns.function = {static_cast<RadialKind>(kind - radial_names.begin()),
                      field.at("power").whole(0, most_power), field.at("scale").number(),
                      field.at("exponent").number()};
  const int variables = static_cast<int>(field.at("others").elements().size()) + 1;
  NumbersLeft left(0, 0);
  const JsonField points = field.at("points");
  columns.points = matrix_from(points, points.at("rows").whole(1, most_points), variables, left);
  columns.shift = field.at("shift").numbers(static_cast<std::size_t>(variables));
  for (const JsonField& powers : field.at("powers").elements()) {
    std::vector<int>& own = columns.powers.emplace_back();
    for (const JsonField& power : powers.elements(static_cast<std::size_t>(variables)))
      own.push_back(power.whole(0, most_power));
  }
  if (columns.powers.size() > static_cast<std::size_t>(most_points))
    field.at("powers").refuse(fmt::format("has more than {} polynomials", most_points));
  const JsonField map = field.at("map");
  const int size = map.at("cols").whole(1, dense_columns(coefficients + 1));
  if (size != dense_columns(size)) map.at("cols").refuse("is not a valid number of columns");
  // Evaluated before `columns` is moved: the evaluation order of arguments is unspecified.
  Matrix combinations =
      matrix_from(map, columns.points.rows() + static_cast<int>(columns.powers.size()), size, left);
  return isotropic_component(std::move(columns), std::move(combinations));
}

SortedJson penalty_json(const Penalty& penalty) {
  SortedJson matrices = SortedJson::array();
  // A factor smooth needs no matrices: `eigenvalues` determines them.
  if (penalty.is_ridge()) matrices.push_back(diagonal_json(penalty.eigenvalues.rows(), penalty.ridge));
  // bs="sz" needs none either: `levels` and `of_level` determine them.
  if (penalty.of_level.empty()) {
    for (const Matrix& matrix : penalty.matrices) matrices.push_back(matrix_json(matrix));
  }
  SortedJson json{{"matrices", std::move(matrices)}, {"labels", penalty.labels}};
  if (penalty.commutes()) {
    json["eigenvalues"] = matrix_json(penalty.eigenvalues);
    json["log_det_constant"] = penalty.log_det_constant;
  } else if (penalty.levels.empty()) {
    json["set_ranks"] = penalty.set_ranks;
  } else {
    json["levels"] = matrix_json(penalty.levels);
    json["rank_of_level"] = penalty.rank_of_level;
    if (!penalty.of_level.empty()) json["of_level"] = matrix_json(penalty.of_level);
  }
  return json;
}

/// Reads the diagonal penalties of a factor smooth; every coefficient must be penalised.
Penalty diagonal_penalty_from(const JsonField& field, int size, NumbersLeft& left) {
  Penalty penalty;
  penalty.diagonal = true;
  for (const JsonField& label : field.at("labels").elements()) penalty.labels.push_back(label.text());
  const JsonField eigenvalues = field.at("eigenvalues");
  penalty.eigenvalues = matrix_from(eigenvalues, size, static_cast<int>(penalty.labels.size()), left);
  penalty.log_det_constant = field.at("log_det_constant").number();
  for (int i = 0; i < size; ++i) {
    double sum = 0;
    for (int j = 0; j < penalty.eigenvalues.cols(); ++j) {
      if (penalty.eigenvalues(i, j) < 0) eigenvalues.refuse("has a negative value");
      sum += penalty.eigenvalues(i, j);
    }
    if (!(sum > 0) || !std::isfinite(sum)) eigenvalues.refuse("leaves a coefficient without a penalty");
  }
  return penalty;
}

Penalty penalty_from(const JsonField& field, int size, const CoefBlock& block, bool random,
                     NumbersLeft& left) {
  const std::vector<JsonField> matrices = field.at("matrices").elements();
  constexpr std::size_t most_of_one = most_general_penalties;
  constexpr std::size_t of_null_space = 1;
  const auto levels = field.find("levels");  // if present, there is a penalty per level
  const std::size_t margins = block.knots.size();
  const std::size_t most = block.kind == "t2" ? most_penalties : std::max(margins, most_of_one);
  if (!levels && matrices.size() > most + of_null_space)
    field.at("matrices").refuse(fmt::format("has {} penalties for {} margins", matrices.size(), margins));
  Penalty penalty;
  const std::optional<double> ridge =
      random && matrices.size() == 1 ? diagonal_from(matrices[0], size) : std::nullopt;
  if (ridge) {
    if (!(*ridge > 0 && std::isfinite(*ridge)))
      matrices[0].refuse("is not a positive multiple of the identity");
    penalty.ridge = *ridge;
  } else {
    for (const JsonField& matrix : matrices)
      penalty.matrices.push_back(matrix_from(matrix, size, size, left));
  }
  if (levels) {
    penalty.levels =
        matrix_from(*levels, levels->at("rows").whole(1, size), levels->at("cols").whole(1), left);
    penalty.rank_of_level = field.at("rank_of_level").whole(1, size / penalty.levels.rows());
    const auto count = static_cast<std::size_t>(penalty.levels.cols());
    if (const auto of_level = field.find("of_level")) {
      const int own = size / penalty.levels.rows();
      if (own * penalty.levels.rows() != size)
        levels->refuse(fmt::format("has {} rows for {} coefficients", penalty.levels.rows(), size));
      penalty.of_level = matrix_from(*of_level, own, own, left);
      static_cast<void>(field.at("labels").elements(count));
      penalty.matrices = penalties_of_levels(penalty.levels, penalty.of_level);
    }
    const std::size_t all = penalty.matrices.size();
    if (count != all && count + of_null_space != all)
      levels->refuse(fmt::format("has {} columns for {} penalties", count, all));
  } else if (const auto ranks = field.find("set_ranks")) {
    for (const JsonField& rank : ranks->elements(std::size_t{1} << matrices.size()))
      penalty.set_ranks.push_back(rank.whole(0, size));
  } else {
    const JsonField eigenvalues = field.at("eigenvalues");
    // The eigenvalues are those before the constraint, which removes at most one coefficient.
    const int rank = eigenvalues.at("rows").whole(0, size + 1);
    penalty.eigenvalues = matrix_from(eigenvalues, rank, static_cast<int>(matrices.size()), left);
    penalty.log_det_constant = field.at("log_det_constant").number();
  }
  for (const JsonField& label : field.at("labels").elements(penalty.count()))
    penalty.labels.push_back(label.text());
  return penalty;
}

/// True if all levels share the same map.
bool has_copies(const CoefBlock& block) {
  return block.kind == "fs";
}

SortedJson block_json(const CoefBlock& block, const Design& design) {
  SortedJson json{
      {"label", block.label},
      {"kind", block.kind},
      {"names", block.names},
      {"term", design.term_index(block)},
      {"raw_begin", block.raw_begin},
      {"map", block.has_identity_map() ? diagonal_json(block.raw_size, 1) : matrix_json(block.map)},
      {"knots", block.knots},
      {"s_scale", block.s_scale},
      {"variables", block.variables},
      {"by_level", block.by_level}};
  if (block.penalty) json["penalty"] = penalty_json(*block.penalty);
  if (has_copies(block)) json["copies"] = block.copies;
  if (block.centred) json["centred"] = true;
  if (!block.constraint.empty()) json["constraint"] = block.constraint;
  if (!block.margin_constraints.empty()) json["margin_constraints"] = block.margin_constraints;
  for (const Matrix& natural : block.margin_natural) json["margin_natural"].push_back(matrix_json(natural));
  if (!block.dropped.empty()) json["dropped"] = block.dropped;
  if (!block.ids.empty()) json["ids"] = block.ids;
  for (std::size_t j = 0; j < block.log_sp.size(); ++j) json["given"].push_back(is_given(block, j));
  if (!block.least_sp.empty()) json["least_sp"] = block.least_sp;
  if (block.determined > 0) json["determined"] = block.determined;
  return json;
}

const RawTerm& term_of(const Design& design, const JsonField& raw_begin) {
  const int index = raw_begin.whole(0, design.raw_size - 1);
  return *std::prev(std::upper_bound(design.terms.begin(), design.terms.end(), index,
                                     [](int at, const RawTerm& term) { return at < term.raw_begin; }));
}

int raw_size_of(const RawTerm& term, std::size_t count) {
  int size = 1;
  for (std::size_t i = term.components.size() - count; i < term.components.size(); ++i)
    size *= term.components[i].raw_size();
  return size;
}

/// Sets the raw columns of a block: all of a term, or of one level of a smooth by a factor.
void set_range(CoefBlock& block, const JsonField& field, const Design& design) {
  const JsonField begin = field.at("raw_begin");
  const RawTerm& term = term_of(design, begin);
  const bool smooth = field.find("penalty").has_value() && block.kind != "parametric";
  const bool by = smooth && block.variables.size() > block.knots.size() && !term.components.empty();
  const std::size_t margins = term.components.size() - (by ? 1 : 0);
  std::size_t variables = 0;
  for (std::size_t i = by ? 1 : 0; i < term.components.size(); ++i)
    variables += 1 + term.components[i].others.size();
  if (smooth && variables != block.knots.size())
    field.at("knots").refuse(
        fmt::format("has {} variables, but its term has {}", block.knots.size(), variables));
  block.raw_begin = begin.whole();
  block.raw_size = raw_size_of(term, margins);
  if ((block.raw_begin - term.raw_begin) % block.raw_size != 0)
    begin.refuse("is not the first column of a level");
  if (!block.by_level.empty() && block.variables.empty())
    field.at("variables").refuse("lacks the by variable of the smooth's level");
}

/// Reads the properties of a block's smoothing parameters; their values are elsewhere in the model file.
void read_parameters(const JsonField& field, CoefBlock& block) {
  const std::size_t count = block.penalty->count();
  if (const auto ids = field.find("ids")) {
    block.ids = ids->texts();
    if (block.ids.size() != count) ids->refuse(fmt::format("needs one id for each of {} penalties", count));
  }
  if (const auto given = field.find("given")) {
    for (const JsonField& one : given->elements(count)) block.log_sp.push_back(one.truth() ? 0 : NAN);
  }
  if (const auto least = field.find("least_sp")) block.least_sp = least->numbers(count);
}

CoefBlock block_from(const JsonField& field, const Design& design, NumbersLeft& left) {
  CoefBlock block;
  block.label = field.at("label").text();
  block.kind = field.at("kind").text();
  block.names = field.at("names").texts();
  block.coef_size = static_cast<int>(block.names.size());
  for (const JsonField& knots : field.at("knots").elements()) block.knots.push_back(knots.numbers());
  block.s_scale = field.at("s_scale").numbers();
  block.variables = field.at("variables").texts();
  block.by_level = field.at("by_level").text();
  set_range(block, field, design);
  const JsonField map = field.at("map");
  const bool random = is_random_effect(block.kind);
  const bool identity =
      random && block.raw_size == block.coef_size && diagonal_from(map, block.coef_size) == 1.0;
  if (has_copies(block)) {
    const JsonField copies = field.at("copies");
    block.copies = copies.whole(1, block.raw_size);
    if (block.raw_size % block.copies != 0 || block.coef_size % block.copies != 0)
      copies.refuse("does not divide the block's columns into levels");
  }
  if (!identity)
    block.map = matrix_from(map, block.raw_size / block.copies, block.coef_size / block.copies, left);
  if (const auto centred = field.find("centred")) block.centred = centred->truth();
  if (const auto constraint = field.find("constraint")) block.constraint = constraint->numbers();
  if (const auto own = field.find("margin_constraints")) {
    for (const JsonField& margin : own->elements()) block.margin_constraints.push_back(margin.numbers());
  }
  if (const auto own = field.find("margin_natural")) {
    for (const JsonField& margin : own->elements()) {
      const int size = margin.at("rows").whole(0, block.raw_size);
      block.margin_natural.push_back(matrix_from(margin, size, size, left));
    }
  }
  if (const auto dropped = field.find("dropped")) {
    for (const JsonField& column : dropped->elements()) block.dropped.push_back(column.whole(0));
  }
  if (const auto determined = field.find("determined")) block.determined = determined->whole();
  if (const auto penalty = field.find("penalty"))
    block.penalty = has_copies(block) ? diagonal_penalty_from(*penalty, block.coef_size, left)
                                      : penalty_from(*penalty, block.coef_size, block, random, left);
  if (block.penalty) read_parameters(field, block);
  return block;
}

SortedJson component_json(const Component& component, const Design& design) {
  SortedJson json{{"variable", design.variables[static_cast<std::size_t>(component.variable)].name}};
  if (component.kind == Component::Kind::spline) json["margin"] = margin_json(component.margin);
  if (component.radial) json["radial"] = radial_json(*component.radial);
  if (component.isotropic) json["isotropic"] = isotropic_json(component, design);
  if (component.districts) json["districts"] = true;
  return json;
}

int variable_from(const JsonField& name, const Design& design, bool number) {
  const auto found =
      std::find_if(design.variables.begin(), design.variables.end(),
                   [&](const DesignVariable& variable) { return variable.name == name.text(); });
  if (found == design.variables.end()) name.refuse("is not among the variables of the design");
  if (number && found->factor) name.refuse("is a factor, but its component is a spline of a number");
  return static_cast<int>(found - design.variables.begin());
}

/// A component of a term. The members of its JSON object determine the kind: with `margin` a spline, with
/// `radial` or `isotropic` a dense basis, otherwise the numbers or the levels of its variable.
Component component_from(const JsonField& field, const Design& design, int coefficients) {
  const auto margin = field.find("margin");
  const auto radial = field.find("radial");
  const auto isotropic = field.find("isotropic");
  const int variable = variable_from(field.at("variable"), design, margin || radial || isotropic);
  const DesignVariable& own = design.variables[static_cast<std::size_t>(variable)];
  Component component;
  if (margin) {
    component.kind = Component::Kind::spline;
    component.margin = margin_from(*margin);
  } else if (radial) {
    component = radial_component(radial_from(*radial, coefficients));
  } else if (isotropic) {
    component = isotropic_from(*isotropic, coefficients);
    component.others.clear();
    for (const JsonField& other : isotropic->at("others").elements())
      component.others.push_back(variable_from(other, design, true));
  } else if (own.factor) {
    component.kind = Component::Kind::factor;
    component.levels = static_cast<int>(own.levels.size());
    if (const auto districts = field.find("districts")) component.districts = districts->truth();
  }
  component.variable = variable;
  return component;
}

DesignVariable variable_from(const JsonField& field) {
  DesignVariable variable{field.at("name").text(), false, {}};
  if (const auto levels = field.find("levels")) {
    variable.factor = true;
    variable.levels = levels->texts();
    if (variable.levels.empty()) levels->refuse("has no levels");
  }
  if (const auto ordered = field.find("ordered")) variable.ordered = ordered->truth();
  return variable;
}

int splines_of(const RawTerm& term) {
  return static_cast<int>(
      std::count_if(term.components.begin(), term.components.end(),
                    [](const Component& component) { return component.kind == Component::Kind::spline; }));
}

}  // namespace

Design design_from_json(const JsonField& field, int coefficients) {
  Design design;
  for (const JsonField& variable : field.at("variables").elements())
    design.variables.push_back(variable_from(variable));
  int splines = 0;
  for (const JsonField& term : field.at("terms").elements()) {
    std::vector<Component> components;
    for (const JsonField& component : term.elements())
      components.push_back(component_from(component, design, coefficients));
    try {
      design.add_term(std::move(components));
    } catch (const Error& fault) {
      term.refuse(fault.what());
    }
    splines = std::max(splines, splines_of(design.terms.back()));
  }
  NumbersLeft left(coefficients, splines);
  for (const JsonField& value : field.at("blocks").elements()) {
    CoefBlock block = block_from(value, design, left);
    block.coef_begin = design.coef_size;
    if (block.coef_size > coefficients - design.coef_size)
      value.at("names").refuse(fmt::format("exceeds the {} coefficients of the model", coefficients));
    design.coef_size += block.coef_size;
    design.blocks.push_back(std::move(block));
  }
  if (design.coef_size != coefficients)
    field.at("blocks").refuse(
        fmt::format("has {} coefficients, but the model has {}", design.coef_size, coefficients));
  if (const auto left_out = field.find("left_out")) design.left_out = left_out->texts();
  if (const auto predictors = field.find("predictors")) {
    const std::vector<JsonField> each = predictors->elements(design.terms.size());
    for (std::size_t t = 0; t < each.size(); ++t) {
      design.terms[t].predictor = each[t].whole(0, coefficients);
      if (t > 0 && design.terms[t].predictor < design.terms[t - 1].predictor)
        each[t].refuse("is less than the linear predictor of the previous term");
    }
  }
  if (const auto readers = field.find("readers")) {
    for (const JsonField& one : readers->elements()) {
      std::vector<int>& own = design.readers.emplace_back();
      for (const JsonField& predictor : one.elements()) own.push_back(predictor.whole(0));
    }
  }
  return design;
}

SortedJson to_json(const Design& design) {
  std::vector<bool> used(design.variables.size());
  SortedJson terms = SortedJson::array();
  for (const RawTerm& term : design.terms) {
    SortedJson components = SortedJson::array();
    for (const Component& component : term.components) {
      Component::for_each_variable(component,
                                   [&](int variable) { used[static_cast<std::size_t>(variable)] = true; });
      components.push_back(component_json(component, design));
    }
    terms.push_back(std::move(components));
  }
  SortedJson variables = SortedJson::array();
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    SortedJson variable{{"name", design.variables[i].name}};
    if (design.variables[i].factor) variable["levels"] = design.variables[i].levels;
    if (design.variables[i].ordered) variable["ordered"] = true;
    variables.push_back(std::move(variable));
  }
  SortedJson blocks = SortedJson::array();
  for (const CoefBlock& block : design.blocks) blocks.push_back(block_json(block, design));
  SortedJson json{
      {"variables", std::move(variables)}, {"terms", std::move(terms)}, {"blocks", std::move(blocks)}};
  if (!design.left_out.empty()) json["left_out"] = design.left_out;
  if (design.predictors() > 1) {
    for (const RawTerm& term : design.terms) json["predictors"].push_back(term.predictor);
  }
  if (!design.readers.empty()) json["readers"] = design.readers;
  return json;
}

}  // namespace TESSERA_NAMESPACE::gam
