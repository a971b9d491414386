// SPDX-License-Identifier: Apache-2.0
// Matrices of responses within HDF5 files, dense and sparse, give the fits of the same table.
#include "support/file_content.hpp"
#include "support/on_cpu.hpp"
#include "support/table_support.hpp"

#include <tessera/gam/many.hpp>

#include <fmt/format.h>
#include <hdf5.h>

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

void write_numbers(hid_t file, const std::string& path, hid_t type, const void* values,
                   const std::vector<hsize_t>& size) {
  const hid_t space = H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr);
  const hid_t dataset = H5Dcreate2(file, path.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  H5Dclose(dataset);
  H5Sclose(space);
}

/// A compressed sparse matrix: by rows of the covariates (csr) or by responses (csc).
void write_sparse(hid_t file, const std::string& path, bool by_rows, int wrong_index) {
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
  if (wrong_index != 0) indices[3] = wrong_index;
  H5Gclose(H5Gcreate2(file, path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  write_numbers(file, path + "/data", H5T_NATIVE_DOUBLE, data.data(), {data.size()});
  write_numbers(file, path + "/indices", H5T_NATIVE_INT, indices.data(), {indices.size()});
  write_numbers(file, path + "/indptr", H5T_NATIVE_INT, begins.data(), {begins.size()});
  const int shape[] = {rows, responses};
  write_numbers(file, path + "/shape", H5T_NATIVE_INT, shape, {2});
}

class Matrices : public OverRanks {
 protected:
  Matrices() {
    if (comm.rank() == 0) {
      const hid_t file = H5Fcreate(matrix.path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
      std::vector<int> by_rows;
      std::vector<int> by_responses;
      const auto all = counts();
      for (const auto& row : all) by_rows.insert(by_rows.end(), row.begin(), row.end());
      for (int g = 0; g < responses; ++g) {
        for (const auto& row : all) by_responses.push_back(row[static_cast<std::size_t>(g)]);
      }
      write_numbers(file, "/X", H5T_NATIVE_INT, by_rows.data(), {rows, responses});
      write_numbers(file, "/T", H5T_NATIVE_INT, by_responses.data(), {responses, rows});
      write_numbers(file, "/one", H5T_NATIVE_INT, by_rows.data(), {rows});
      write_sparse(file, "/csr", true, 0);
      write_sparse(file, "/csc", false, 0);
      write_sparse(file, "/outside", false, 1000);
      H5Fclose(file);
    }
    std::string table = "t\n";
    for (int i = 0; i < rows; ++i) table += fmt::format("{}\n", i);
    covariates.write(table);
  }
  std::string fits_of(const std::string& path) {
    const SharedFile out(comm, "out.csv");
    Job job(comm, on_cpu(2));
    static_cast<void>(fit_many(job, "s(t, bs = \"cr\", k = 5)", Table{covariates.path()}, {.path = path},
                               {.family = family("poisson")}, {.fits = out.path()}));
    return comm.rank() == 0 ? tessera::testing::content_of(out.path()) : std::string();
  }
  SharedFile covariates{comm, "covariates.csv"};
  SharedFile matrix{comm, "counts.h5"};
};

TEST_F(Matrices, HaveTheFitsOfTheSameTable) {
  std::string text;
  for (int g = 0; g < responses; ++g) text += fmt::format("{}\"{}\"", g == 0 ? "" : ",", g + 1);
  text += '\n';
  for (const auto& row : counts()) text += fmt::format("{}\n", fmt::join(row, ","));
  const SharedFile table(comm, "counts.csv", text);
  const std::string expected = fits_of(table.path());
  for (const char* const path : {":/X", ":/T", ":/csr", ":/csc"})
    EXPECT_EQ(fits_of(matrix.path() + path), expected) << path;
}

TEST_F(Matrices, ThatAreNoneAreRefused) {
  const auto refused = [&](const std::string& path, const std::string& part) {
    expect_error(ErrorCode::input, part, [&] { fits_of(matrix.path() + path); });
  };
  refused(":/one", "has 1 dimensions, but a matrix of responses has two");
  refused(":/none", "has no dataset /none");
  refused(":/outside", "the index 1000 of element 4 is outside of the matrix");
  covariates.write("t\n1\n2\n3\n4\n5\n6\n7\n");
  refused(":/X", "is 60 x 9, but the covariates have 7 rows");
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
