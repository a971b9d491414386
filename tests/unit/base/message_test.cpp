// SPDX-License-Identifier: Apache-2.0
#include "base/message.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace tessera::base {
namespace {

enum class Colour : std::uint8_t { red, blue };

struct Plain {
  int a = 0;
  double b = 0;
};

struct Leaf {
  std::string name;
  std::vector<double> values;

  void members(const auto& to) { to(name, values); }
};

/// A fake of two ranks; this one receives the root's message.
struct TwoRanks {
  int own = 1;
  std::string* sent;

  [[nodiscard]] int rank() const { return own; }
  [[nodiscard]] int size() const { return 2; }
  [[nodiscard]] std::string broadcast_text(const std::string& mine, int root) const {
    if (own == root) *sent = mine;
    return *sent;
  }
  [[nodiscard]] std::vector<std::string> allgather_text(const std::string& mine) const {
    return {*sent, mine};
  }
};

TEST(Message, HasEveryKindOfValue) {
  std::string sent;
  bool truth = true;
  Colour colour = Colour::blue;
  Plain plain{3, 0.5};
  std::vector<Leaf> leaves{{"a", {1, 2}}, {"", {}}};
  std::vector<std::vector<int>> lists{{}, {7}};
  std::vector<double> fixed{1.5, 2.5};
  std::array<int, 2> numbers{4, 5};
  std::pair<int, std::string> pair{6, "six"};
  broadcast_values(TwoRanks{0, &sent}, 0, truth, colour, plain, leaves, lists, std::span(fixed), numbers,
                   pair);

  truth = false;
  colour = Colour::red;
  plain = {};
  leaves = {{"old", {9}}};
  lists = {{1}, {2}, {3}};
  fixed = {0, 0};
  numbers = {};
  pair = {};
  broadcast_values(TwoRanks{1, &sent}, 0, truth, colour, plain, leaves, lists, std::span(fixed), numbers,
                   pair);
  EXPECT_TRUE(truth);
  EXPECT_EQ(colour, Colour::blue);
  EXPECT_EQ(plain.a, 3);
  EXPECT_EQ(plain.b, 0.5);
  ASSERT_EQ(leaves.size(), 2U);
  EXPECT_EQ(leaves[0].name, "a");
  EXPECT_EQ(leaves[0].values, (std::vector<double>{1, 2}));
  EXPECT_EQ(leaves[1].name, "");
  EXPECT_TRUE(leaves[1].values.empty());
  EXPECT_EQ(lists, (std::vector<std::vector<int>>{{}, {7}}));
  EXPECT_EQ(fixed, (std::vector<double>{1.5, 2.5}));
  EXPECT_EQ(numbers, (std::array{4, 5}));
  EXPECT_EQ(pair, (std::pair<int, std::string>{6, "six"}));
}

TEST(Message, LeavesTheValuesOfTheRootAsTheyAre) {
  std::string sent;
  std::vector<double> values{1, 2};
  const double* const before = values.data();
  broadcast_values(TwoRanks{0, &sent}, 0, values);
  EXPECT_EQ(values.data(), before);
}

TEST(Message, GathersTheValuesOfAllRanks) {
  std::vector<std::string> other{"x", "1:y"};
  Message message;
  exchange(message, other);
  std::string sent = message.written();
  const auto all = allgather_values(TwoRanks{1, &sent}, std::vector<std::string>{});
  EXPECT_EQ(all, (std::vector<std::vector<std::string>>{other, {}}));
}

}  // namespace
}  // namespace tessera::base
