// SPDX-License-Identifier: Apache-2.0
// Many models from memory to memory: every form of a matrix gives the bits of the same table in a file.
#include "support/on_cpu.hpp"
#include "support/table_support.hpp"

#include <tessera/tessera_gam.h>
#include <tessera/gam/fit_response.hpp>
#include <tessera/gam/many.hpp>

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <variant>
#include <vector>
#if TESSERA_HAVE_MPI
#include <mpi.h>
#endif

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

constexpr int cells = 70;
constexpr int genes = 11;
/// The columns of fits before it have texts: names, and how the fits ended.
constexpr std::size_t first_number = 5;
constexpr const char* smooth_terms = "s(t, bs = \"cr\", k = 5)";

std::size_t by_rows(int i, int j) {
  return static_cast<std::size_t>(i) * genes + static_cast<std::size_t>(j);
}

/// Counts by rows; the gene of index 2 is not seen.
template <class Value>
std::vector<Value> counts() {
  std::mt19937_64 random(3);
  std::vector<Value> all(cells * genes);
  for (int i = 0; i < cells; ++i) {
    for (int j = 0; j < genes; ++j) {
      if (j != 2)
        all[by_rows(i, j)] =
            static_cast<Value>(std::poisson_distribution<int>(0.2 * (j + 1) * (1 + i % 4))(random));
    }
  }
  return all;
}

/// The counts as a sparse matrix.
template <class Value, class Index>
struct Compressed {
  std::vector<Value> values{};
  std::vector<Index> indices{};
  std::vector<Index> begins{0};

  explicit Compressed(bool by_columns) {
    const auto all = counts<Value>();
    for (int run = 0; run < (by_columns ? genes : cells); ++run) {
      for (int other = 0; other < (by_columns ? cells : genes); ++other) {
        const Value value = by_columns ? all[by_rows(other, run)] : all[by_rows(run, other)];
        if (value == 0) continue;
        values.push_back(value);
        indices.push_back(static_cast<Index>(other));
      }
      begins.push_back(static_cast<Index>(values.size()));
    }
  }
  [[nodiscard]] SparseMatrix matrix(bool by_columns) const {
    return {values, indices, begins, cells, genes, by_columns};
  }
};

class ManyInMemory : public OverRanks {
 protected:
  ManyInMemory() {
    std::vector<double> t(cells);
    for (std::size_t i = 0; i < t.size(); ++i) t[i] = std::sin(static_cast<double>(i));
    covariates = {Plan::over_hosts(cells, 1), {{"t", t}}};
  }
  [[nodiscard]] ManyResults fits(const Responses& responses, const char* family_name = "nb") {
    Job job(comm, on_cpu(2));
    return fit_many(job, smooth_terms, covariates, responses, {.family = family(family_name)});
  }
  [[nodiscard]] ManyResults fits(std::variant<DenseMatrix, SparseMatrix> matrix,
                                 ResponsesIn in = ResponsesIn::automatic) {
    return fits({.in = in, .matrix = ResponseMatrix{matrix}});
  }
  static void expect_same(const std::vector<Table::Column>& found,
                          const std::vector<Table::Column>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t c = 0; c < found.size(); ++c) {
      EXPECT_EQ(found[c].name, expected[c].name);
      if (const auto* const factor = std::get_if<Factor>(&expected[c].values)) {
        EXPECT_EQ(std::get<Factor>(found[c].values).codes, factor->codes) << found[c].name;
        continue;
      }
      const auto& numbers = std::get<std::vector<double>>(expected[c].values);
      const auto& own = std::get<std::vector<double>>(found[c].values);
      ASSERT_EQ(own.size(), numbers.size());
      EXPECT_EQ(std::memcmp(own.data(), numbers.data(), own.size() * sizeof(double)), 0) << found[c].name;
    }
  }
  void refused(ErrorCode code, const std::string& part,
               const std::variant<DenseMatrix, SparseMatrix>& matrix) {
    expect_error(code, part, [&] { static_cast<void>(fits(matrix)); });
  }

  Table covariates;
};

TEST_F(ManyInMemory, HaveTheBitsOfTheFilesOfTheSameTable) {
  std::string text;
  for (int j = 0; j < genes; ++j) text += fmt::format("{}gene{}", j == 0 ? "" : ",", j);
  const auto all = counts<int>();
  for (int i = 0; i < cells; ++i) {
    for (int j = 0; j < genes; ++j) text += fmt::format("{}{}", j == 0 ? "\n" : ",", all[by_rows(i, j)]);
  }
  const SharedFile table(comm, "counts.csv", text + "\n");
  const SharedFile out(comm, "fits.csv");
  Job job(comm, on_cpu(2));
  const ManyOptions options{.family = family("nb")};
  const ManySummary summary =
      fit_many(job, smooth_terms, covariates, {.path = table.path()}, options, {.fits = out.path()});
  const ManyResults found = fits({.path = table.path()});
  EXPECT_EQ(found.summary.by_status, summary.by_status);
  EXPECT_EQ(std::get<Factor>(found.fits.at(0).values).levels.at(7), "gene7");
  // The columns of a table in a file and in memory.
  expect_same(fits({.table = Table{table.path()}}).fits, found.fits);
  std::vector<Table::Column> columns;
  for (int j = 0; j < genes; ++j) {
    std::vector<double> values;
    for (int i = 0; i < cells; ++i) values.push_back(all[by_rows(i, j)]);
    columns.push_back({fmt::format("gene{}", j), values});
  }
  const ManyResults of_columns = fits({.table = Table{Plan::over_hosts(cells, 1), columns}});
  expect_same(of_columns.fits, found.fits);
  expect_same(of_columns.tests, found.tests);
  if (comm.rank() != 0) return;
  // The file has these numbers.
  Job alone(mpi::Communicator::serial(), on_cpu(1));
  const Table read = read_table(alone, Table{out.path()}, parse_formula("reml ~ edf + deviance"));
  for (const Table::Column& column : read.columns) {
    const auto own = std::ranges::find(found.fits, column.name, &Table::Column::name);
    ASSERT_NE(own, found.fits.end());
    expect_same({*own}, {column});
  }
}

TEST_F(ManyInMemory, HaveTheBitsOfEveryFormOfTheMatrix) {
  const auto doubles = counts<double>();
  const ManyResults expected = fits(DenseMatrix{doubles, cells, genes, genes, 1});
  EXPECT_EQ(expected.summary.by_status.at("all_zero"), 1);
  EXPECT_EQ(std::get<Factor>(expected.fits.at(0).values).levels.at(2), "3");
  const auto same = [&](const ManyResults& found) {
    expect_same(found.fits, expected.fits);
    expect_same(found.tests, expected.tests);
  };
  const auto of_type = [&]<class Value>(Value) {
    const auto values = counts<Value>();
    same(fits(DenseMatrix{values, cells, genes, genes, 1}));
  };
  of_type(float{});
  of_type(std::int8_t{});
  of_type(std::uint8_t{});
  of_type(std::int16_t{});
  of_type(std::uint16_t{});
  of_type(std::int32_t{});
  of_type(std::uint32_t{});
  of_type(std::int64_t{});
  of_type(std::uint64_t{});
  // A part of a larger matrix by columns, and responses in rows.
  std::vector<float> wide(2 * cells * genes, std::numeric_limits<float>::quiet_NaN());
  for (int i = 0; i < cells; ++i) {
    for (int j = 0; j < genes; ++j)
      wide[static_cast<std::size_t>(2 * (j * cells + i))] = static_cast<float>(doubles[by_rows(i, j)]);
  }
  same(fits(DenseMatrix{wide, cells, genes, 2, 2 * cells}));
  same(fits(DenseMatrix{wide, genes, cells, 2 * cells, 2}));
  for (const bool by_columns : {false, true}) {
    const Compressed<std::uint16_t, std::int32_t> small(by_columns);
    same(fits(small.matrix(by_columns)));
    Compressed<double, std::int64_t> large(by_columns);
    same(fits(large.matrix(by_columns)));
    SparseMatrix transposed = large.matrix(!by_columns);
    std::swap(transposed.rows, transposed.columns);
    same(fits(transposed, ResponsesIn::rows));
    // Not sorted, and one element in two parts.
    ASSERT_GE(large.begins[1], 2);
    std::swap(large.indices[0], large.indices[1]);
    std::swap(large.values[0], large.values[1]);
    large.values.insert(large.values.begin(), 1);
    large.indices.insert(large.indices.begin(), large.indices[0]);
    large.values[1] -= 1;
    for (std::size_t run = 1; run < large.begins.size(); ++run) ++large.begins[run];
    same(fits(large.matrix(by_columns)));
  }
}

TEST_F(ManyInMemory, HaveTheBitsOfOneResponseWithinAPassOfTheCallersUnits) {
  const auto all = counts<double>();
  const ManyResults expected = fits(DenseMatrix{all, cells, genes, genes, 1});
  const ManyDesign design(smooth_terms, covariates, {.family = family("nb")});
  EXPECT_EQ(design.rows(), cells);
  Job job(comm, on_cpu(2));
  const Plan plan = job.plan(genes);
  std::vector<int> mine;
  for (std::int64_t j = job.local_range(plan).begin; j < job.local_range(plan).end; ++j)
    mine.push_back(static_cast<int>(j));
  const auto results = job.map<ResponseResult>(
      plan, mine, host_only,
      [&](const HostTile& /*tile*/, std::span<const int> some, std::span<ResponseResult> out) {
        for (std::size_t u = 0; u < some.size(); ++u) {
          std::vector<double> response(cells);
          for (int i = 0; i < cells; ++i) response[static_cast<std::size_t>(i)] = all[by_rows(i, some[u])];
          out[u] = fit_response(design, response);
        }
      });
  const auto& status = std::get<Factor>(expected.fits.at(1).values);
  ASSERT_EQ(design.columns().size() + first_number, expected.fits.size());
  ASSERT_EQ(2 * design.tests().size() + 1, expected.tests.size());
  for (std::size_t u = 0; u < mine.size(); ++u) {
    const auto j = static_cast<std::size_t>(mine[u]);
    const auto same = [&](double found, const Table::Column& column) {
      const double own = std::get<std::vector<double>>(column.values)[j];
      EXPECT_TRUE(found == own || (std::isnan(found) && std::isnan(own))) << column.name << found << own;
    };
    EXPECT_EQ(results[u].status, status.levels[static_cast<std::size_t>(status.codes[j])]);
    for (std::size_t c = 0; c < design.columns().size(); ++c) {
      EXPECT_EQ(design.columns()[c], expected.fits[c + first_number].name);
      same(results[u].values[c], expected.fits[c + first_number]);
    }
    for (std::size_t t = 0; t < design.tests().size(); ++t) {
      EXPECT_EQ("p:" + design.tests()[t], expected.tests[2 * t + 1].name);
      same(results[u].p_values[t], expected.tests[2 * t + 1]);
    }
  }
  // Weights of a response.
  std::vector<double> some(cells, 1);
  for (std::size_t i = 0; i < some.size(); i += 4) some[i] = 0;
  const std::vector<double> offsets(cells, 0.25);
  std::vector<double> response(cells);
  for (int i = 0; i < cells; ++i) response[static_cast<std::size_t>(i)] = all[by_rows(i, 7)];
  const ResponseResult weighted = fit_response(design, response, some, offsets);
  std::vector<double> all_weights(all.size(), 1);
  for (int i = 0; i < cells; i += 4) all_weights[by_rows(i, 7)] = 0;
  const ManyResults beside =
      fits({.matrix = ResponseMatrix{DenseMatrix{all, cells, genes, genes, 1}},
            .weights_matrix = ResponseMatrix{DenseMatrix{all_weights, genes, cells, 1, genes}},
            .offsets_matrix = ResponseMatrix{DenseMatrix{offsets, cells, genes, 0, 0}}});
  for (std::size_t c = 0; c < design.columns().size(); ++c) {
    const double own = std::get<std::vector<double>>(beside.fits[c + first_number].values)[7];
    EXPECT_TRUE(weighted.values[c] == own || (std::isnan(own) && std::isnan(weighted.values[c])))
        << design.columns()[c];
  }
  EXPECT_EQ(weighted.values[0], cells - (cells + 3) / 4);
  const auto only_offsets =
      fits({.matrix = ResponseMatrix{DenseMatrix{all, cells, genes, genes, 1}},
            .offsets_matrix = ResponseMatrix{DenseMatrix{offsets, cells, genes, 1, 0}}});
  EXPECT_EQ(std::get<std::vector<double>>(only_offsets.fits[first_number].values)[7], cells);
  expect_error(ErrorCode::usage, "the response has 69 weights, but the covariates have 70 rows",
               [&] { static_cast<void>(fit_response(design, response, std::span(some).subspan(1))); });
  std::vector<double> wrong(cells, 1);
  wrong[4] = 0.5;
  expect_error(ErrorCode::input, "row 5: the value 0.5 is not a count",
               [&] { static_cast<void>(fit_response(design, wrong)); });
  wrong.pop_back();
  expect_error(ErrorCode::usage, "the response has 69 values, but the covariates have 70 rows",
               [&] { static_cast<void>(fit_response(design, wrong)); });
}

TEST_F(ManyInMemory, HaveMissingValuesAsTheFilesHave) {
  auto all = counts<float>();
  for (int i = 0; i < 30; ++i) all[by_rows(i, 5)] = std::numeric_limits<float>::quiet_NaN();
  const ManyResults found = fits(DenseMatrix{all, cells, genes, genes, 1});
  const auto& rows = std::get<std::vector<double>>(found.fits.at(first_number).values);
  EXPECT_EQ(found.fits.at(first_number).name, "rows");
  EXPECT_EQ(rows.at(5), cells - 30);
  EXPECT_EQ(rows.at(6), cells);
}

#if TESSERA_HAVE_MPI
TEST_F(ManyInMemory, AreTheSameFromCOverACommunicator) {
  const auto all = counts<double>();
  const auto& t = std::get<std::vector<double>>(covariates.columns.front().values);
  tessera_gam_table table = 0;
  ASSERT_EQ(tessera_gam_table_open(cells, nullptr, &table), TESSERA_GAM_OK);
  ASSERT_EQ(tessera_gam_table_add_numbers(table, "t", t.data(), t.size()), TESSERA_GAM_OK);
  tessera_gam_responses responses = TESSERA_GAM_RESPONSES;
  responses.rows = cells;
  responses.columns = genes;
  responses.values = all.data();
  responses.value_count = all.size();
  responses.row_stride = genes;
  responses.column_stride = 1;
  const std::string handle = std::to_string(MPI_Comm_c2f(MPI_COMM_WORLD));
  const tessera_gam_option options[] = {{"comm", handle.c_str()}, {"family", "nb"}, {"threads", "1"}};
  tessera_gam_call call = TESSERA_GAM_CALL;
  call.options = options;
  call.option_count = 3;
  tessera_gam_answer answer = 0;
  ASSERT_EQ(tessera_gam_fit_many(smooth_terms, table, &responses, &call, &answer, nullptr), TESSERA_GAM_OK)
      << tessera_gam_error();
  // Texts are kept columns.
  const auto expected = fits(DenseMatrix{all, cells, genes, genes, 1}).fits;
  for (std::size_t c = first_number; c < expected.size(); ++c) {
    std::vector<double> numbers(genes);
    ASSERT_EQ(tessera_gam_answer_numbers(answer, c - first_number, numbers.data(), genes), TESSERA_GAM_OK);
    expect_same({{expected[c].name, numbers}}, {expected[c]});
  }
  EXPECT_EQ(tessera_gam_answer_close(answer), TESSERA_GAM_OK);
  EXPECT_EQ(tessera_gam_table_close(table), TESSERA_GAM_OK);
}
#endif

TEST_F(ManyInMemory, ThatAreNoneAreRefusedOnAllRanks) {
  auto all = counts<double>();
  refused(ErrorCode::usage, "strides of 12 and 1 lead outside its 770 numbers",
          DenseMatrix{all, cells, genes, 12, 1});
  refused(ErrorCode::usage, "strides of 11 and -1 lead", DenseMatrix{all, cells, genes, genes, -1});
  refused(ErrorCode::usage, "lead outside its 770 numbers",
          DenseMatrix{all, cells, genes, std::int64_t{1} << 62, std::int64_t{1} << 62});
  refused(ErrorCode::input, "is 69 x 11, but the covariates have 70 rows",
          DenseMatrix{all, cells - 1, genes, genes, 1});
  all[by_rows(10, 6)] = 2.5;
  refused(ErrorCode::input, "the responses in memory: response '7', row 11: the value 2.5 is not a count",
          DenseMatrix{all, cells, genes, genes, 1});
  const Compressed<double, std::int32_t> sound(true);
  refused(ErrorCode::usage, "values, indices and begins do not match", sound.matrix(false));
  auto broken = sound;
  broken.indices[4] = cells;
  refused(ErrorCode::input, "the index 70 of element 4 is outside of the matrix", broken.matrix(true));
  broken.indices[4] = -1;
  refused(ErrorCode::input, "the index -1 of element 4", broken.matrix(true));
  broken = sound;
  std::swap(broken.begins[3], broken.begins[4]);
  refused(ErrorCode::usage, "do not match", broken.matrix(true));
  broken = sound;
  broken.begins.back() += 1;
  refused(ErrorCode::usage, "do not match", broken.matrix(true));
  expect_error(ErrorCode::usage, "2 names are given for 11 responses", [&] {
    static_cast<void>(fits({.matrix = ResponseMatrix{sound.matrix(true), {"a", "b"}}}));
  });
  expect_error(ErrorCode::input, "the response 'g' has texts, such as 'a'", [&] {
    static_cast<void>(fits({.table = Table{Plan::over_hosts(cells, 1),
                                           {{"g", Factor{std::vector<std::int32_t>(cells), {"a"}}}}}}));
  });
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
