// SPDX-License-Identifier: Apache-2.0
#include "gam/data/frame/row_memory.hpp"

#include "gam/data/frame/frame.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "files/scratch_memory.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

TEST(RowMemory, SpillsWhatItHasNoRoomFor) {
  RowMemory memory(1000, files::default_scratch_folder());
  const auto first = memory.place<double>(100);
  const auto second = memory.place<double>(100);
  const auto third = memory.place<std::int32_t>(50);
  EXPECT_TRUE(first.in_memory);
  EXPECT_FALSE(second.in_memory);
  EXPECT_TRUE(third.in_memory);
  EXPECT_EQ(memory.spilled_bytes(), 800);
  auto column = memory.column<double>(second);
  EXPECT_EQ(column, memory.column<double>(first));
  column.writable()[99] = 2.5;
  const ColumnStorage<double> copy = column;
  EXPECT_EQ(copy.data(), column.data());
  EXPECT_EQ(copy[99], 2.5);
  EXPECT_EQ(column.own().size(), 100U);
  EXPECT_NE(copy.data(), column.data());
  EXPECT_EQ(copy, column);
}

TEST(RowMemory, HasRoomForAllWhereNothingIsSaid) {
  RowMemory memory;
  EXPECT_TRUE(memory.place<double>(std::size_t{1} << 50).in_memory);
  EXPECT_EQ(memory.spilled_bytes(), 0);
}

TEST(ColumnStorage, CopiesBorrowedValuesBeforeTheyAreWrittenTo) {
  const std::vector<double> table{1, 2, 3};
  auto column = ColumnStorage<double>::borrow(table);
  EXPECT_EQ(column.data(), table.data());
  column.writable()[1] = 7;
  EXPECT_EQ(column, (ColumnStorage<double>{1, 7, 3}));
  EXPECT_EQ(table[1], 2);
}

TEST(ColumnStorage, OfZerosIsWrittenToInPlaceAndCopiedToBeOwned) {
  RowMemory memory;
  auto column = memory.zeros<double>(memory.place<double>(100'000));
  EXPECT_TRUE(std::ranges::all_of(column, [](double value) { return value == 0; }));
  column.writable()[99'999] = 2.5;
  const ColumnStorage<double> copy = column;
  EXPECT_EQ(copy.data(), column.data());
  EXPECT_EQ(copy[99'999], 2.5);
  EXPECT_EQ(column.own().size(), 100'000U);
  EXPECT_NE(copy.data(), column.data());
  EXPECT_EQ(copy, column);
  EXPECT_TRUE(ColumnStorage<double>::zeros(0).empty());
}

TEST(ColumnNumbers, KnowsItsOwnMemory) {
  const std::vector<double> values{1, 2, 3, 4};
  const std::span<const double> all(values);
  const std::vector<std::span<const double>> pieces{all.first(1), all.subspan(1)};
  const auto whole = ColumnNumbers::borrow(std::span(&all, 1));
  const auto cut = ColumnNumbers::borrow(pieces);
  EXPECT_TRUE(whole.is_same_memory(ColumnNumbers::borrow(std::span(&all, 1))));
  EXPECT_TRUE(cut.is_same_memory(ColumnNumbers(cut)));
  EXPECT_FALSE(whole.is_same_memory(ColumnNumbers(values)));
  EXPECT_FALSE(whole.is_same_memory(cut));
  EXPECT_FALSE(whole.is_same_memory(ColumnNumbers::borrow(std::span(&pieces[0], 1))));
}

TEST(SpilledColumns, AreToldInOneLine) {
  EXPECT_EQ(to_string(SpilledColumns{std::int64_t{3} << 30, std::int64_t{4} << 30, "/var/tmp", "memory.max"}),
            "columns: 3 of 4 GiB are in scratch files in /var/tmp, which every pass reads: memory is limited "
            "by memory.max; use more nodes or more memory");
}

/// Kibibytes of a file's pages that this process has resident.
std::int64_t resident_file_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssFile:")) return std::stoll(line.substr(8));
  }
  return 0;
}

TEST(Frame, HasFewPagesOfSpilledColumnsWhileItIsGoneOver) {
  constexpr std::size_t rows = 4'000'000;
  constexpr std::size_t step = 8192;
  Frame frame;
  frame.memory = RowMemory(0, files::default_scratch_folder());
  frame.variables.resize(1);
  frame.variables[0].numbers = frame.memory.column<double>(frame.memory.place<double>(rows));
  double* const numbers = frame.variables[0].numbers.writable();
  const std::int64_t before = resident_file_kib();
  constexpr std::int64_t column_kib = rows * sizeof(double) / 1024;
  std::int64_t most = 0;
  for (std::size_t row = 0; row < rows; row += step) {
    const std::size_t end = std::min(rows, row + step);
    std::fill(numbers + row, numbers + end, static_cast<double>(row));
    frame.release_written(row, end);
    most = std::max(most, resident_file_kib() - before);
  }
  EXPECT_LT(most, column_kib / 4);
  most = 0;
  for (std::size_t row = 0; row < rows; row += step) {
    frame.variables[0].prepare_to_read(row, std::min(rows, row + step));
    ASSERT_EQ(numbers[row + 1], static_cast<double>(row));
    most = std::max(most, resident_file_kib() - before);
  }
  EXPECT_LT(most, column_kib / 4);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
