// SPDX-License-Identifier: Apache-2.0
// What is told of the columns of a table.
#include "support/on_cpu.hpp"
#include "support/table_support.hpp"

#include <tessera/gam/columns.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

Job describing_job(const mpi::Communicator& comm) {
  return Job(comm, on_cpu(2));
}

using Columns = OverRanks;

TEST_F(Columns, AreDescribedAsAFitWouldReadThem) {
  std::string text = "x,i,f,\"\",q,odd,none\n";
  for (int i = 0; i < 3000; ++i) {
    text += i % 100 == 0 ? "NA," : std::to_string(i * 0.5 - 10) + ",";
    text += std::to_string(i % 7) + ",";
    text += i % 10 == 0 ? "NA," : i % 10 == 1 ? "," : "l" + std::to_string(i % 8) + ",";
    text += "0,\"" + std::to_string(i) + "\",";
    text += (i == 2500 || i == 2700 ? "about 3" : std::to_string(-i)) + ",NA\n";
  }
  const SharedFile csv(comm, "t.csv", text);
  Job job = describing_job(comm);
  const TableDescription found = describe_columns(job, Table{csv.path(), {.numbers = {"q"}}});
  EXPECT_EQ(found.name, csv.path());
  EXPECT_EQ(found.rows, 3000);
  ASSERT_EQ(found.columns.size(), 6);
  const ColumnDescription& x = found.columns[0];
  EXPECT_EQ(x.name, "x");
  EXPECT_FALSE(x.factor);
  EXPECT_EQ(x.missing, 30);
  EXPECT_EQ(x.least, -9.5);
  EXPECT_EQ(x.greatest, 1489.5);
  EXPECT_FALSE(x.whole);
  EXPECT_EQ(x.bytes, 24'000);
  const ColumnDescription& i = found.columns[1];
  EXPECT_TRUE(i.whole);
  EXPECT_EQ(i.greatest, 6);
  const ColumnDescription& f = found.columns[2];
  EXPECT_TRUE(f.factor);
  EXPECT_EQ(f.missing, 300);
  EXPECT_EQ(f.blank, 300);
  EXPECT_EQ(f.levels, 9);
  EXPECT_EQ(f.first, (std::vector<std::string>{"", "l0", "l1", "l2", "l3"}));
  EXPECT_EQ(f.bytes, 12'000);
  const ColumnDescription& q = found.columns[3];
  EXPECT_EQ(q.name, "q");
  EXPECT_FALSE(q.factor);
  EXPECT_EQ(q.greatest, 2999);
  const ColumnDescription& odd = found.columns[4];
  EXPECT_EQ(odd.strays, 2);
  EXPECT_EQ(odd.stray, "about 3");
  EXPECT_EQ(odd.stray_place, csv.path() + ", line 2502");
  EXPECT_EQ(odd.missing, 0);
  EXPECT_EQ(odd.least, -2999);
  const ColumnDescription& none = found.columns[5];
  EXPECT_EQ(none.missing, 3000);
  EXPECT_TRUE(std::isnan(none.least));

  const std::string shown = columns_text(found);
  EXPECT_EQ(shown.substr(0, shown.find('\n')), csv.path() + ": 3,000 rows, 6 columns, 128.9 KiB in memory");
  EXPECT_NE(shown.find("x          numbers      30 23.4 KiB -9.5 to 1489.5\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("2 texts, the first 'about 3' in " + csv.path() + ", line 2502\n"), std::string::npos);
  const auto json = nlohmann::json::parse(columns_json(found));
  EXPECT_EQ(json["columns"][2]["first_levels"], f.first);
  EXPECT_EQ(json["columns"][4]["texts"]["count"], 2);
  EXPECT_TRUE(json["columns"][5]["least"].is_null());
}

TEST_F(Columns, OfDatesAreDaysOrSeconds) {
  std::string text = "day,at,mixed,bad\n";
  for (int i = 0; i < 300; ++i) {
    text += i == 7 ? "NA," : "\"1970-01-" + std::string(i < 150 ? "02" : "11") + "\",";
    text += i == 8 ? "," : "1970-01-01T00:00:0" + std::to_string(i % 5) + ".5+00:00,";
    text += i == 200 ? "1970-01-03 12:00," : "1970-01-03,";
    text += i == 250 ? "3\n" : "1970-01-03\n";
  }
  const SharedFile csv(comm, "t.csv", text);
  Job job = describing_job(comm);
  const Table table{csv.path(), {.dates = {"day", "at", "mixed", "bad"}}};
  const TableDescription found = describe_columns(job, table);
  ASSERT_EQ(found.columns.size(), 4);
  const ColumnDescription& day = found.columns[0];
  EXPECT_EQ(day.unit, "days since 1970-01-01");
  EXPECT_EQ(day.missing, 1);
  EXPECT_EQ(day.least, 1);
  EXPECT_EQ(day.greatest, 10);
  const ColumnDescription& at = found.columns[1];
  EXPECT_EQ(at.unit, "seconds since 1970-01-01 UTC");
  EXPECT_EQ(at.missing, 1);
  EXPECT_EQ(at.least, 0.5);
  EXPECT_EQ(at.greatest, 4.5);
  const ColumnDescription& mixed = found.columns[2];
  EXPECT_EQ(mixed.strays, 1);
  EXPECT_EQ(mixed.stray, "1970-01-03 12:00");
  EXPECT_EQ(mixed.stray_place, csv.path() + ", line 202");
  const ColumnDescription& bad = found.columns[3];
  EXPECT_EQ(bad.strays, 1);
  EXPECT_EQ(bad.stray, "3");
  EXPECT_EQ(bad.stray_place, csv.path() + ", line 252");

  // A call that needs the values finds the same.
  const auto fault_of = [&](const std::string& formula, const TableOptions& options) {
    return error_of(ErrorCode::input, [&] {
      static_cast<void>(read_table(job, Table{csv.path(), options}, parse_formula(formula)));
    });
  };
  EXPECT_EQ(
      fault_of("bad ~ 1", {.dates = {"bad"}}),
      csv.path() +
          ", line 252: the column 'bad' holds the text '3', which is not a date: write it as 2020-01-31 or "
          "2020-01-31T12:30:00Z, or name it among the NA strings");
  EXPECT_EQ(fault_of("mixed ~ 1", {.dates = {"mixed"}}),
            csv.path() +
                ", line 202: the column 'mixed' holds the time '1970-01-03 12:00', but 299 of its dates have "
                "no time: give a time with every date, or with no date");
  EXPECT_EQ(
      error_of(ErrorCode::usage,
               [&] {
                 static_cast<void>(read_table(job, Table{csv.path(), {.factors = {"day"}, .dates = {"day"}}},
                                              parse_formula("day ~ 1")));
               }),
      "factor 'day': the model needs numbers in this column: leave it out of the factors");
}

TEST_F(Columns, MayHaveMoreLevelsThanAFit) {
  std::string text = "id,x\n";
  for (int i = 0; i < 150'000; ++i) text += "n" + std::to_string(i) + ",1\n";
  const SharedFile csv(comm, "ids.csv", text);
  Job job = describing_job(comm);
  const TableDescription found = describe_columns(job, Table{csv.path()}, {"id"});
  ASSERT_EQ(found.columns.size(), 1);
  EXPECT_TRUE(found.columns[0].factor);
  EXPECT_TRUE(found.columns[0].too_many_levels);
  EXPECT_NE(columns_text(found).find("more levels than the 100,000 that a fit takes: n0, n1"),
            std::string::npos)
      << columns_text(found);
}

TEST_F(Columns, OfAnUnknownNameAreRefused) {
  const SharedFile csv(comm, "t.csv", "x,y\n1,2\n");
  Job job = describing_job(comm);
  const std::string fault =
      common_fault(comm, [&] { static_cast<void>(describe_columns(job, Table{csv.path()}, {"z"})); });
  EXPECT_TRUE(fault.starts_with(csv.path() + ": unknown column 'z'")) << fault;
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
