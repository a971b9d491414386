// SPDX-License-Identifier: Apache-2.0
#include "gam/data/folder/file_listing.hpp"
#include "gam/data/source/table_reader.hpp"
#include "support/bgzip.hpp"
#include "support/table_support.hpp"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

namespace fs = std::filesystem;

/// A folder in the temporary directory for the life of a test, the same for every rank; rank 0 fills it.
class SharedFolder {
 public:
  explicit SharedFolder(const mpi::Communicator& comm) : comm_(comm), file_(comm, "table") {
    if (comm.rank() == 0) fs::create_directory(path());
  }
  ~SharedFolder() {
    comm_.barrier();
    if (comm_.rank() == 0) fs::remove_all(path());
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;

  [[nodiscard]] std::string path(const std::string& name = "") const {
    return name.empty() ? file_.path() : file_.path() + "/" + name;
  }
  /// *Collective.*
  void write(const std::string& name, const std::string& content) const {
    if (comm_.rank() == 0) {
      fs::create_directories(fs::path(path(name)).parent_path());
      std::ofstream(path(name), std::ios::binary) << content;
    }
    comm_.barrier();
  }

 private:
  const mpi::Communicator& comm_;
  SharedFile file_;
};

/// Rows [begin, end) of a table of numbers, a factor and texts in quotes, with missing values.
std::string lines_of(int begin, int end) {
  std::string text;
  for (int row = begin; row < end; ++row) {
    text += row % 17 == 3 ? "NA" : std::to_string(row * 0.37 - 20);
    text += row % 11 == 5 ? ",,\"left\nright\"\n" : "," + std::string(1, "dacb"[row / 5 % 4]) + ",plain\n";
  }
  return text;
}

std::string digits(int number) {
  return std::to_string(1000 + number);
}

using FolderTable = OverRanks;

std::string read_all(const mpi::Communicator& comm, const std::vector<std::string>& paths,
                     const std::vector<std::string>& columns = {"x", "g", "t"}) {
  const auto table = open_table(crew(comm), paths);
  return put_together(
      comm, table->read(crew(comm), request(columns), uneven_share(comm, table->rows(), paths.size())));
}

TEST_F(FolderTable, HasTheRowsOfItsFilesOneAfterAnother) {
  constexpr int rows = 700;
  const SharedFile whole(comm, "whole.csv", "x,g,t\n" + lines_of(0, rows));
  const std::string expected = read_all(comm, {whole.path()});
  for (const int files : {1, 2, 3, 7, 350}) {
    const SharedFolder folder(comm);
    std::vector<std::string> paths;
    for (int file = 0; file < files; ++file) {
      // Some packed, by blocks and as one stream, and most in folders.
      const std::string lines = lines_of(rows * file / files, rows * (file + 1) / files);
      const std::string text = "x,g,t\n" + lines;
      const std::string name = (file % 3 == 0 ? "" : "part" + digits(file) + "/") + digits(file) + ".csv";
      paths.push_back(folder.path(name));
      folder.write(name, file % 5 == 1 ? gzip_member(text) : file % 5 == 2 ? bgzip(text, 500) : text);
    }
    EXPECT_EQ(read_all(comm, paths), expected) << files;
    // By the bytes of their paths: files before folders here, as digits come before letters.
    std::ranges::sort(paths);
    EXPECT_EQ(read_all(comm, {folder.path()}), read_all(comm, paths)) << files;
  }
}

TEST_F(FolderTable, MatchesColumnsByTheirNames) {
  const SharedFolder folder(comm);
  folder.write("1.csv", "x,g\n1,a\n2,b\n");
  folder.write("2.csv", "g,x\nc,3\n");
  folder.write("3.csv", "\"g\",\"x\"\n\"a\",4\n");
  EXPECT_EQ(read_all(comm, {folder.path()}, {"x", "g"}), "1|a|\n2|b|\n3|c|\n4|a|\n");
}

TEST_F(FolderTable, HasADecimalMarkOfEachFile) {
  const SharedFolder folder(comm);
  folder.write("a.csv", "x;g\n1,5;2,5\n2;1\n");
  folder.write("b.csv", "x,g\n3.5,1\n4,2.5\n");
  folder.write("c.csv", "x;g\n5;2,5\n6;1\n");
  for (const auto& paths :
       {std::vector{folder.path()}, std::vector{folder.path("b.csv"), folder.path("a.csv")}}) {
    const bool whole = paths.size() == 1;
    const std::string a = "1.5|2.5|\n2|1|\n";
    const std::string b = "3.5|1|\n4|2.5|\n";
    EXPECT_EQ(read_all(comm, paths, {"x", "factor(g)"}), whole ? a + b + "5|2.5|\n6|1|\n" : b + a);
    EXPECT_EQ(read_all(comm, paths, {"x", "g"}), whole ? a + b + "5|2.5|\n6|1|\n" : b + a);
  }
}

TEST_F(FolderTable, SkipsHiddenFiles) {
  const SharedFolder folder(comm);
  for (const char* name : {"_SUCCESS", ".part.csv.crc", "_temporary/0.csv", ".hidden/0.csv"})
    folder.write(name, "not a table");
  folder.write("b=1/part.csv", "x\n1\n");
  EXPECT_EQ(read_all(comm, {folder.path()}, {"x"}), "1|\n");
}

TEST_F(FolderTable, HasTheFilesBehindLinks) {
  const SharedFolder folder(comm);
  const SharedFolder elsewhere(comm);
  folder.write("1.csv", "x\n1\n");
  elsewhere.write("2.csv", "x\n2\n");
  if (comm.rank() == 0) fs::create_directory_symlink(elsewhere.path(), folder.path("linked"));
  comm.barrier();
  EXPECT_EQ(read_all(comm, {folder.path()}, {"x"}), "1|\n2|\n");
  if (comm.rank() == 0) fs::create_directory_symlink(folder.path(), elsewhere.path("loop"));
  comm.barrier();
  const std::string fault = common_fault(comm, [&] { read_all(comm, {folder.path()}, {"x"}); });
  EXPECT_NE(fault.find("Too many levels of symbolic links"), std::string::npos) << fault;
}

TEST_F(FolderTable, HasColumnsNamedByItsFolders) {
  const SharedFolder folder(comm);
  folder.write("year=2019/region=north%2Fwest/a.csv", "x\n1\n2\n");
  folder.write("year=2019/region=south/a.csv", "x\n3\n");
  folder.write("year=2020/region=__HIVE_DEFAULT_PARTITION__/a.csv", "x\n4\n");
  folder.write("year=2021/region=south/a.csv", "x\n5\n6\n");
  EXPECT_EQ(read_all(comm, {folder.path()}, {"x", "region", "year"}),
            "1|north/west|2019|\n2|north/west|2019|\n3|south|2019|\n!4|<NA>|2020|\n5|south|2021|\n6|south|"
            "2021|\n");
  EXPECT_EQ(open_table(crew(comm), folder.path())->columns(),
            (std::vector<std::string>{"x", "year", "region"}));
  // The kind of such a column is that of the whole table, whichever values a rank has.
  EXPECT_EQ(read_all(comm, {folder.path()}, {"year"}), "2019|\n2019|\n2019|\n2020|\n2021|\n2021|\n");
}

TEST_F(FolderTable, NamesTheFileAndTheLineOfAFault) {
  const SharedFolder folder(comm);
  std::string many = "x,g\n";
  for (int row = 0; row < 50; ++row) many += "1,a\n";
  for (const int files : {2, 12}) {
    for (int file = 0; file < files; ++file) folder.write(digits(file) + ".csv", many);
    const auto fault = [&] {
      return common_fault(comm, [&] { read_all(comm, {folder.path()}, {"x", "g"}); });
    };
    folder.write("1001.csv", many + "oops,a\n");
    EXPECT_TRUE(fault().starts_with(folder.path("1001.csv") +
                                    ", line 52: the column 'x' holds the text 'oops', but most"))
        << fault();
    folder.write("1001.csv", many + "inf,a\n");
    EXPECT_TRUE(fault().starts_with(folder.path("1001.csv") + ", line 52: x is infinite")) << fault();
    folder.write("1001.csv", many + "1,a,2\n");
    EXPECT_EQ(fault(), folder.path("1001.csv") +
                           ", line 52: the row has 3 fields, but the header has 2: give both the same number "
                           "of fields, and quote fields that contain separators");
    folder.write("1001.csv", "x,h\n1,a\n");
    EXPECT_EQ(fault(), folder.path("1001.csv") + ": has no column 'g', unlike " + folder.path("1000.csv") +
                           ": give files with the same columns");
    folder.write("1001.csv", "x,h,g\n1,a,b\n");
    EXPECT_EQ(fault(), folder.path("1001.csv") + ": has the column 'h', unlike " + folder.path("1000.csv") +
                           ": give files with the same columns");
    folder.write("1001.csv", "x,g\n");
    EXPECT_EQ(fault(), folder.path("1001.csv") + ": has a header, but no data row: give a table with rows");
    folder.write("1001.csv", many);
    EXPECT_EQ(fault(), "no error");
  }
}

TEST_F(FolderTable, RefusesFoldersThatAreNotOneTable) {
  const auto fault = [&](const SharedFolder& folder) {
    return common_fault(comm, [&] { static_cast<void>(open_table(crew(comm), folder.path())); });
  };
  const SharedFolder empty(comm);
  empty.write(".nothing", "");
  EXPECT_EQ(fault(empty), empty.path() + ": the folder has no file: give a folder with the table's files");

  const SharedFolder keys(comm);
  keys.write("a=1/x.csv", "x\n1\n");
  keys.write("b=1/x.csv", "x\n1\n");
  EXPECT_EQ(fault(keys), keys.path("b=1/x.csv") + ": its folders name the columns (b), but those of " +
                             keys.path("a=1/x.csv") +
                             " name (a): give files of one table (names that begin with _ or . are skipped)");

  const SharedFolder twice(comm);
  twice.write("x=1/a.csv", "x\n1\n");
  twice.write("x=1/b.csv", "x\n1\n");
  EXPECT_EQ(fault(twice),
            twice.path("x=1/a.csv") + ": the column 'x' is named by the file and by its folder: rename one");
}

TEST_F(FolderTable, FindsAFileThatIsWrittenToWhileItIsRead) {
  for (const int files : {2, 12, 350}) {
    const SharedFolder folder(comm);
    for (int file = 0; file < files; ++file) folder.write(digits(file) + ".csv", "x\n1\n2\n3\n");
    const auto table = open_table(crew(comm), folder.path());
    folder.write(digits(files - 1) + ".csv", "x\n1\n2\n3\n4\n");
    const std::string fault = common_fault(
        comm, [&] { (void)table->read(crew(comm), request({"x"}), uneven_share(comm, table->rows(), 3)); });
    EXPECT_TRUE(fault.starts_with(folder.path(digits(files - 1) + ".csv") + ": ")) << fault;
    EXPECT_NE(fault.find("start again when no program writes to it"), std::string::npos) << fault;
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
