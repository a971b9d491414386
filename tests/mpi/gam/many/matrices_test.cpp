// SPDX-License-Identifier: Apache-2.0
// Matrices of responses within HDF5 files, dense and sparse, give the fits of the same table.
#include "support/file_content.hpp"
#include "support/on_cpu.hpp"
#include "support/table_support.hpp"

#include <tessera/gam/many.hpp>

#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

constexpr int rows = 60;
constexpr int responses = 9;

std::vector<std::vector<int>> counts() {
  std::mt19937_64 random(5);
  std::vector<std::vector<int>> all(rows, std::vector<int>(responses));
  for (int i = 0; i < rows; ++i) {
    for (int g = 0; g < responses; ++g)
      all[static_cast<std::size_t>(i)][static_cast<std::size_t>(g)] =
          std::poisson_distribution<int>(0.3 * (1 + g) * (1 + i % 4))(random);
  }
  return all;
}

std::vector<int> counts_by_rows() {
  std::vector<int> values;
  for (const auto& row : counts()) values.insert(values.end(), row.begin(), row.end());
  return values;
}

/// How a dataset is stored: in chunks, if they have extents, packed by gzip.
struct Storage {
  std::vector<hsize_t> chunk{};
  bool shuffled = false;
  bool gzip = false;
};

void write_numbers(hid_t file, const std::string& path, hid_t type, const void* values,
                   const std::vector<hsize_t>& size, const Storage& storage = {}) {
  const hid_t space = H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  if (!storage.chunk.empty())
    H5Pset_chunk(creation, static_cast<int>(storage.chunk.size()), storage.chunk.data());
  if (storage.shuffled) H5Pset_shuffle(creation);
  if (storage.gzip) H5Pset_deflate(creation, 6);
  const hid_t native = type == H5T_STD_I32BE ? H5T_NATIVE_INT : type;
  const hid_t dataset = H5Dcreate2(file, path.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  H5Dwrite(dataset, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  H5Dclose(dataset);
  H5Pclose(creation);
  H5Sclose(space);
}

/// Chunks of this many rows and all columns, shuffled and packed by lzf: as literal bytes only.
void write_lzf(hid_t file, const std::string& path, int chunk_rows, H5Z_filter_t filter) {
  const hsize_t size[] = {rows, responses};
  const hsize_t chunk[] = {static_cast<hsize_t>(chunk_rows), responses};
  const hid_t space = H5Screate_simple(2, size, nullptr);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, 2, chunk);
  H5Pset_shuffle(creation);
  const unsigned parameters[] = {4, 261, static_cast<unsigned>(chunk_rows * responses * sizeof(int))};
  H5Pset_filter(creation, filter, H5Z_FLAG_OPTIONAL, 3, parameters);
  const hid_t dataset =
      H5Dcreate2(file, path.c_str(), H5T_NATIVE_INT, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  const std::vector<int> all = counts_by_rows();
  for (int first = 0; first < rows; first += chunk_rows) {
    std::vector<int> values(static_cast<std::size_t>(chunk_rows * responses));
    std::copy(all.begin() + first * responses, all.begin() + std::min(rows, first + chunk_rows) * responses,
              values.begin());
    std::string plain(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int));
    std::string shuffled(plain.size(), '\0');
    for (std::size_t i = 0; i < plain.size(); ++i)
      shuffled[i % sizeof(int) * values.size() + i / sizeof(int)] = plain[i];
    std::string packed;
    for (std::size_t i = 0; i < shuffled.size(); i += 32) {
      const std::string run = shuffled.substr(i, 32);
      packed += static_cast<char>(run.size() - 1) + run;
    }
    const hsize_t at[] = {static_cast<hsize_t>(first), 0};
    H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, at, packed.size(), packed.data());
  }
  H5Dclose(dataset);
  H5Pclose(creation);
  H5Sclose(space);
}

/// What is wrong with a sparse matrix.
struct Wrong {
  int index = 0;       ///< of the fourth element; 0: right
  int begin = 0;       ///< of the third run; 0: right
  bool twice = false;  ///< the second element has the index of the first
  bool nan = false;    ///< the fourth value is
  double add = 0;      ///< to the fourth value
};

/// A compressed sparse matrix: by rows of the covariates (csr) or by responses (csc).
void write_sparse(hid_t file, const std::string& path, bool by_rows, const Wrong& wrong = {},
                  hid_t type = H5T_NATIVE_DOUBLE, const Storage& storage = {}) {
  const auto all = counts();
  std::vector<double> data;
  std::vector<int> indices;
  std::vector<int> begins{0};
  for (int run = 0; run < (by_rows ? rows : responses); ++run) {
    for (int i = 0; i < (by_rows ? responses : rows); ++i) {
      const int value = by_rows ? all[static_cast<std::size_t>(run)][static_cast<std::size_t>(i)]
                                : all[static_cast<std::size_t>(i)][static_cast<std::size_t>(run)];
      if (value == 0) continue;
      data.push_back(value);
      indices.push_back(i);
    }
    begins.push_back(static_cast<int>(data.size()));
  }
  if (wrong.index != 0) indices[3] = wrong.index;
  if (wrong.begin != 0) begins[2] = wrong.begin;
  if (wrong.twice) indices[1] = indices[0];
  if (wrong.nan) data[3] = std::numeric_limits<double>::quiet_NaN();
  data[3] += wrong.add;
  H5Gclose(H5Gcreate2(file, path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  const std::vector<float> floats(data.begin(), data.end());
  const void* const values = type == H5T_NATIVE_FLOAT ? static_cast<const void*>(floats.data()) : data.data();
  write_numbers(file, path + "/data", type, values, {data.size()}, storage);
  write_numbers(file, path + "/indices", H5T_NATIVE_INT, indices.data(), {indices.size()}, storage);
  write_numbers(file, path + "/indptr", H5T_NATIVE_INT, begins.data(), {begins.size()});
  const int shape[] = {rows, responses};
  write_numbers(file, path + "/shape", H5T_NATIVE_INT, shape, {2});
}

/// Texts of a fixed length.
void write_names(hid_t file, const std::string& path, const std::vector<std::string>& names) {
  constexpr std::size_t most = 16;
  std::string texts;
  for (std::string name : names) {
    name.resize(most);
    texts += name;
  }
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, most);
  write_numbers(file, path, type, texts.data(), {names.size()});
  H5Tclose(type);
}

std::string table_of(const std::vector<std::vector<int>>& values, const std::string& prefix) {
  std::string text;
  for (int g = 0; g < responses; ++g) text += fmt::format("{}\"{}{}\"", g == 0 ? "" : ",", prefix, g + 1);
  text += '\n';
  for (const auto& row : values) text += fmt::format("{}\n", fmt::join(row, ","));
  return text;
}

class Matrices : public OverRanks {
 protected:
  Matrices() {
    if (comm.rank() == 0) write_matrices();
    std::string table = "t\n";
    for (int i = 0; i < rows; ++i) table += fmt::format("{}\n", i);
    covariates.write(table);
  }

  void write_matrices() const {
    const hid_t file = H5Fcreate(matrix.path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const std::vector<int> by_rows = counts_by_rows();
    std::vector<int> by_responses;
    for (int g = 0; g < responses; ++g) {
      for (const auto& row : counts()) by_responses.push_back(row[static_cast<std::size_t>(g)]);
    }
    write_numbers(file, "/X", H5T_NATIVE_INT, by_rows.data(), {rows, responses});
    write_numbers(file, "/T", H5T_NATIVE_INT, by_responses.data(), {responses, rows});
    write_numbers(file, "/big_endian", H5T_STD_I32BE, by_rows.data(), {rows, responses});
    write_numbers(file, "/chunks", H5T_NATIVE_INT, by_rows.data(), {rows, responses}, {.chunk = {7, 4}});
    write_numbers(file, "/gzip", H5T_NATIVE_INT, by_rows.data(), {rows, responses},
                  {.chunk = {13, 2}, .gzip = true});
    write_numbers(file, "/shuffled", H5T_NATIVE_INT, by_responses.data(), {responses, rows},
                  {.chunk = {2, 11}, .shuffled = true, .gzip = true});
    constexpr H5Z_filter_t lzf = 32000;
    constexpr H5Z_filter_t zstd = 32015;
    write_lzf(file, "/lzf", 16, lzf);
    write_lzf(file, "/zstd", 16, zstd);
    write_numbers(file, "/one", H5T_NATIVE_INT, by_rows.data(), {rows});
    write_sparse(file, "/csr", true);
    write_sparse(file, "/csc", false);
    write_sparse(file, "/csr_floats", true, {}, H5T_NATIVE_FLOAT,
                 {.chunk = {17}, .shuffled = true, .gzip = true});
    write_sparse(file, "/outside", false, {.index = 1000});
    write_sparse(file, "/outside_csr", true, {.index = -1});
    write_sparse(file, "/falling", false, {.begin = 1});
    write_sparse(file, "/twice", false, {.twice = true});
    write_sparse(file, "/twice_csr", true, {.twice = true});
    write_sparse(file, "/nan", false, {.nan = true});
    write_sparse(file, "/fraction", false, {.add = 0.25});
    H5Fclose(file);
  }

  std::string fits_of(const std::string& path, const MemoryOptions& memory = {},
                      const std::string& key = {}) {
    const SharedFile out(comm, "out.csv");
    Job job(comm, on_cpu(2));
    static_cast<void>(fit_many(job, "s(t, bs = \"cr\", k = 5)", Table{covariates.path()},
                               {.path = path, .key = key}, {.family = family("poisson"), .memory = memory},
                               {.fits = out.path()}));
    return comm.rank() == 0 ? tessera::testing::content_of(out.path()) : std::string();
  }
  void expect_refusal(ErrorCode code, const std::string& path, const std::string& part,
                      const std::string& key = {}) {
    expect_error(code, part, [&] { fits_of(matrix.path() + path, {}, key); });
  }
  SharedFile covariates{comm, "covariates.csv"};
  SharedFile matrix{comm, "counts.h5"};
};

TEST_F(Matrices, HaveTheFitsOfTheSameTable) {
  const SharedFile table(comm, "counts.csv", table_of(counts(), ""));
  const std::string expected = fits_of(table.path());
  for (const char* const path : {":/X", ":/T", ":/big_endian", ":/chunks", ":/gzip", ":/shuffled", ":/lzf",
                                 ":/csr", ":/csc", ":/csr_floats"})
    EXPECT_EQ(fits_of(matrix.path() + path), expected) << path;
}

TEST_F(Matrices, ByRowsAreSortedInAScratchFileThatIsRemoved) {
  const SharedFile scratch(comm, "unused");
  const std::string folder = std::filesystem::path(scratch.path()).parent_path();
  const MemoryOptions memory{.node_bytes = 1, .scratch = folder};
  for (const char* const path : {":/csr", ":/csr_floats"}) {
    EXPECT_EQ(fits_of(matrix.path() + path, memory), fits_of(matrix.path() + ":/csc"));
    comm.barrier();
    EXPECT_TRUE(std::filesystem::is_empty(folder));
  }
  expect_error(ErrorCode::input, "/nowhere: no scratch file can be created",
               [&] { fits_of(matrix.path() + ":/csr", {.node_bytes = 1, .scratch = "/nowhere"}); });
}

TEST_F(Matrices, AreMatchedByTheNamesOfTheirRows) {
  // The rows of the covariates in the other order.
  std::string table = "t,cell\n";
  for (int i = rows; i-- > 0;) table += fmt::format("{},cell {}\n", i, i);
  std::vector<std::string> cells;
  std::vector<std::string> genes;
  for (int i = 0; i < rows; ++i) cells.push_back(fmt::format("cell {}", i));
  for (int g = 0; g < responses; ++g) genes.push_back(fmt::format("gene {}", g + 1));
  const auto write_names_of = [&](const std::vector<std::string>& names) {
    comm.barrier();
    if (comm.rank() == 0) {
      write_matrices();
      const hid_t file = H5Fopen(matrix.path().c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
      for (const char* const group : {"/obs", "/var"})
        H5Gclose(H5Gcreate2(file, group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
      write_names(file, "/obs/_index", names);
      write_names(file, "/var/_index", genes);
      H5Fclose(file);
    }
    comm.barrier();
  };
  write_names_of(cells);
  covariates.write(table);
  auto reversed = counts();
  std::ranges::reverse(reversed);
  const SharedFile same_order(comm, "reversed.csv", table_of(reversed, "gene "));
  const std::string expected = fits_of(same_order.path());
  for (const char* const path : {":/X", ":/T", ":/csr", ":/csc"}) {
    // As of a table in the order of the covariates.
    EXPECT_EQ(fits_of(matrix.path() + path, {}, "cell"), expected) << path;
  }
  std::vector<std::string> others = cells;
  others[4] = "stranger";
  write_names_of(others);
  expect_refusal(ErrorCode::input, ":/X",
                 "has no row 'cell 4', which the covariates have, but has a row 'stranger'", "cell");
  others[4] = cells[5];
  write_names_of(others);
  expect_refusal(ErrorCode::input, ":/csr", "rows 5 and 6 have the same name 'cell 5'", "cell");
}

TEST_F(Matrices, ThatAreNoneAreRefused) {
  const auto refused = [&](const std::string& path, const std::string& part) {
    expect_refusal(ErrorCode::input, path, part);
  };
  refused(":/one", "has 1 dimensions, but a matrix of responses has two");
  refused(":/none", "has no dataset /none");
  refused(":/zstd", "is compressed by filter 32015");
  refused(":/outside", "the index 1000 of element 4 is outside of the matrix");
  refused(":/outside_csr", "the index -1 of element 4 is outside of the matrix");
  refused(":/falling", "indptr decreases from");
  refused(":/twice", "has two elements in the same place: sum duplicates");
  refused(":/twice_csr", "has two elements in the same place: sum duplicates");
  refused(":/nan", "response '1', row 7: is NaN, but a sparse matrix has no missing values");
  refused(":/fraction", "is not a count: a whole number of at least 0; if this matrix is normalised, name");
  expect_refusal(ErrorCode::input, ":/X", "has no row names to match with the key", "t");
  covariates.write("t\n1\n2\n3\n4\n5\n6\n7\n");
  refused(":/X", "is 60 x 9, but the covariates have 7 rows");
}

TEST_F(Matrices, OfCovariatesAreRefused) {
  comm.barrier();
  if (comm.rank() == 0) {
    const hid_t file = H5Fopen(matrix.path().c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const std::vector<int> values = counts_by_rows();
    for (const char* const group : {"/layers", "/scalars", "/scalars/FC", "/scalars/FD"})
      H5Gclose(H5Gcreate2(file, group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    for (const char* const path : {"/scalars/FC/values", "/scalars/FD/values"})
      write_numbers(file, path, H5T_NATIVE_INT, values.data(), {rows, responses});
    write_sparse(file, "/layers/spliced", true);
    H5Fclose(file);
  }
  comm.barrier();
  Job job(comm, on_cpu(1));
  const auto refused = [&](const Table& table, const std::string& path, const std::string& terms,
                           ErrorCode code, const std::string& part) {
    expect_error(code, part,
                 [&] { static_cast<void>(fit_many(job, terms, table, {.path = matrix.path() + path})); });
  };
  const Table table{covariates.path()};
  const std::string why = ", but covariates are the same for all: fit each response separately";
  refused(table, ":/scalars/FD/values", "s(t) + FC", ErrorCode::usage,
          "the variable 'FC' has a value for each response (" + matrix.path() + ":/scalars/FC/values)" + why);
  refused(table, ":/X", "t + offset(log(spliced))", ErrorCode::usage,
          "the variable 'spliced' has a value for each response (" + matrix.path() + ":/layers/spliced)");
  refused(table, ":/X", "t + T", ErrorCode::usage, matrix.path() + ":/T)");
  refused(table, ":/X", "t + one", ErrorCode::input, "unknown column 'one'; it has: t");
  // In the file of the covariates.
  comm.barrier();
  const SharedFile both(comm, "both.h5");
  if (comm.rank() == 0) {
    const hid_t file = H5Fcreate(both.path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const std::vector<int> values = counts_by_rows();
    write_numbers(file, "/t", H5T_NATIVE_INT, values.data(), {rows});
    write_numbers(file, "/depth", H5T_NATIVE_INT, values.data(), {rows, responses});
    H5Fclose(file);
  }
  comm.barrier();
  refused(Table{both.path()}, ":/X", "t + depth", ErrorCode::usage,
          "the variable 'depth' has a value for each response (" + both.path() + ":/depth)" + why);
}

TEST_F(Matrices, WithADamagedChunkAreRefusedWithItsPlace) {
  comm.barrier();
  if (comm.rank() == 0) {
    const hid_t file = H5Fopen(matrix.path().c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "/gzip", H5P_DEFAULT);
    const hsize_t at[] = {13, 4};
    H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, at, 7, "damaged");
    H5Dclose(dataset);
    H5Fclose(file);
  }
  comm.barrier();
  expect_refusal(ErrorCode::input, ":/gzip", ":/gzip: the values of rows 14 to 26 and columns 5 to ");
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
