// SPDX-License-Identifier: Apache-2.0
#include "mpi/c/c_testing.hpp"

#include <unistd.h>
#include <array>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::testing {
namespace {

struct CloseStop {
  void operator()(tessera_stop* stop) const { tessera_stop_close(stop); }
};
struct CloseCheckpoint {
  void operator()(tessera_checkpoint* checkpoint) const { tessera_checkpoint_close(checkpoint); }
};
using OwnedStop = std::unique_ptr<tessera_stop, CloseStop>;
using OwnedCheckpoint = std::unique_ptr<tessera_checkpoint, CloseCheckpoint>;

OwnedStop stop_opened(const std::vector<std::int32_t>& signals, double time_limit_seconds = 0) {
  tessera_stop* stop = nullptr;
  EXPECT_TRUE(ok(tessera_stop_open(MPI_COMM_WORLD, signals.data(), static_cast<std::int32_t>(signals.size()),
                                   time_limit_seconds, &stop)));
  return OwnedStop(stop);
}

int sum_of_nothing(const OwnedJob& job) {
  const OwnedPlan plan = planned(job, 1000);
  double sum = 0;
  return tessera_reduce(
      job.get(), plan.get(), 1, 0, nullptr, [](const tessera_host_tile*, double*, void*) { return 0; },
      nullptr, &sum);
}

TEST(CStop, ARequestInterruptsThePassesOfAJob) {
  const OwnedStop stop = stop_opened({SIGUSR1});
  const OwnedJob job = opened(&tessera_options::stop, stop.get());
  EXPECT_EQ(sum_of_nothing(job), TESSERA_OK) << tessera_error();
  EXPECT_EQ(tessera_stop_poll(stop.get()), TESSERA_OK);
  EXPECT_EQ(tessera_stop_requested(stop.get()), 0);
  EXPECT_STREQ(tessera_stop_cause(stop.get()), "");
  const int last = size_of_world() - 1;
  if (rank_of_world() == last) {
    ASSERT_EQ(std::raise(SIGUSR1), 0);
    EXPECT_EQ(tessera_stop_requested(stop.get()), 1);
  }
  std::int32_t agreed = 0;
  EXPECT_EQ(tessera_stop_agree(stop.get(), &agreed), TESSERA_OK);
  EXPECT_EQ(agreed, 1);
  EXPECT_EQ(sum_of_nothing(job), TESSERA_INTERRUPTED);
  EXPECT_EQ(tessera_stop_cause(stop.get()), "SIGUSR1 on rank " + std::to_string(last));
}

TEST(CStop, TheProgramRequestsAStop) {
  const OwnedStop stop = stop_opened({SIGUSR2});
  std::int32_t agreed = 1;
  EXPECT_EQ(tessera_stop_agree(stop.get(), &agreed), TESSERA_OK);
  EXPECT_EQ(agreed, 0);
  if (rank_of_world() == 0) {
    EXPECT_EQ(tessera_stop_request(stop.get(), "the disk is nearly full"), TESSERA_OK);
  }
  EXPECT_EQ(tessera_stop_agree(stop.get(), &agreed), TESSERA_OK);
  EXPECT_EQ(agreed, 1);
  EXPECT_STREQ(tessera_stop_cause(stop.get()), "the disk is nearly full on rank 0");
}

TEST(CStop, ATimeLimitIsARequest) {
  const OwnedStop stop = stop_opened({SIGUSR1}, 1e-3);
  std::int32_t agreed = 0;
  while (agreed == 0) ASSERT_EQ(tessera_stop_agree(stop.get(), &agreed), TESSERA_OK);
  EXPECT_STREQ(tessera_stop_cause(stop.get()), "the time limit of 1 ms");
}

TEST(CStop, NullSignalsAreThoseOfBatchSystems) {
  tessera_stop* opened_stop = nullptr;
  ASSERT_TRUE(ok(tessera_stop_open_fortran(MPI_Comm_c2f(MPI_COMM_WORLD), nullptr, 0, 0, &opened_stop)));
  const OwnedStop stop(opened_stop);
  tessera_stop* second = nullptr;
  EXPECT_EQ(tessera_stop_open(MPI_COMM_WORLD, nullptr, 0, 0, &second), TESSERA_USAGE) << "one at a time";
  EXPECT_EQ(second, nullptr);
  ASSERT_EQ(std::raise(SIGTERM), 0);
  EXPECT_EQ(tessera_stop_requested(stop.get()), 1);
}

TEST(CStop, RefusesValuesWithoutMeaningOnEveryRank) {
  tessera_stop* stop = nullptr;
  const std::int32_t signal = SIGUSR1;
  const bool wrong = rank_of_world() == 0;
  EXPECT_EQ(tessera_stop_open(MPI_COMM_WORLD, &signal, wrong ? -1 : 1, 0, &stop), TESSERA_USAGE);
  expect_error_with("-1 signals");
  EXPECT_EQ(tessera_stop_open(MPI_COMM_WORLD, &signal, 1, wrong ? std::nan("") : 0, &stop), TESSERA_USAGE);
  expect_error_with("time limit");
  EXPECT_EQ(stop, nullptr);
  tessera_stop_close(nullptr);
}

/// The file of a checkpoint of this test and number of ranks, which is removed.
struct Path {
  explicit Path(const std::string& name)
      : text((std::filesystem::temp_directory_path() /
              ("tessera-c-" + name + '-' + std::to_string(size_of_world()) + '-' + of_job()))
                 .string()) {}
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;
  ~Path() {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_of_world() != 0) return;
    std::filesystem::remove(text);
    std::filesystem::remove(text + ".previous");
  }
  /// The process id of rank 0, so that concurrent runs have different files.
  static std::string of_job() {
    int process = static_cast<int>(::getpid());
    MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return std::to_string(process);
  }
  std::string text;
};

OwnedCheckpoint checkpoint_of(const OwnedJob& job, const Path& path, const char* units = "100") {
  const std::array<tessera_fingerprint_entry, 2> fingerprint{{{"program", "c"}, {"units", units}}};
  tessera_checkpoint* checkpoint = nullptr;
  (void)tessera_checkpoint_open(job.get(), path.text.c_str(), fingerprint.data(), 2, &checkpoint);
  return OwnedCheckpoint(checkpoint);
}

TEST(CCheckpoint, AJobGoesOnFromItsState) {
  const Path path("state");
  const OwnedJob job = opened();
  {
    const OwnedCheckpoint checkpoint = checkpoint_of(job, path);
    ASSERT_TRUE(checkpoint) << tessera_error();
    std::size_t bytes = 9;
    EXPECT_EQ(tessera_checkpoint_state(checkpoint.get(), &bytes), nullptr);
    EXPECT_EQ(bytes, 0U);
    EXPECT_EQ(tessera_checkpoint_generation(checkpoint.get()), 1);
    for (const std::string_view state : {"step 1", "step 22"}) {
      const bool root = rank_of_world() == 0;
      ASSERT_TRUE(ok(tessera_checkpoint_save(checkpoint.get(), root ? state.data() : nullptr, state.size())));
      EXPECT_EQ(tessera_checkpoint_is_saved(checkpoint.get()), 1);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_FALSE(checkpoint_of(job, path, "101")) << "that is another job's";
  expect_error_with("101");
  {
    const OwnedCheckpoint checkpoint = checkpoint_of(job, path);
    ASSERT_TRUE(checkpoint) << tessera_error();
    std::size_t bytes = 0;
    const void* const state = tessera_checkpoint_state(checkpoint.get(), &bytes);
    ASSERT_NE(state, nullptr);
    EXPECT_EQ(std::string_view(static_cast<const char*>(state), bytes), "step 22");
    EXPECT_EQ(tessera_checkpoint_remark(checkpoint.get(), 0), nullptr);
    tessera_checkpoint_remove(checkpoint.get());
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_FALSE(std::filesystem::exists(path.text));
}

TEST(CCheckpoint, RemarksOnAFileThatItCannotUse) {
  const Path path("remark");
  const OwnedJob job = opened();
  {
    const OwnedCheckpoint checkpoint = checkpoint_of(job, path);
    ASSERT_EQ(tessera_checkpoint_save(checkpoint.get(), "1", 1), TESSERA_OK);
    ASSERT_EQ(tessera_checkpoint_save(checkpoint.get(), "2", 1), TESSERA_OK);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_of_world() == 0) std::filesystem::resize_file(path.text, 20);
  MPI_Barrier(MPI_COMM_WORLD);
  const OwnedCheckpoint checkpoint = checkpoint_of(job, path);
  ASSERT_TRUE(checkpoint) << tessera_error();
  std::size_t bytes = 0;
  const void* const state = tessera_checkpoint_state(checkpoint.get(), &bytes);
  EXPECT_EQ(std::string_view(static_cast<const char*>(state), bytes), "1");
  const char* const remark = tessera_checkpoint_remark(checkpoint.get(), 0);
  ASSERT_NE(remark, nullptr);
  EXPECT_NE(std::string_view(remark).find(path.text), std::string_view::npos) << remark;
  std::int32_t remarks = 0;
  while (tessera_checkpoint_remark(checkpoint.get(), remarks) != nullptr && remarks < 10) ++remarks;
  EXPECT_LT(remarks, 10);
  EXPECT_EQ(tessera_checkpoint_remark(checkpoint.get(), -1), nullptr);
  tessera_checkpoint_remove(checkpoint.get());
}

TEST(CCheckpoint, RefusesWhatIsNullOnEveryRank) {
  const OwnedJob job = opened();
  const Path path("null");
  tessera_checkpoint* none = nullptr;
  const bool wrong = rank_of_world() == size_of_world() - 1;
  const tessera_fingerprint_entry entry{"program", wrong ? nullptr : "c"};
  EXPECT_EQ(tessera_checkpoint_open(job.get(), path.text.c_str(), &entry, 1, &none), TESSERA_USAGE);
  expect_error_with("a value of the fingerprint is null");
  const OwnedCheckpoint checkpoint = checkpoint_of(job, path);
  EXPECT_EQ(tessera_checkpoint_save(checkpoint.get(), nullptr, 5), TESSERA_USAGE);
  expect_error_with("tessera_checkpoint_save: state is null");
  tessera_checkpoint_remove(checkpoint.get());
  tessera_checkpoint_close(nullptr);
}

TEST(CText, IsCutOrFilledWithBlanks) {
  std::string copy(6, '?');
  tessera_copy_text("abc", copy.data(), 4);
  EXPECT_EQ(copy, "abc ??");
  tessera_copy_text("defghij", copy.data(), 6);
  EXPECT_EQ(copy, "defghi");
  tessera_copy_text(nullptr, copy.data(), 2);
  EXPECT_EQ(copy, "  fghi");
}

}  // namespace
}  // namespace tessera::testing
