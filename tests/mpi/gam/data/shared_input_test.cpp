// SPDX-License-Identifier: Apache-2.0
#include "gam/data/source/shared_input.hpp"
#include "gam/data/source/table_reader.hpp"
#include "gam/data/table_source.hpp"
#include "support/bgzip.hpp"
#include "support/table_support.hpp"
#include "temporary_folder.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

namespace fs = std::filesystem;

/// 2,000 rows whose numbers have equally many digits, so that tables of two seeds have the same size.
std::string table_text(int seed) {
  std::string text = "y,x\n";
  for (int i = 0; i < 2000; ++i)
    text +=
        std::to_string(1000 + (i * 37 + seed) % 9000) + ',' + std::to_string(1000 + (i * 91) % 9000) + '\n';
  return text;
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

/// A table that was last written an hour ago: file systems have time stamps in steps of milliseconds.
void write_old_file(const std::string& path, const std::string& content) {
  write_file(path, content);
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
}

/// A working directory of this rank during a test, as on a node with local files.
class OwnFolder {
 public:
  OwnFolder() : before_(fs::current_path()) { fs::current_path(folder_); }
  ~OwnFolder() { fs::current_path(before_); }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

 private:
  fs::path before_;
  TemporaryFolder folder_;
};

/// The whole table, from the parts that the ranks read.
std::string read_all(const mpi::Communicator& comm, const std::string& path) {
  const auto table = open_table(crew(comm), path);
  return put_together(comm,
                      table->read(crew(comm), request({"y", "x"}), uneven_share(comm, table->rows(), 3)));
}

using SharedTables = OverRanks;

TEST_F(SharedTables, RefusesOneThatIsReplacedByARenameWhileTheRanksOpenIt) {
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const SharedFile file(comm, "data.csv", table_text(1));
  for (const std::string& other : {table_text(2), table_text(1) + "1,2\n"}) {
    file.write(table_text(1));
    std::unique_ptr<files::InputFile> opened;
    if (comm.rank() == 0) {
      opened = std::make_unique<files::InputFile>(file.path());
      write_file(file.path() + ".new", other);
      fs::rename(file.path() + ".new", file.path());
    }
    comm.barrier();
    if (comm.rank() != 0) opened = std::make_unique<files::InputFile>(file.path());
    const std::string fault = common_fault(comm, [&] { const SharedTable shared(comm, *opened); });
    EXPECT_TRUE(fault.starts_with(file.path() + ": rank 0 (on ")) << fault;
    EXPECT_NE(fault.find(" and rank 1 (on "), std::string::npos) << fault;
    EXPECT_NE(fault.find(other.size() == table_text(1).size()
                             ? "with different content"
                             : "of " + std::to_string(table_text(1).size()) + " and "),
              std::string::npos)
        << fault;
  }
}

TEST_F(SharedTables, StaysWhatItWasWhereItIsReplacedWhileItIsRead) {
  const SharedFile file(comm, "data.csv", table_text(1));
  const std::string expected = read_all(comm, file.path());
  const auto table = open_table(crew(comm), file.path());
  if (comm.rank() == 0) {
    write_file(file.path() + ".new", table_text(2));
    fs::rename(file.path() + ".new", file.path());
  }
  comm.barrier();
  const Frame frame = table->read(crew(comm), request({"y", "x"}), uneven_share(comm, table->rows(), 3));
  EXPECT_EQ(put_together(comm, frame), expected);
}

TEST_F(SharedTables, MayBeACopyOnEachNode) {
  const SharedFile one(comm, "data.csv", table_text(1));
  const std::string expected = read_all(comm, one.path());
  const OwnFolder folder;
  write_file("data.csv", table_text(1));
  write_file("data.csv.gz", gzip_member(table_text(1)));
  EXPECT_EQ(read_all(comm, "data.csv"), expected);
  EXPECT_EQ(read_all(comm, "data.csv.gz"), expected);
}

TEST_F(SharedTables, RefusesCopiesThatDiffer) {
  if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
  const OwnFolder folder;
  const std::string text = table_text(comm.rank() == comm.size() - 1 ? 2 : 1);
  const std::string last = "rank " + std::to_string(comm.size() - 1) + " (on ";
  write_file("data.csv", text);
  write_file("data.csv.gz", gzip_member(text));
  for (const std::string path : {"data.csv", "data.csv.gz"}) {
    const std::string fault = common_fault(comm, [&] { static_cast<void>(open_table(crew(comm), path)); });
    EXPECT_TRUE(fault.starts_with(path + ": rank 0 (on ")) << fault;
    EXPECT_NE(fault.find(last), std::string::npos) << fault;
    EXPECT_NE(fault.find("have different files of this name"), std::string::npos) << fault;
  }
}

// Once at every read of the last rank: while rows are counted, and while they are read.
TEST_F(SharedTables, RefusesOneThatIsWrittenToWhileItIsRead) {
  const std::vector<std::string> others{table_text(2), "y,x\n1,2\n", "z\n1\n"};
  for (const bool gzip : {false, true}) {
    const SharedFile file(comm, "data");
    const auto content = [&](const std::string& text) { return gzip ? gzip_member(text) : text; };
    int writings = 0;
    for (int moment = 1;; ++moment) {
      if (comm.rank() == 0) write_old_file(file.path(), content(table_text(1)));
      comm.barrier();
      int reads = 0;
      const auto between = [&] {
        if (comm.rank() == comm.size() - 1 && ++reads == moment)
          write_file(file.path(), content(others[static_cast<std::size_t>(moment) % others.size()]));
      };
      const std::string fault = common_fault(comm, [&] {
        const auto table = open_table(crew(comm), file.path(), {.between = between});
        static_cast<void>(table->read(crew(comm), request({"y", "x"}), uneven_share(comm, table->rows(), 3)));
      });
      if (comm.allreduce<std::int32_t>(reads >= moment ? 1 : 0, mpi::Reduction::max) == 0) {
        EXPECT_EQ(fault, "no error");
        break;
      }
      ++writings;
      EXPECT_TRUE(fault.starts_with(file.path() + ": another program wrote to the file while rank "))
          << fault;
    }
    EXPECT_GE(writings, 1);
  }
}

TEST_F(SharedTables, IsTheOneThatTheStatesOfAFitAreOf) {
  const SharedFile file(comm, "data.csv", table_text(1));
  TableSource source = source_of(Table{file.path()});
  source.expected = files::InputFile(file.path()).state();
  EXPECT_EQ(open_source(crew(comm), source, nullptr)->rows(), 2000);
  comm.barrier();
  if (comm.rank() == 0) {
    write_file(file.path() + ".new", table_text(2));
    fs::rename(file.path() + ".new", file.path());
  }
  comm.barrier();
  EXPECT_EQ(common_fault(comm, [&] { static_cast<void>(open_source(crew(comm), source, nullptr)); }),
            file.path() + ": was replaced or written to while the job started: start the job again");
}

TEST(SameContent, IsNamedWithTheRanksThatDiffer) {
  const auto comm = world();
  require_same_content(comm, "model.json", "12345678");
  if (comm.size() == 1) return;
  const std::string fault = common_fault(
      comm, [&] { require_same_content(comm, "model.json", comm.rank() == 1 ? "87654321" : "12345678"); });
  EXPECT_TRUE(fault.starts_with("model.json: rank 0 (on ")) << fault;
  EXPECT_NE(fault.find(" and rank 1 (on "), std::string::npos) << fault;
}

TEST(Csv, NamesLineEndsOfCarriageReturnsAlone) {
  const auto comm = world();
  const SharedFile file(comm, "data.csv");
  for (const char* text : {"y,x\r1,2\r3,1\r", "\"y\",\"x\"\r1,2\r2,2\r", "y,x\r1,y\r2,x"}) {
    file.write(text);
    EXPECT_EQ(common_fault(comm, [&] { static_cast<void>(open_table(crew(comm), file.path())); }),
              file.path() +
                  ", line 1: lines end in bare carriage returns, as on old Macs: convert them to newlines "
                  "(tr '\\r' '\\n')");
  }
  for (const char* text : {"y,x\r\n1,2\r\n", "y,x\r\r\n1,2\r\r\n", "y\r,x\n1,2\n"}) {
    file.write(text);
    EXPECT_EQ(read_all(comm, file.path()), "1|2|\n");
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
