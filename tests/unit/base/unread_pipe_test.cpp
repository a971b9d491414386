// SPDX-License-Identifier: Apache-2.0
#include "base/unread_pipe.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string_view>
#include <thread>

namespace tessera::base {
namespace {

using namespace std::chrono_literals;

class UnreadPipe : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0); }
  void TearDown() override {
    for (const int end : ends_) close(end);
  }
  void write_line() const {
    constexpr std::string_view line = "the job is ended\n";
    ASSERT_EQ(write(ends_[1], line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }

  std::array<int, 2> ends_{};
};

TEST_F(UnreadPipe, CountsWhatNobodyHasRead) {
  EXPECT_EQ(unread_bytes(ends_[1]), 0);
  write_line();
  EXPECT_EQ(unread_bytes(ends_[1]), 17);
}

TEST_F(UnreadPipe, IsEmptyAfterTheWait) {
  write_line();
  std::thread reader([this] {
    std::array<char, 64> text{};
    EXPECT_EQ(read(ends_[0], text.data(), text.size()), 17);
  });
  wait_until_read(ends_[1], 1h);
  EXPECT_EQ(unread_bytes(ends_[1]), 0);
  reader.join();
}

TEST_F(UnreadPipe, IsLeftToItselfAfterTheLimit) {
  write_line();
  wait_until_read(ends_[1], 0ms);
  EXPECT_EQ(unread_bytes(ends_[1]), 17);
}

TEST(NoPipe, HasNothingUnread) {
  const int file = open("/dev/null", O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(unread_bytes(file), 0);
  close(file);
  EXPECT_EQ(unread_bytes(-1), 0);
}

}  // namespace
}  // namespace tessera::base
