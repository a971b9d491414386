// SPDX-License-Identifier: Apache-2.0
// Many models from files to files: the same bytes for any number of ranks and threads, and errors on all
// ranks.
#include "support/file_content.hpp"
#include "support/on_cpu.hpp"
#include "support/table_support.hpp"

#include <tessera/gam/many.hpp>

#include <fmt/format.h>

#include <random>
#include <string>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

constexpr int rows = 120;
constexpr int responses = 37;
constexpr const char* terms = "f + s(t, by = f, bs = \"cr\", k = 5) + offset(o)";

std::string covariates_text() {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::string text = "t,f,o\n";
  for (int i = 0; i < rows; ++i)
    text += fmt::format("{},{},{}\n", uniform(random), i % 3 == 0 ? "a" : "b", 0.2 * uniform(random));
  return text;
}

std::string responses_text(const std::string& wrong = {}) {
  std::mt19937_64 random(2);
  std::string text;
  for (int g = 0; g < responses; ++g) text += fmt::format("{}gene{}", g == 0 ? "" : ",", g);
  text += '\n';
  for (int i = 0; i < rows; ++i) {
    for (int g = 0; g < responses; ++g) {
      const double mean = g == 3 ? 0 : std::exp(0.1 * g - 1) * (1 + i % 5);
      std::string value = mean == 0 ? "0" : std::to_string(std::poisson_distribution<int>(mean)(random));
      if (g == 5 && i % 7 == 0) value = "NA";
      if (g == 20 && i == 10 && !wrong.empty()) value = wrong;
      text += fmt::format("{}{}", g == 0 ? "" : ",", value);
    }
    text += '\n';
  }
  return text;
}

class ManyFits : public OverRanks {
 protected:
  ManySummary fit(Job& job, const std::string& out, const std::string& tests, ManyOptions options = {},
                  std::string formula = terms) {
    options.family = family("nb");
    return fit_many(job, formula, Table{covariates.path()}, {.path = counts.path(), .subset = {}}, options,
                    {.fits = out, .tests = tests});
  }
  SharedFile covariates{comm, "covariates.csv", covariates_text()};
  SharedFile counts{comm, "counts.csv", responses_text()};
};

TEST_F(ManyFits, AreTheSameBytesForAnyRanksAndThreads) {
  const SharedFile fits(comm, "fits.csv");
  const SharedFile tests(comm, "tests.csv");
  Job job(comm, on_cpu(2));
  const ManySummary summary = fit(job, fits.path(), tests.path());
  EXPECT_EQ(summary.responses, responses);
  EXPECT_EQ(summary.by_status.at("all_zero"), 1);
  if (comm.rank() != 0) return;
  const mpi::Communicator serial = mpi::Communicator::serial();
  Job alone(serial, on_cpu(1));
  const std::string own_fits = fits.path() + ".own.csv";
  const std::string own_tests = tests.path() + ".own.csv";
  fit(alone, own_fits, own_tests);
  EXPECT_EQ(tessera::testing::content_of(fits.path()), tessera::testing::content_of(own_fits));
  EXPECT_EQ(tessera::testing::content_of(tests.path()), tessera::testing::content_of(own_tests));
}

TEST_F(ManyFits, OfASubsetHaveTheSameNumbers) {
  const SharedFile fits(comm, "fits.csv");
  const SharedFile some(comm, "some.csv");
  const SharedFile names(comm, "names.txt", "gene7\ngene30\n");
  Job job(comm, on_cpu(2));
  fit(job, fits.path(), "");
  static_cast<void>(fit_many(job, terms, Table{covariates.path()},
                             {.path = counts.path(), .subset = names.path()}, {.family = family("nb")},
                             {.fits = some.path()}));
  if (comm.rank() != 0) return;
  const std::string all = tessera::testing::content_of(fits.path());
  const std::string two = tessera::testing::content_of(some.path());
  EXPECT_EQ(std::count(two.begin(), two.end(), '\n'), 3);
  for (const char* const name : {"\n\"gene7\",", "\n\"gene30\","}) {
    const auto line = [&](const std::string& text) {
      const auto begin = text.find(name);
      return begin == std::string::npos ? std::string()
                                        : text.substr(begin, text.find('\n', begin + 1) - begin);
    };
    EXPECT_FALSE(line(two).empty());
    EXPECT_EQ(line(two), line(all));
  }
}

TEST_F(ManyFits, LeaveOutResponsesWithTooFewValues) {
  const SharedFile fits(comm, "fits.csv");
  Job job(comm, on_cpu(2));
  EXPECT_EQ(fit(job, fits.path(), "", {.min_share = 0.9}).by_status.at("too_few"), 1);
}

/// An array of NumPy, version 1.0.
std::string npy(const std::string& type, bool fortran, const std::string& shape, const std::string& values) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", type,
                                   fortran ? "True" : "False", shape);
  header.resize(117, ' ');
  header += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size());
  text += '\0';
  return text + header + values;
}

/// The counts of `responses_text`, without a missing value.
template <class T>
std::string values_text(bool by_columns) {
  std::string text;
  for (int a = 0; a < (by_columns ? responses : rows); ++a) {
    for (int b = 0; b < (by_columns ? rows : responses); ++b) {
      const T value = static_cast<T>(by_columns ? b * (a + 3) % (a + 4) : a * (b + 3) % (b + 4));
      text.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }
  return text;
}

class ManyArrays : public ManyFits {
 protected:
  std::string fits_of(const Responses& matrices, const std::string& table, const std::string& formula) {
    const SharedFile out(comm, "out.csv");
    Job job(comm, on_cpu(2));
    static_cast<void>(
        fit_many(job, formula, Table{table}, matrices, {.family = family("poisson")}, {.fits = out.path()}));
    return comm.rank() == 0 ? tessera::testing::content_of(out.path()) : std::string();
  }
  std::string fits_of(const Responses& matrices) {
    return fits_of(matrices, covariates.path(), "s(t, k = 5)");
  }
  SharedFile array{comm, "counts.npy"};
};

TEST_F(ManyArrays, OfNumpyHaveTheFitsOfTheSameTable) {
  std::string text;
  for (int g = 0; g < responses; ++g) text += fmt::format("{}{}", g == 0 ? "" : ",", g + 1);
  for (int i = 0; i < rows; ++i) {
    for (int g = 0; g < responses; ++g)
      text += fmt::format("{}{}", g == 0 ? "\n" : ",", i * (g + 3) % (g + 4));
  }
  counts.write(text + "\n");
  const std::string expected = fits_of({.path = counts.path()});
  const std::string shape = fmt::format("({}, {})", rows, responses);
  const auto expect_same = [&](const std::string& content) {
    array.write(content);
    EXPECT_EQ(fits_of({.path = array.path()}), expected) << content.substr(0, 80);
  };
  expect_same(npy("<f8", false, shape, values_text<double>(false)));
  expect_same(npy("<f4", true, shape, values_text<float>(true)));
  expect_same(npy("|u1", false, shape, values_text<std::uint8_t>(false)));
  expect_same(npy("<i2", true, shape, values_text<std::int16_t>(true)));
  expect_same(npy("<u4", false, shape, values_text<std::uint32_t>(false)));
  // Transposed.
  expect_same(npy("<i8", false, fmt::format("({}, {})", responses, rows), values_text<std::int64_t>(true)));
  const auto expect_refusal = [&](const std::string& content, const std::string& part) {
    array.write(content);
    expect_error(ErrorCode::input, part, [&] { fits_of({.path = array.path()}); });
  };
  const std::string doubles = values_text<double>(false);
  expect_refusal(npy(">f8", false, shape, doubles), "has values of type >f8");
  expect_refusal(npy("|O", false, shape, doubles), "has values of type |O");
  expect_refusal(npy("<f8", false, fmt::format("({},)", rows), doubles), "has 1 dimensions");
  expect_refusal(npy("<f8", false, shape, doubles.substr(1)), "it is truncated");
  expect_refusal(npy("<f8", false, "(7, 8)", doubles), "is 7 x 8, but the covariates have 120 rows");
  expect_refusal("no array", "does not begin with the signature of a NumPy array");
  expect_error(ErrorCode::input, "numpy.save(FILE.npy, X)", [&] { fits_of({.path = "counts.npz"}); });
}

TEST_F(ManyArrays, OfWeightsAndOffsetsAreThoseOfEachResponse) {
  // One response with them, as columns of the covariates: the same model, whose bases do not depend on
  // weights.
  std::string table = "t,w,o\n";
  std::string weights = "gene2,gene1\n";
  std::string offsets = "gene1,gene2\n";
  std::string values = "gene1,gene2\n";
  for (int i = 0; i < rows; ++i) {
    const double weight = i % 5 == 0 ? 0 : 0.5 + i % 3;
    const double offset = 0.01 * (i % 17);
    table += fmt::format("{},{},{}\n", i, weight, offset);
    weights += fmt::format("{},{}\n", 1, weight);
    offsets += fmt::format("{},{}\n", offset, 0);
    values += fmt::format("{},{}\n", i * 7 % 5, i * 3 % 8);
  }
  covariates.write(table);
  counts.write(values);
  const SharedFile weight_table(comm, "weights.csv", weights);
  const SharedFile offset_table(comm, "offsets.csv", offsets);
  const std::string formula = "s(t, bs = \"cr\", k = 5)";
  const std::string found =
      fits_of({.path = counts.path(), .weights = weight_table.path(), .offsets = offset_table.path()},
              covariates.path(), formula);
  const std::string plain = fits_of({.path = counts.path()}, covariates.path(), formula);
  const SharedFile out(comm, "out.csv");
  Job job(comm, on_cpu(2));
  static_cast<void>(fit_many(job, formula + " + offset(o)", Table{covariates.path()}, {.path = counts.path()},
                             {.family = family("poisson"), .weights = "w"}, {.fits = out.path()}));
  if (comm.rank() == 0) {
    const std::string weighted = tessera::testing::content_of(out.path());
    const auto line = [](const std::string& text, const char* name) {
      const auto begin = text.find(name);
      return text.substr(begin, text.find('\n', begin) - begin);
    };
    EXPECT_EQ(line(found, "\"gene1\""), line(weighted, "\"gene1\""));
    EXPECT_EQ(line(found, "\"gene2\""), line(plain, "\"gene2\""));
  }
  const SharedFile other(comm, "other.csv", "gene1,gene3\n" + weights.substr(weights.find('\n') + 1));
  expect_error(ErrorCode::input, "other.csv: has no response 'gene2'",
               [&] { fits_of({.path = counts.path(), .weights = other.path()}); });
  array.write(npy("<f8", false, fmt::format("({}, 3)", rows), values_text<double>(false)));
  expect_error(ErrorCode::input, "counts.npy: has 3 responses, but",
               [&] { fits_of({.path = counts.path(), .weights = array.path()}); });
  array.write(npy("<i1", false, fmt::format("({}, 2)", rows), std::string(2 * rows, '\xff')));
  expect_error(ErrorCode::input, "response 'gene1', row 1: the weight -1 is not a number of at least 0",
               [&] { fits_of({.path = counts.path(), .weights = array.path()}); });
}

TEST_F(ManyFits, AreMatchedByTheKeyOfTheirRows) {
  const SharedFile fits(comm, "fits.csv");
  const SharedFile reordered(comm, "reordered.csv");
  Job job(comm, on_cpu(2));
  const auto with_names = [](const std::string& text, bool reversed) {
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
      lines.push_back(text.substr(begin, text.find('\n', begin) - begin));
    std::string result = "id," + lines[0] + "\n";
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const std::size_t row = reversed ? lines.size() - i : i;
      result += fmt::format("{:04},{}\n", row, lines[row]);
    }
    return result;
  };
  const auto fit_to = [&](const std::string& table, const std::string& out) {
    static_cast<void>(fit_many(job, terms, Table{covariates.path()}, {.path = table, .key = "id"},
                               {.family = family("nb")}, {.fits = out}));
  };
  fit(job, fits.path(), "");
  covariates.write(with_names(covariates_text(), false));
  counts.write(with_names(responses_text(), true));
  fit_to(counts.path(), reordered.path());
  if (comm.rank() == 0) {
    EXPECT_EQ(tessera::testing::content_of(fits.path()), tessera::testing::content_of(reordered.path()));
  }
  const SharedFile out(comm, "none.csv");
  std::string strange = with_names(responses_text(), true);
  strange.replace(strange.find("0007,"), 4, "0999");
  counts.write(strange);
  expect_error(
      ErrorCode::input,
      "has no row '0007', which the covariates have, but has a row '0999', which the covariates lack",
      [&] { fit_to(counts.path(), out.path()); });
  counts.write(responses_text());
  expect_error(ErrorCode::input, "has no row names to match with the key",
               [&] { fit_to(counts.path(), out.path()); });
}

TEST_F(ManyFits, RefuseBadInputOnAllRanksAndLeaveNothing) {
  const SharedFile fits(comm, "fits.csv");
  Job job(comm, on_cpu(2));
  const auto refused = [&](ErrorCode code, const std::string& part, auto&& call) {
    expect_error(code, part, call);
    comm.barrier();
    if (comm.rank() == 0) {
      EXPECT_FALSE(std::filesystem::exists(fits.path()));
    }
  };
  counts.write(responses_text("2.5"));
  refused(ErrorCode::input, "response 'gene20', row 11: the value 2.5 is not a count",
          [&] { fit(job, fits.path(), ""); });
  counts.write("a,b\n1,2\n");
  refused(ErrorCode::input, "has 1 rows, but the covariates have 120", [&] { fit(job, fits.path(), ""); });
  counts.write(responses_text());
  refused(ErrorCode::usage, "fits of many responses support the families", [&] {
    static_cast<void>(fit_many(job, terms, Table{covariates.path()}, {.path = counts.path()},
                               {.family = family("tw")}, {.fits = fits.path()}));
  });
  refused(ErrorCode::usage, "the formula is empty", [&] { fit(job, fits.path(), "", {}, " "); });
  const SharedFile names(comm, "names.txt", "gene99\n");
  refused(ErrorCode::usage, "has no response 'gene99'", [&] {
    static_cast<void>(fit_many(job, terms, Table{covariates.path()},
                               {.path = counts.path(), .subset = names.path()}, {.family = family("nb")},
                               {.fits = fits.path()}));
  });
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
