// SPDX-License-Identifier: Apache-2.0
// The model matrix and the covariances of a model can be recomputed from the public `Model`.
#include "temporary_folder.hpp"

#include <tessera/gam/gam.hpp>
#include <tessera/mpi/communicator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::int64_t table_rows = 300;

Job serial_job() {
  JobOptions options;
  options.policy = Policy::cpu;
  options.threads = 1;
  return Job(mpi::Communicator::serial(), options);
}

Factor levels_of(std::mt19937_64& random, std::vector<std::string> levels) {
  Factor factor{{}, std::move(levels)};
  for (std::int64_t i = 0; i < table_rows; ++i)
    factor.codes.push_back(static_cast<std::int32_t>(random() % factor.levels.size()));
  return factor;
}

Table table_for(const Job& job) {
  std::mt19937_64 random(7);
  Table table{job.plan(table_rows, 64), {}};
  std::vector<double> y(table_rows);
  for (const char* const name : {"x", "z", "w"}) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < table_rows; ++i)
      values.push_back(0.01 + static_cast<double>(random() >> 11) * 0x1p-53);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += std::sin(5 * values[i]);
    table.columns.push_back({name, std::move(values)});
  }
  for (double& value : y) value += static_cast<double>(random() >> 11) * 0x1p-53;
  table.columns.push_back({"y", std::move(y)});
  table.columns.push_back({"g", levels_of(random, {"a", "b", "c", "d"})});
  table.columns.push_back({"h", levels_of(random, {"k", "l", "m"})});
  table.columns.push_back({"o", levels_of(random, {"lo", "mid", "hi"})});
  return table;
}

/// The values of variables in a row of the table, which a user who rebuilds a model computes from columns.
class RowValues {
 public:
  RowValues(const Table& table, const Model& model) : table_(table) {
    for (const MeasuredExpression& one : model.measured()) measured_[one.text] = one.values;
  }

  [[nodiscard]] double number(const std::string& variable, std::size_t row) const {
    if (variable == "log(w + 1)") return std::log(number("w", row) + 1);
    if (variable == "I(z^2)") return number("z", row) * number("z", row);
    if (variable.starts_with("poly(x, 3)")) return polynomial(variable.back() - '0', number("x", row));
    // contr.poly(3)
    if (variable == "o.L") return std::vector{-std::sqrt(0.5), 0.0, std::sqrt(0.5)}[place_of("o", row)];
    if (variable == "o.Q") return std::vector{1.0, -2.0, 1.0}[place_of("o", row)] / std::sqrt(6.0);
    return std::get<std::vector<double>>(column(variable))[row];
  }
  [[nodiscard]] std::string level(const std::string& variable, std::size_t row) const {
    return std::get<Factor>(column(variable)).levels[place_of(variable, row)];
  }

 private:
  [[nodiscard]] const decltype(Table::Column::values)& column(const std::string& name) const {
    return std::ranges::find(table_.columns, name, &Table::Column::name)->values;
  }
  [[nodiscard]] std::size_t place_of(const std::string& factor, std::size_t row) const {
    return static_cast<std::size_t>(std::get<Factor>(column(factor)).codes[row]);
  }
  [[nodiscard]] double polynomial(int degree, double x) const {
    const std::vector<double>& values = measured_.at("poly(x, 3)");
    const double* const alpha = values.data();
    const double* const norm2 = alpha + 3;
    double before = 0;
    double z = 1;
    for (int j = 0; j < degree; ++j) {
      const double next = (x - alpha[j]) * z - (j > 0 ? norm2[j] / norm2[j - 1] * before : 0);
      before = std::exchange(z, next);
    }
    return z / std::sqrt(norm2[degree]);
  }

  const Table& table_;
  std::map<std::string, std::vector<double>> measured_;
};

std::vector<double> values_of(const NumberColumn& one, const RowValues& values, std::size_t row) {
  return {values.number(one.variable, row)};
}

std::vector<double> values_of(const LevelColumns& one, const RowValues& values, std::size_t row) {
  std::vector<double> out;
  for (const std::string& level : one.levels) out.push_back(level == values.level(one.variable, row) ? 1 : 0);
  return out;
}

std::vector<double> values_of(const CubicColumns& one, const RowValues& values, std::size_t row) {
  double x = values.number(one.variable, row);
  const double first = one.breaks.front();
  const double last = one.breaks.back();
  if (one.cyclic) x -= std::floor((x - first) / (last - first)) * (last - first);
  const int cells = one.cubics.cols();
  int cell = 0;
  while (cell + 1 < cells && x >= one.breaks[static_cast<std::size_t>(cell) + 1]) ++cell;
  const double begin = one.breaks[static_cast<std::size_t>(cell)];
  const double width = one.breaks[static_cast<std::size_t>(cell) + 1] - begin;
  const double t = (x - begin) / width;
  const double end = std::clamp(t, 0.0, 1.0);
  std::vector<double> out(static_cast<std::size_t>((cells - 1) * one.stride + 4));
  for (int a = 0; a < 4; ++a) {
    const double* const c = one.cubics.column(cell).data() + static_cast<std::ptrdiff_t>(4) * a;
    const double value = c[0] + end * (c[1] + end * (c[2] + end * c[3]));
    const double slope = c[1] + end * (2 * c[2] + end * 3 * c[3]);
    out[static_cast<std::size_t>(cell * one.stride + a)] = value + slope * (t - end);
  }
  return out;
}

long double function_at(const RadialFunctions& one, long double r) {
  const long double e = one.scale * r;
  if (one.function == "r^p") return one.scale * std::pow(r, one.power);
  if (one.function == "r^p log r") return r == 0 ? 0 : one.scale * std::pow(r, one.power) * std::log(r);
  if (one.function == "spherical") return e <= 1 ? 1 - 1.5L * e + 0.5L * e * e * e : 0;
  if (one.function == "exponential") return std::exp(-std::pow(e, static_cast<long double>(one.exponent)));
  if (one.function == "matern 3/2") return (1 + e) * std::exp(-e);
  if (one.function == "matern 5/2") return (1 + e + e * e / 3) * std::exp(-e);
  return (1 + e + 0.4L * e * e + e * e * e / 15) * std::exp(-e);
}

std::vector<double> values_of(const RadialFunctions& one, const RowValues& values, std::size_t row) {
  std::vector<long double> u;
  for (std::size_t v = 0; v < one.variables.size(); ++v)
    u.push_back((values.number(one.variables[v], row) - one.shift[v]) / one.unit);
  std::vector<long double> functions;
  for (int j = 0; j < one.points.rows(); ++j) {
    long double square = 0;
    for (std::size_t v = 0; v < u.size(); ++v) {
      const long double distance = u[v] - one.points(j, static_cast<int>(v));
      square += distance * distance;
    }
    functions.push_back(function_at(one, std::sqrt(square)));
  }
  for (const std::vector<int>& powers : one.powers) {
    long double product = 1;
    for (std::size_t v = 0; v < u.size(); ++v) product *= std::pow(u[v], powers[v]);
    functions.push_back(product);
  }
  std::vector<double> out;
  for (int c = 0; c < one.map.cols(); ++c) {
    long double sum = 0;
    for (std::size_t i = 0; i < functions.size(); ++i) sum += one.map(static_cast<int>(i), c) * functions[i];
    out.push_back(static_cast<double>(sum));
  }
  return out;
}

double by_of(const Term& term, const RowValues& values, std::size_t row) {
  if (term.by.empty()) return 1;
  if (term.by_level.empty()) return values.number(term.by, row);
  return values.level(term.by, row) == term.by_level ? 1 : 0;
}

/// The columns of a term in a row, as <tessera/gam/terms.hpp> says.
std::vector<double> columns_of(const Term& term, const RowValues& values, std::size_t row) {
  std::vector<double> r{1};
  for (const TermFactor& factor : term.factors) {
    const std::vector<double> own =
        std::visit([&](const auto& one) { return values_of(one, values, row); }, factor);
    std::vector<double> products;
    for (const double a : r) {
      for (const double b : own) products.push_back(a * b);
    }
    r = std::move(products);
  }
  const double by = by_of(term, values, row);
  std::vector<double> x(static_cast<std::size_t>(term.coefficients));
  const int raw = static_cast<int>(r.size()) / term.copies;
  const int coefficients = term.coefficients / term.copies;
  for (int copy = 0; copy < term.copies; ++copy) {
    for (int j = 0; j < coefficients; ++j) {
      for (int i = 0; i < raw; ++i) {
        const double weight = term.map.empty() ? (i == j ? 1 : 0) : term.map(i, j);
        x[static_cast<std::size_t>(copy * coefficients + j)] +=
            by * weight * r[static_cast<std::size_t>(copy * raw + i)];
      }
    }
  }
  return x;
}

void expect_rebuilt(Job& job, const Table& table, const Model& model) {
  const Predictions predicted = predict(job, model, table, {.type = PredictionType::lpmatrix});
  const std::vector<Term> terms = model.terms();
  const RowValues values(table, model);
  std::vector<double> most(predicted.columns.size());
  std::vector<double> size(predicted.columns.size());
  for (std::size_t row = 0; row < table_rows; ++row) {
    std::vector<double> x;
    for (const Term& term : terms) {
      ASSERT_EQ(term.first_coefficient, static_cast<int>(x.size()));
      const std::vector<double> own = columns_of(term, values, row);
      x.insert(x.end(), own.begin(), own.end());
    }
    ASSERT_EQ(x.size(), predicted.columns.size());
    for (std::size_t j = 0; j < x.size(); ++j) {
      most[j] = std::max(most[j], std::abs(x[j] - predicted.columns[j].values[row]));
      size[j] = std::max(size[j], std::abs(predicted.columns[j].values[row]));
    }
  }
  for (std::size_t j = 0; j < most.size(); ++j)
    EXPECT_LE(most[j], 1e-10 * size[j]) << model.formula() << ": " << predicted.columns[j].name;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out(a.rows(), b.cols());
  for (int j = 0; j < b.cols(); ++j) {
    for (int k = 0; k < a.cols(); ++k) {
      for (int i = 0; i < a.rows(); ++i) out(i, j) += a(i, k) * b(k, j);
    }
  }
  return out;
}

Matrix transposed(const Matrix& a) {
  Matrix out(a.cols(), a.rows());
  for (int j = 0; j < a.cols(); ++j) {
    for (int i = 0; i < a.rows(); ++i) out(j, i) = a(i, j);
  }
  return out;
}

/// (R'R + S) V is the identity times the scale of V, and the edf follow from F = V R'R.
void expect_consistent(const Model& model) {
  const Matrix& r = model.triangle();
  const int p = static_cast<int>(model.coefficients().size());
  ASSERT_EQ(r.rows(), p);
  ASSERT_EQ(r.cols(), p);
  for (int j = 0; j < p; ++j) {
    for (int i = j + 1; i < p; ++i) ASSERT_EQ(r(i, j), 0);
  }
  Matrix v(p, p);
  std::ranges::copy(model.covariance(), v.data());
  const Matrix gram = product(transposed(r), r);
  Matrix penalised = gram;
  const std::vector<Term> terms = model.terms();
  for (const TermPenalty& penalty : model.penalties()) {
    const Term& term = terms[static_cast<std::size_t>(penalty.term)];
    for (int j = 0; j < term.coefficients; ++j) {
      for (int i = 0; i < term.coefficients; ++i) {
        const double element = penalty.matrix.empty()
                                   ? (i == j ? penalty.diagonal[static_cast<std::size_t>(i)] : 0)
                                   : penalty.matrix(i, j);
        penalised(term.first_coefficient + i, term.first_coefficient + j) += penalty.lambda * element;
      }
    }
  }
  const Matrix f = product(v, gram);
  const Matrix square = product(f, f);
  const Matrix identity = product(v, penalised);
  const double scale = model.covariance_scale();
  const Matrix ve = model.estimator_covariance();
  const Matrix expected_ve = product(f, v);
  const Matrix vc = model.corrected_covariance();
  const std::vector<double> edf2 = model.coefficient_edf2();
  double all = 0;
  double all_with_uncertainty = 0;
  for (int i = 0; i < p; ++i) {
    EXPECT_NEAR(identity(i, i) / scale, 1, 1e-4) << model.formula();  // lambda may be 1e10
    const auto place = static_cast<std::size_t>(i);
    EXPECT_NEAR(model.coefficient_edf()[place], f(i, i) / scale, 1e-6) << model.formula();
    EXPECT_NEAR(model.coefficient_edf1()[place], 2 * f(i, i) / scale - square(i, i) / scale / scale, 1e-6);
    EXPECT_NEAR(ve(i, i), expected_ve(i, i) / scale, 1e-6 * v(i, i));
    EXPECT_GE(vc(i, i), v(i, i));
    all += model.coefficient_edf1()[place];
    all_with_uncertainty += edf2[place];
  }
  EXPECT_GE(all_with_uncertainty, model.edf() - 1e-9);
  EXPECT_LE(all_with_uncertainty, all + 1e-9);
}

class Rebuilt : public ::testing::TestWithParam<const char*> {};

TEST_P(Rebuilt, ModelMatrixAndCovariances) {
  Job job = serial_job();
  const Table table = table_for(job);
  FitOptions options;
  if (std::string_view(GetParam()).starts_with("y ~ o")) options.ordered = {{"o", {"lo", "mid", "hi"}}};
  const Model model = fit(job, parse_formula(GetParam()), table, options).model;
  expect_rebuilt(job, table, model);
  expect_consistent(model);
  const TemporaryFolder folder;
  const std::string path = folder / "model.json";
  save_model(model, path);
  const Model read = load_model(path);
  expect_rebuilt(job, table, read);
  EXPECT_EQ(read.triangle(), model.triangle());
  EXPECT_TRUE(std::ranges::equal(read.coefficient_edf1(), model.coefficient_edf1()));
  EXPECT_EQ(read.coefficient_edf2(), model.coefficient_edf2());
}

INSTANTIATE_TEST_SUITE_P(
    Terms, Rebuilt,
    ::testing::Values("y ~ g * h + poly(x, 3) + I(z^2) + log(w + 1):g",
                      "y ~ o + s(x) + s(z, bs = 'cr') + s(w, bs = 'ps')",
                      "y ~ h + s(x, by = h) + s(z, by = w, bs = 'cc') + s(w, m = 1)",
                      "y ~ te(x, z) + ti(x, w, bs = c('tp', 'cp'), k = 5)",
                      "y ~ s(x, g, bs = 'fs', k = 5) + s(h, bs = 're') + s(z, h, bs = 're')",
                      "y ~ s(x, z) + s(w, bs = 'gp') + s(z, w, bs = 'ds', m = c(1, 0.5), k = 12)",
                      "y ~ s(x) + s(z) + te(x, z, k = 4) + s(w, pc = 0.5)",
                      "y ~ t2(x, z, k = 4) + s(w, g, bs = 'sz', k = 5) + s(x, bs = 'ts', k = 6)"));

double sum_over(const Term& term, std::span<const double> values) {
  const auto own = values.subspan(static_cast<std::size_t>(term.first_coefficient),
                                  static_cast<std::size_t>(term.coefficients));
  return std::accumulate(own.begin(), own.end(), 0.0);
}

// bam(y ~ f + s(x, bs = "cr") + s(z, bs = "ps", k = 8) + s(g, bs = "re"), method = "fREML") of mgcv 1.8-41.
TEST(ModelParts, AreThoseOfMgcv) {
  Job job = serial_job();
  const Table file{TESSERA_TEST_DATA "/predictions/table.csv"};
  const Model model =
      fit(job, parse_formula("y ~ f + s(x, bs = 'cr') + s(z, bs = 'ps', k = 8) + s(g, bs = 're')"), file)
          .model;
  const std::vector<Term> terms = model.terms();
  ASSERT_EQ(terms.size(), 5U);
  const double edf1[] = {1, 2, 8.13305952333, 1.00000335802, 3.9991447417};
  const double edf2[] = {1, 2, 7.33935112256, 1.00000170961, 3.9740358272};
  const int null_space[] = {0, 0, 1, 1, 0};
  for (std::size_t t = 0; t < terms.size(); ++t) {
    EXPECT_NEAR(sum_over(terms[t], model.coefficient_edf1()), edf1[t], 1e-4) << terms[t].label;
    EXPECT_NEAR(sum_over(terms[t], model.coefficient_edf2()), edf2[t], 1e-4) << terms[t].label;
    EXPECT_EQ(terms[t].null_space, null_space[t]);
    EXPECT_NEAR(terms[t].edf, sum_over(terms[t], model.coefficient_edf()), 1e-12);
  }
  EXPECT_EQ(terms[2].knots.at(0).size(), 10U);
  const double ve[] = {0.00155748167201, 0.00306177771607, 0.00330128156395};
  const double vc[] = {0.0431695692, 0.00308617080917, 0.0033049072667};
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(model.estimator_covariance()(i, i), ve[i], 1e-6 * ve[i]);
    EXPECT_NEAR(model.corrected_covariance()(i, i), vc[i], 1e-6 * vc[i]);
  }
  EXPECT_NEAR(model.triangle()(0, 0), std::sqrt(300.0), 1e-10);
  const std::vector<TermPenalty> penalties = model.penalties();
  ASSERT_EQ(penalties.size(), 3U);
  EXPECT_NEAR(penalties[0].scale, 15395.649, 1e-2);
  EXPECT_NEAR(penalties[1].scale, 16, 1e-10);
  EXPECT_NEAR(penalties[2].scale, 1, 1e-10);
  EXPECT_EQ(penalties[0].rank, 8);
  EXPECT_EQ(penalties[1].rank, 6);
  EXPECT_EQ(penalties[2].diagonal, std::vector<double>(5, penalties[2].diagonal.at(0)));
  const std::vector<SmoothingParameter> sp = model.smoothing_parameters();
  ASSERT_EQ(sp.size(), 3U);
  EXPECT_EQ(sp[0].label, "s(x)");
  EXPECT_NEAR(sp[0].value, 13.2832228, 1e-4);
  EXPECT_NEAR(sp[2].value, 0.731491349, 1e-5);
  EXPECT_EQ(model.tests().smooths.at(2).label, "s(g)");
  EXPECT_TRUE(model.scale_is_estimated());
  EXPECT_NEAR(model.covariance_scale(), 0.152173371, 1e-7);
  EXPECT_NEAR(model.residual_df(), 284.95039, 1e-4);
  EXPECT_NEAR(model.null_deviance(), 298.765382, 1e-5);
  EXPECT_NEAR(model.aic(), 303.20168503, 1e-4);
  const std::vector<ModelVariable> variables = model.variables();
  const auto x = std::ranges::find(variables, "x", &ModelVariable::name);
  ASSERT_NE(x, variables.end());
  EXPECT_EQ(x->summary, (std::vector<double>{0.002, 0.469, 0.999}));
  const auto f = std::ranges::find(variables, "f", &ModelVariable::name);
  ASSERT_NE(f, variables.end());
  EXPECT_EQ(f->levels, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(f->contrasts, "contr.treatment");
}

/// Element (i, j) of the Hessian of fREML with phi profiled out, by second differences of fits with given
/// smoothing parameters.
double profiled_second_difference(Job& job, const Table& file, const Formula& formula, FitOptions options,
                                  std::vector<double> log_sp, std::size_t i, std::size_t j) {
  constexpr double step = 0.02;
  double sum = 0;
  for (const double a : {-1.0, 1.0}) {
    for (const double b : {-1.0, 1.0}) {
      std::vector<double> at = log_sp;
      at[i] += a * step;
      at[j] += b * step;
      options.sp.clear();
      for (const double one : at) options.sp.push_back(std::exp(one));
      sum += a * b * fit(job, formula, file, options).model.reml();
    }
  }
  return sum / (4 * step * step);
}

// The outer.info$hess of bam(method = "fREML") of mgcv 1.8-41.
TEST(ModelParts, TheHessianOfRemlIsThatOfMgcvAndOfDifferences) {
  Job job = serial_job();
  const Table file{TESSERA_TEST_DATA "/predictions/table.csv"};
  const Model model =
      fit(job, parse_formula("y ~ f + s(x, bs = 'cr') + s(z, bs = 'ps', k = 8) + s(g, bs = 're')"), file)
          .model;
  const double expected[4][4] = {{2.64357984484, 0, -0.00933635946756, -3.05033268714},
                                 {0, 0, 0, 0},
                                 {-0.00933635946756, 0, 1.95092157878, -1.97447133307},
                                 {-3.05033268714, 0, -1.97447133307, 147.499999972}};
  ASSERT_EQ(model.reml_hessian().size(), 16U);
  for (std::size_t i = 0; i < 16; ++i)
    EXPECT_NEAR(model.reml_hessian()[i], expected[i / 4][i % 4], 1e-6) << i;
  for (const double slope : model.reml_gradient()) EXPECT_NEAR(slope, 0, 1e-6);
  const Model read = model_from_json(to_json(model));
  EXPECT_TRUE(std::ranges::equal(read.reml_hessian(), model.reml_hessian()));
  EXPECT_TRUE(std::ranges::equal(read.reml_gradient(), model.reml_gradient()));

  const Formula shared = parse_formula(
      "y ~ f + s(x, bs = 'cr') + s(z, bs = 'cr', k = 8, id = 1) + "
      "s(w, bs = 'cr', k = 8, id = 1)");
  const FitOptions options{.gamma = 1.4};
  const Model smoother = fit(job, shared, file, options).model;
  const auto of_shared = smoother.reml_hessian();
  ASSERT_EQ(of_shared.size(), 9U);
  EXPECT_NEAR(of_shared[0], 2.0689933180067, 1e-6);
  EXPECT_NEAR(of_shared[1], 0.00125977706758, 1e-6);
  EXPECT_NEAR(of_shared[4], 0.01210113353141, 1e-6);
  EXPECT_NEAR(of_shared[6], -2.332838439108, 1e-6);
  EXPECT_NEAR(of_shared[8], 104.142857138413, 1e-6);
  std::vector<double> log_sp;
  for (const SmoothingParameter& one : smoother.smoothing_parameters()) log_sp.push_back(std::log(one.value));
  for (const std::size_t i : {0U, 1U}) {
    for (const std::size_t j : {0U, 1U}) {
      EXPECT_NEAR(profiled_second_difference(job, file, shared, options, log_sp, i, j),
                  of_shared[3 * i + j] - of_shared[6 + i] * of_shared[6 + j] / of_shared[8], 1e-3)
          << i << ", " << j;
    }
  }

  // With a known scale there is no phi.
  const Model counts =
      fit(job, parse_formula("count ~ s(x, bs = 'cr')"), file, {.family = family("poisson")}).model;
  ASSERT_EQ(counts.reml_hessian().size(), 1U);
  EXPECT_GT(counts.reml_hessian()[0], 0);
  EXPECT_TRUE(fit(job, parse_formula("y ~ x"), file).model.reml_hessian().empty());
}

TEST(ModelParts, ConstraintsAndColumnsThatSideConditionsTake) {
  Job job = serial_job();
  const Table table = table_for(job);
  const Model model =
      fit(job, parse_formula("y ~ s(x) + s(z) + te(x, z, k = 4) + ti(x, w, k = 4)"), table).model;
  const std::vector<Term> terms = model.terms();
  EXPECT_EQ(terms.at(1).constraint.size(), 10U);
  EXPECT_EQ(terms.at(1).coefficients, 9);
  EXPECT_TRUE(terms.at(1).dropped.empty());
  EXPECT_EQ(terms.at(3).constraint.size(), 16U);
  EXPECT_EQ(terms.at(3).dropped.size(), 2U);
  EXPECT_EQ(terms.at(3).coefficients, 13);
  EXPECT_TRUE(terms.at(4).constraint.empty());
  EXPECT_EQ(terms.at(4).margin_constraints.size(), 2U);
}

// The call, the response and the margins are as the fit had them in a model that was read from a file.
TEST(ModelParts, WhatTheFitWasGiven) {
  Job job = serial_job();
  Table table = table_for(job);
  std::mt19937_64 random(3);
  table.columns.push_back({"hit", levels_of(random, {"no", "yes"})});
  const FitOptions options{.family = family("binomial"),
                           .ordered = {{"o", {"lo", "mid", "hi"}}},
                           .knots = {{"w", {0, 1.5}}},
                           .sp = {-1, 0.5},
                           .min_sp = {0, 0.125},
                           .select = true};
  const Model fitted =
      fit(job, parse_formula("hit ~ s(w, bs = 'cc', k = 5) + s(o, bs = 're')"), table, options).model;
  for (const Model& model : {fitted, model_from_json(to_json(fitted))}) {
    EXPECT_EQ(model.response().name, "hit");
    EXPECT_EQ(model.response().type, "factor");
    EXPECT_EQ(model.response().levels, (std::vector<std::string>{"no", "yes"}));
    EXPECT_TRUE(model.smoothing_options().select);
    EXPECT_EQ(model.smoothing_options().sp, options.sp);
    EXPECT_EQ(model.smoothing_options().min_sp, options.min_sp);
    EXPECT_EQ(model.smoothing_options().knots, options.knots);
    const std::vector<ModelVariable> variables = model.variables();
    const auto o = std::ranges::find(variables, "o", &ModelVariable::name);
    ASSERT_NE(o, variables.end());
    EXPECT_TRUE(o->ordered);
  }
  const Model counts = fit(job, parse_formula("cbind(w, 1) ~ z"), table, {.family = options.family}).model;
  EXPECT_EQ(counts.response().type, "counts");
  EXPECT_EQ(counts.response().name, "cbind(w, 1)");
}

// mgcv's margins of ti(), each with the constraint of a smooth of its variable.
TEST(ModelParts, MarginsOfTiHaveTheConstraintsOfSmooths) {
  Job job = serial_job();
  const Table table = table_for(job);
  const Model fitted = fit(job,
                           parse_formula("y ~ s(x, bs = 'ps', k = 6) + s(z, bs = 'cr', k = 5) + "
                                         "ti(x, z, bs = c('ps', 'cr'), k = c(6, 5)) + te(x, w, k = 3)"),
                           table)
                           .model;
  for (const Model& model : {fitted, model_from_json(to_json(fitted))}) {
    const std::vector<Term> terms = model.terms();
    ASSERT_EQ(terms.at(3).margin_constraints.size(), 2U);
    EXPECT_TRUE(terms.at(4).margin_constraints.empty());
    for (const std::size_t margin : {0U, 1U}) {
      const std::vector<double>& own = terms.at(3).margin_constraints[margin];
      const std::vector<double>& of_smooth = terms.at(1 + margin).constraint;
      ASSERT_EQ(own.size(), of_smooth.size());
      for (std::size_t i = 0; i < own.size(); ++i) EXPECT_NEAR(own[i], of_smooth[i], 1e-12);
    }
  }
}

// The natural parametrisation makes a margin's penalty a multiple of the identity on its range, and a model
// tells it beside the map, which is the basis' own map times it.
TEST(ModelParts, NaturalParametrisationOfMargins) {
  Job job = serial_job();
  const Model fitted =
      fit(job,
          parse_formula("y ~ t2(x, z, bs = c('cr', 'ps'), k = c(5, 6)) + "
                        "s(x, by = w, bs = 'cr', k = 5) + s(x, g, bs = 'fs', xt = 'cr', k = 5)"),
          table_for(job))
          .model;
  for (const Model& model : {fitted, model_from_json(to_json(fitted))}) {
    const std::vector<Term> terms = model.terms();
    const std::vector<Matrix>& margins = terms.at(1).margin_natural;
    EXPECT_TRUE(terms.at(2).margin_natural.empty());
    const std::vector<Matrix>& of_curves = terms.at(3).margin_natural;  // of the levels none
    ASSERT_EQ(margins.size(), 2U);
    ASSERT_EQ(of_curves.size(), 2U);
    EXPECT_EQ(margins[1].rows(), 6);
    EXPECT_EQ(of_curves[0].rows(), 0);

    const Matrix map = product(terms.at(2).map, of_curves[1]);
    ASSERT_EQ(map.values().size(), terms.at(3).map.values().size());
    for (std::size_t i = 0; i < map.values().size(); ++i)
      EXPECT_NEAR(map.values()[i], terms.at(3).map.values()[i], 1e-11);
    const std::vector<TermPenalty> penalties = model.penalties();
    const auto penalty = std::ranges::find(penalties, 2, &TermPenalty::term);
    for (const Matrix& natural : {margins[0], of_curves[1]}) {
      const Matrix unit = product(transposed(natural), product(penalty->matrix, natural));
      for (int i = 0; i < unit.rows(); ++i) {
        for (int j = 0; j < unit.cols(); ++j)
          EXPECT_NEAR(unit(i, j) / unit(0, 0), i == j && i < penalty->rank ? 1 : 0, 1e-11);
      }
    }
  }
}

// Shared and given smoothing parameters of a model that was read from a file are those of the fit.
TEST(ModelParts, SmoothingParametersThatAreSharedOrGiven) {
  Job job = serial_job();
  const Table table = table_for(job);
  FitOptions options;
  options.min_sp = {0, 0, 0, 0.25, 0};
  const Model fitted =
      fit(job,
          parse_formula("y ~ s(x, id = 1) + s(z, id = 1) + s(w, sp = 2) + s(x, g, bs = 'fs', k = 4, m = 1)"),
          table, options)
          .model;
  const TemporaryFolder folder;
  save_model(fitted, folder / "model.json");
  const Model read = load_model(folder / "model.json");
  for (const Model& model : {fitted, read}) {
    const std::vector<TermPenalty> penalties = model.penalties();
    ASSERT_EQ(penalties.size(), 5U);
    EXPECT_EQ(penalties[0].parameter, 0);
    EXPECT_EQ(penalties[1].parameter, 0);
    EXPECT_EQ(penalties[2].parameter, -1);
    EXPECT_NEAR(penalties[2].lambda, 2, 1e-12);
    EXPECT_EQ(penalties[3].parameter, 1);
    EXPECT_NEAR(penalties[3].least, 0.25, 1e-12);
    EXPECT_NEAR(model.smoothing_parameters().at(1).value, penalties[3].lambda - 0.25,
                1e-9 * penalties[3].lambda);
    EXPECT_EQ(model.smoothing_parameters().size(), 3U);
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
