// SPDX-License-Identifier: Apache-2.0
// A converted table has the same content.
#include "gam/data/convert_table.hpp"
#include "gam/data/output/arrow_output.hpp"
#include "gam/data/source/table_reader.hpp"
#include "support/on_cpu.hpp"
#include "support/table_support.hpp"

#include <tessera/gam/table.hpp>

#include <hdf5.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

Job job_of(const mpi::Communicator& comm) {
  return Job(comm, on_cpu(2));
}

/// Some columns of a table, as on every rank: the meaning of fields, and the log line for each.
std::string content_of(const mpi::Communicator& comm, const std::string& path,
                       const std::vector<std::string>& columns, const TableOptions& options = {}) {
  const auto table = open_table(crew(comm), path);
  std::string content;
  for (const std::string& column : columns) {  // separately, so that others exclude no row
    FrameRequest request;
    request.variables = {column_expression(column)};
    request.options = options;
    const Frame frame = table->read(crew(comm), request, uneven_share(comm, table->rows(), 3));
    content += column + (frame.variables[0].factor ? " factor\n" : " numbers\n") + put_together(comm, frame);
  }
  return content;
}

const std::vector<std::string> names{"z y",  "f",    "truth", "\xC3\xA9t\xC3\xA9", "n", "many",
                                     "long", "half", "a'b\"c"};

std::string table_text() {
  std::string text = "\"\",z y,f,truth,\xC3\xA9t\xC3\xA9,n,many,long,half,\"a'b\"\"c\"\n";
  for (int i = 0; i < 400; ++i) {
    const std::string number = std::to_string(i);
    text += number + "," + std::to_string(1.0 / (i + 1)) + "e-3,";
    text += i % 11 == 0 ? "NA," : std::string(1, static_cast<char>('z' - i % 5)) + ",";
    text += i % 7 == 0 ? "NA," : i % 2 == 0 ? "T," : "F,";
    text += i % 3 == 0 ? "," : i % 3 == 1 ? "\" \"," : "\"\xC3\xA9\"\"\",";
    text += i % 13 == 0 ? "NaN," : i % 13 == 1 ? " ," : "-0.0,";
    text += "\"level " + std::to_string(i * 7 % 300) + "\",";
    text += "\"" + std::string(i % 2 == 0 ? 31'000 : 30'000, 'x') + "\",";
    text += i % 5 == 0 ? "12,\"" : "\"1.50\",\"";
    text += std::to_string(i % 4) + "\"\n";
    if (i == 20) text.append(20, '\n');
  }
  return text;
}

using Convert = OverRanks;

TEST_F(Convert, AConvertedTableIsTheTableThatItWas) {
  const SharedFile csv(comm, "t.csv", table_text());
  const std::string expected = content_of(comm, csv.path(), names);
  const SharedFile out(comm, "t.h5");
  Job job = job_of(comm);
  for (const std::size_t at_once : {0, 1, 4}) {
    std::vector<std::string> told;
    convert_table(job, Table{csv.path()}, out.path(),
                  Conversion{.columns_at_once = at_once,
                             .tell = [&](std::string_view line) { told.emplace_back(line); }});
    EXPECT_EQ(open_table(crew(comm), out.path())->columns(), names);
    EXPECT_EQ(content_of(comm, out.path(), names), expected);
    EXPECT_NE(std::find(told.begin(), told.end(), "left out: 1 column without a name"), told.end());
    EXPECT_NE(std::find(told.begin(), told.end(), "f: factor of 5 levels, the first 'v', 37 missing"),
              told.end());
  }
  // The result is converted again, from HDF5.
  for (const std::string ending :
       {".h5", ".csv", ".csv/", "", "/", ".h5/", ".parquet", ".feather", ".arrow", ".parquet/"}) {
    SCOPED_TRACE(ending);
    if (!has_arrow_output() && (ending.starts_with(".parquet") || ending == ".feather" || ending == ".arrow"))
      continue;
    const SharedFile again(comm, "again");
    const std::string path = again.path() + ending;
    convert_table(job, Table{out.path()}, path, Conversion{});
    EXPECT_EQ(content_of(comm, path, names), expected);
  }
}

TEST_F(Convert, WhatOptionsSayIsInTheFile) {
  const SharedFile csv(comm, "t.csv", "x,f,g,u\n1.0,-,1.50,5\n-,b,2,6\n3,-,1.50,7\n");
  const TableOptions options{.missing = {"-", "7"}, .factors = {"g"}};
  const SharedFile out(comm, "t.h5");
  Job job = job_of(comm);
  convert_table(job, Table{csv.path(), options}, out.path(), Conversion{.columns = {"g", "f", "x", "g"}});
  EXPECT_EQ(open_table(crew(comm), out.path())->columns(), (std::vector<std::string>{"g", "f", "x"}));
  TableOptions of_csv = options;
  of_csv.factors.clear();
  EXPECT_EQ(content_of(comm, out.path(), {"f", "x"}), content_of(comm, csv.path(), {"f", "x"}, of_csv));
  EXPECT_EQ(content_of(comm, out.path(), {"g"}), content_of(comm, csv.path(), {"g"}, options));
}

TEST_F(Convert, CsvKeepsFactorsOfNumbers) {
  const SharedFile csv(comm, "t.csv", "\"g,h\",x,q\n1,1e300,01\n2,-0.0,1\n1,0.1,NA\n");
  const SharedFile out(comm, "out.csv");
  Job job = job_of(comm);
  const TableOptions options{.factors = {"g,h", "q"}};
  convert_table(job, Table{csv.path(), options}, out.path(), Conversion{});
  EXPECT_EQ(content_of(comm, out.path(), {"g,h", "q"}), "g,h factor\n1|\n2|\n1|\nq factor\n1|\n1|\n!<NA>|\n");
  EXPECT_EQ(content_of(comm, out.path(), {"x"}), content_of(comm, csv.path(), {"x"}));
  const SharedFile dash(comm, "dash.csv", "f\nNA\n-\n");
  const std::string fault = common_fault(comm, [&] {
    convert_table(job, Table{dash.path(), {.missing = {"-"}}}, out.path(), Conversion{});
  });
  EXPECT_EQ(fault, dash.path() +
                       ": the column 'f' has the level 'NA', which readers take for a missing value: rename "
                       "the level, or declare it an NA string");
}

TEST_F(Convert, AFolderIsPutInPlaceAsAWhole) {
  const SharedFile csv(comm, "t.csv", "x,f\n1.5,b\n2,a\n3,b\n4,a\n5,b\n");
  const SharedFile wrong(comm, "wrong.csv", "x\n1\n2\nb\n");
  const SharedFile out(comm, "parts.csv");
  const std::filesystem::path folder = out.path();
  const auto files_in = [&](const std::filesystem::path& path) {
    comm.barrier();
    const auto count = std::distance(std::filesystem::directory_iterator(path), {});
    comm.barrier();
    return count;
  };
  Job job = job_of(comm);
  EXPECT_NE(
      common_fault(comm, [&] { convert_table(job, Table{wrong.path()}, out.path() + "/", Conversion{}); }),
      "no error");
  EXPECT_EQ(files_in(folder.parent_path()), 0);
  convert_table(job, Table{csv.path()}, out.path() + "/", Conversion{});
  EXPECT_EQ(files_in(folder), std::min(comm.size(), 5));
  EXPECT_EQ(files_in(folder.parent_path()), 1);
  EXPECT_EQ(content_of(comm, out.path(), {"x", "f"}), content_of(comm, csv.path(), {"x", "f"}));
  EXPECT_EQ(
      common_fault(comm, [&] { convert_table(job, Table{csv.path()}, out.path() + "/", Conversion{}); }),
      folder.string() + ": the folder is not empty: remove the folder, or give another name");
}

TEST_F(Convert, ATableInMemoryIsThatOfItsFile) {
  const SharedFile csv(comm, "t.csv", "x,f,g\n1.5,b,2\nNA,a,-0.0\n3,NA,1e-300\n4,b,NA\n5,a,7\n");
  const SharedFile out(comm, "t.h5");
  Job job = job_of(comm);
  Table file{csv.path()};
  file.options.block_rows = 2;
  const Table memory = read_table(job, file, parse_formula("x ~ f + g"));
  EXPECT_EQ(read_table(job, memory, parse_formula("x ~ g")).columns.size(), 3);
  convert_table(job, memory, out.path(), Conversion{});
  EXPECT_EQ(content_of(comm, out.path(), {"x", "f", "g"}), content_of(comm, csv.path(), {"x", "f", "g"}));
}

/// A column x, and groups.
void write_groups(const mpi::Communicator& comm, const std::string& path, int groups) {
  comm.barrier();
  if (comm.rank() == 0) {
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t rows = 3;
    const hid_t space = H5Screate_simple(1, &rows, nullptr);
    const hid_t x = H5Dcreate2(file, "x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const double values[] = {1, 2, 3};
    H5Dwrite(x, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(x);
    H5Sclose(space);
    for (int i = 0; i < groups; ++i) {
      const std::string name = "group " + std::to_string(1000 + i);
      H5Gclose(H5Gcreate2(file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    }
    H5Fclose(file);
  }
  comm.barrier();
}

TEST_F(Convert, ObjectsThatAreNoColumnsAreNamed) {
  const SharedFile from(comm, "from.h5");
  const SharedFile out(comm, "t.h5");
  Job job = job_of(comm);
  const auto told_of = [&](int groups, const std::vector<std::string>& columns) {
    write_groups(comm, from.path(), groups);
    std::vector<std::string> told;
    convert_table(job, Table{from.path()}, out.path(),
                  Conversion{.columns = columns, .tell = [&](std::string_view line) {
                               if (line.starts_with("left out: ")) told.emplace_back(line);
                             }});
    EXPECT_EQ(open_table(crew(comm), out.path())->columns(), std::vector<std::string>{"x"});
    return told;
  };
  EXPECT_EQ(told_of(2, {}),
            (std::vector<std::string>{"left out: 'group 1000' is a group: copy its datasets to the root",
                                      "left out: 'group 1001' is a group: copy its datasets to the root"}));
  EXPECT_EQ(told_of(20, {}).size(), 20U);
  const std::vector<std::string> of_many = told_of(1000, {});
  EXPECT_EQ(of_many.size(), 21U);
  EXPECT_EQ(of_many.back(), "left out: 980 objects more; to see the reason, name the object as a column");
  // Who names columns wants no others.
  EXPECT_TRUE(told_of(2, {"x"}).empty());
  EXPECT_EQ(common_fault(comm,
                         [&] {
                           told_of(2, {"x", "group 1001"});
                         }),
            from.path() + ": 'group 1001' is a group: copy its datasets to the root");
}

TEST_F(Convert, WhatHdf5CannotHoldIsRefusedAndNothingIsWritten) {
  const SharedFile out(comm, "t.h5", "what was there");
  Job job = job_of(comm);
  const auto refused = [&](const std::string& text, const std::string& words,
                           const TableOptions& options = {}, const std::vector<std::string>& columns = {}) {
    const SharedFile csv(comm, "t.csv", text);
    const std::string fault = common_fault(comm, [&] {
      convert_table(job, Table{csv.path(), options}, out.path(), Conversion{.columns = columns});
    });
    EXPECT_NE(fault.find(words), std::string::npos) << fault;
    comm.barrier();
    EXPECT_EQ(std::filesystem::file_size(out.path()), 14U);
    const auto folder = std::filesystem::path(out.path()).parent_path();
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << fault;
    comm.barrier();
  };
  refused("a/b,x\n1,2\n", "the column 'a/b' has a '/', which separates names in HDF5");
  refused(".,x\n1,2\n", "the column '.' has a name that HDF5 reserves");
  refused("x\n1\n", "unknown column 'y'", {}, {"y"});
  refused("f\nNA\n-\n", "the column 'f' has the level 'NA', which readers take for a missing value",
          {.missing = {"-"}});
  refused(std::string("f\na\0b\n", 6), "a level with a zero byte");
  refused("x\n1\n2\nb\n", "the column 'x' holds the text 'b'");
  refused("x\n1,2\n", "line 2: the row has 2 fields, but the header has 1");
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
