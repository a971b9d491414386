// SPDX-License-Identifier: Apache-2.0
#include "job/fault/fault.hpp"
#include "support/errors.hpp"

#include <tessera/error.hpp>

#include <gtest/gtest.h>

#include <string>

namespace tessera::fault {
namespace {

Point point(Stage stage, std::optional<int> rank, std::optional<int> device, std::optional<int> pass) {
  return {.stage = stage, .rank = rank, .device = device, .pass = pass};
}

TEST(FaultGrammar, ReadsEveryStage) {
  const auto points = parse(
      "probe@rank0,claim@rank1,bind@rank2,allocate@rank3,throw@rank4,fail@rank5,nccl@rank6,vote-late@rank7,"
      "stop@rank8,signal@rank9,kill@rank10,checkpoint-write@rank11,checkpoint-swap@rank12,"
      "checkpoint-full@rank13,checkpoint-step@rank14,score@rank15,wrong@rank16,slow@rank17");
  ASSERT_EQ(points.size(), 18u);
  const Stage stages[] = {Stage::probe,
                          Stage::claim,
                          Stage::bind,
                          Stage::allocate,
                          Stage::throwing,
                          Stage::failing,
                          Stage::nccl,
                          Stage::vote_late,
                          Stage::stop,
                          Stage::signal,
                          Stage::kill,
                          Stage::checkpoint_write,
                          Stage::checkpoint_swap,
                          Stage::checkpoint_full,
                          Stage::checkpoint_step,
                          Stage::score,
                          Stage::wrong,
                          Stage::slow};
  for (int i = 0; i < 18; ++i)
    EXPECT_EQ(points[static_cast<std::size_t>(i)], point(stages[i], i, std::nullopt, std::nullopt));
}

TEST(FaultGrammar, ReadsDevicesPassesAndEveryRank) {
  EXPECT_EQ(
      parse(" bind@rank1.device0 , throw@rank*:pass2,\tfail@rank12.device3:pass45 "),
      (std::vector{point(Stage::bind, 1, 0, std::nullopt),
                   point(Stage::throwing, std::nullopt, std::nullopt, 2), point(Stage::failing, 12, 3, 45)}));
}

TEST(FaultGrammar, NothingIsNoFault) {
  EXPECT_TRUE(parse("").empty());
  EXPECT_TRUE(parse("  ").empty());
}

TEST(FaultGrammar, QuotesWhatItCannotRead) {
  for (const std::string bad :
       {"bind", "bind@", "bind@1", "bind@rank", "bind@rank-1", "bind@rankx", "bind@rank1.",
        "bind@rank1.device", "bind@rank1.device*", "bind@rank1:pass", "bind@rank1:pass1.device0",
        "bind@rank1 .device0", "melt@rank1", "Bind@rank1", "bind@rank99999999999"}) {
    expect_error(ErrorCode::usage, "TESSERA_FAULT: cannot read \"" + bad + '"',
                 [&] { (void)parse("throw@rank0," + bad); });
  }
  EXPECT_THROW((void)parse("bind@rank1,"), Error);
}

TEST(FaultPoints, AreHitByRankDeviceAndPass) {
  const auto points = parse("bind@rank1.device0,throw@rank*:pass2,vote-late@rank1.device3");
  const Faults here(points, 1);
  const Faults elsewhere(points, 0);
  EXPECT_TRUE(here.hit(Stage::bind, 0, 1));
  EXPECT_TRUE(here.hit(Stage::bind, 0, 9));
  EXPECT_FALSE(here.hit(Stage::bind, 1, 1));
  EXPECT_FALSE(here.hit(Stage::claim, 0, 1));
  EXPECT_FALSE(elsewhere.hit(Stage::bind, 0, 1));
  EXPECT_TRUE(elsewhere.hit(Stage::throwing, 5, 2));
  EXPECT_FALSE(elsewhere.hit(Stage::throwing, 5, 1));
  EXPECT_TRUE(here.hit(Stage::vote_late, std::nullopt, 1));
  EXPECT_FALSE(elsewhere.hit(Stage::vote_late, std::nullopt, 1));
}

TEST(FaultPoints, ThrowWithTheirName) {
  const Faults faults(parse("allocate@rank0"), 0);
  EXPECT_NO_THROW(faults.throw_if_hit(Stage::bind, 0, 1));
  try {
    faults.throw_if_hit(Stage::allocate, 0, 1);
    FAIL() << "it was not hit";
  } catch (const Injected& injected) {
    EXPECT_STREQ(injected.what(), "fault point \"allocate\"");
  }
}

}  // namespace
}  // namespace tessera::fault
