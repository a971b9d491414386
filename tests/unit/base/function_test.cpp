// SPDX-License-Identifier: Apache-2.0
#include <tessera/function.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

namespace tessera {
namespace {

int twice(int value) {
  return 2 * value;
}

int called(FunctionRef<int(int)> function) {
  return function ? function(21) : -1;
}

TEST(Function, RefCallsTheCallersOwnObject) {
  EXPECT_EQ(called(twice), 42);
  EXPECT_EQ(called(&twice), 42);
  auto counter = [calls = 0](int) mutable { return ++calls; };
  EXPECT_EQ(called(counter), 1);
  EXPECT_EQ(called(counter), 2) << "a copy was called";
  EXPECT_EQ(called([moved = std::make_unique<int>(2)](int value) { return value / *moved; }), 10);
  const auto constant = [](long value) { return static_cast<short>(value + 1); };
  EXPECT_EQ(called(constant), 22) << "arguments and result convert";
}

TEST(Function, BothAreEmptyIfGivenNothing) {
  int (*const no_function)(int) = nullptr;
  EXPECT_EQ(called(nullptr), -1);
  EXPECT_EQ(called(no_function), -1);
  EXPECT_EQ(called(std::function<int(int)>()), -1);
  EXPECT_EQ(called(SharedFunction<int(int)>()), -1);
  EXPECT_FALSE(SharedFunction<int(int)>());
  EXPECT_FALSE(SharedFunction<int(int)>(nullptr));
  EXPECT_FALSE(SharedFunction<int(int)>(no_function));
  EXPECT_FALSE(SharedFunction<int(int)>(std::function<int(int)>()));
}

TEST(Function, SharedKeepsWhatItIsGivenAsLongAsACopyExists) {
  const auto alive = std::make_shared<int>(0);
  SharedFunction<int()> last;
  {
    SharedFunction<int()> first = [alive, moved = std::make_unique<int>(7)] { return *moved + (*alive)++; };
    last = first;
    EXPECT_EQ(first(), 7);
  }
  EXPECT_EQ(last(), 8);
  EXPECT_EQ(alive.use_count(), 2);
  last = nullptr;
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(Function, TakesOnlyWhatHasTheSignature) {
  static_assert(!std::is_constructible_v<FunctionRef<int(int)>, int (*)(const std::string&)>);
  static_assert(!std::is_constructible_v<FunctionRef<int(int)>, void (*)(int)>);
  static_assert(std::is_constructible_v<FunctionRef<void(int)>, int (*)(int)>);
  static_assert(!std::is_constructible_v<SharedFunction<int(int)>, std::string>);
}

}  // namespace
}  // namespace tessera
