// SPDX-License-Identifier: Apache-2.0
// Many models that are stopped and resumed, on any number of ranks, have the values of an undisturbed run.
#include "gam/data/output/table_output.hpp"
#include "support/file_content.hpp"
#include "support/on_cpu.hpp"
#include "support/table_support.hpp"

#include <tessera/gam/many.hpp>
#include <tessera/job/stop_request.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <random>
#include <span>
#include <string>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

constexpr int row_count = 40;
constexpr int response_count = 700;

std::string checkpoint_covariates() {
  std::string text = "t\n";
  for (int i = 0; i < row_count; ++i) text += fmt::format("{}\n", i * 0.1);
  return text;
}

/// A matrix in HDF5, which is read one batch after another; a table is one batch.
void write_counts(const mpi::Communicator& comm, const std::string& path, int added = 0) {
  std::mt19937_64 random(2);
  OutputMatrix matrix{.name = "X", .width = response_count, .values = {}};
  const Plan plan = Job(comm, on_cpu(1)).plan_for_hosts(row_count);
  const Range mine = plan.range_of(comm.rank());
  for (std::int64_t i = 0; i < row_count; ++i) {
    for (int g = 0; g < response_count; ++g) {
      const int count = std::poisson_distribution<int>(1 + g % 4)(random) + added;
      if (i >= mine.begin && i < mine.end) matrix.values.push_back(count);
    }
  }
  const auto file = TableOutput::make(comm, path, OutputFormat::hdf5);
  file->add({.plan = plan,
             .first_row = 0,
             .table_rows = row_count,
             .columns = {},
             .matrices = std::span(&matrix, 1)});
  static_cast<void>(file->commit());
  comm.barrier();
}

/// Stops the job at the beginning of a batch.
class StopAt : public FitObserver {
 public:
  StopAt(StopRequest& stop, int batch) : stop_(stop), batch_(batch) {}
  void now(std::string_view what) override {
    if (what.starts_with("responses ") && ++batches_ == batch_) stop_.request("the test");
  }
  void note(std::string_view line) override { notes += std::string(line) + '\n'; }
  std::string notes;

 private:
  StopRequest& stop_;
  int batch_;
  int batches_ = 0;
};

class ManyCheckpoints : public OverRanks {
 protected:
  void SetUp() override { write_counts(comm, counts.path()); }
  /// Returns the notes; the batch to stop at, 0: none.
  std::string fit(const mpi::Communicator& ranks, const std::string& out, const std::string& checkpoint,
                  int stop_at = 0, const std::string& terms = "s(t, k = 4)") {
    StopRequest stop(ranks, {.signals = {}});
    StopAt observer(stop, stop_at);
    Job job(ranks, on_cpu(1, &stop));
    const auto run = [&] {
      static_cast<void>(fit_many(job, terms, Table{covariates.path()}, {.path = counts.path() + ":/X"},
                                 {.family = family("poisson"), .covariances = true, .checkpoint = checkpoint},
                                 {.fits = out, .tests = out + ".tests.csv"}, &observer));
    };
    if (stop_at == 0)
      run();
    else
      expect_error(ErrorCode::interrupted, "the same command resumes from " + checkpoint, run);
    return observer.notes;
  }
  void expect_same(const std::string& a, const std::string& b) const {
    if (comm.rank() != 0) return;
    for (const char* const end : {"", ".tests.csv"})
      EXPECT_TRUE(tessera::testing::content_of(a + end) == tessera::testing::content_of(b + end)) << end;
  }
  [[nodiscard]] int files_beside(const std::string& path) const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()))
      count += entry.path().string().starts_with(path) ? 1 : 0;
    return count;
  }

  SharedFile covariates{comm, "covariates.csv", checkpoint_covariates()};
  SharedFile counts{comm, "counts.h5"};
  SharedFile whole{comm, "whole.h5"};
  SharedFile parts{comm, "parts.h5"};
  SharedFile state{comm, "state"};
};

TEST_F(ManyCheckpoints, GiveTheSameFilesAfterAStopAtAnyBatch) {
  fit(comm, whole.path(), "");
  for (const int batch : {1, 2, 3}) {
    fit(comm, parts.path(), state.path(), batch);
    EXPECT_FALSE(std::filesystem::exists(parts.path()));
    const std::string notes = fit(comm, parts.path(), state.path());
    EXPECT_EQ(notes.find("resuming after") != std::string::npos, batch > 1) << notes;
    expect_same(whole.path(), parts.path());
    comm.barrier();
    EXPECT_EQ(files_beside(state.path()), 0);
    comm.barrier();
    if (comm.rank() == 0) std::filesystem::remove(parts.path());
    comm.barrier();
  }
}

TEST_F(ManyCheckpoints, ResumeOnAnotherNumberOfRanks) {
  fit(comm, whole.path(), "");
  fit(comm, parts.path(), state.path(), 2);
  comm.barrier();
  if (comm.rank() == 0) {
    const mpi::Communicator serial = mpi::Communicator::serial();
    fit(serial, parts.path(), state.path(), 2);
  }
  comm.barrier();
  const std::string notes = fit(comm, parts.path(), state.path());
  EXPECT_NE(notes.find("resuming after"), std::string::npos) << notes;
  expect_same(whole.path(), parts.path());
}

TEST_F(ManyCheckpoints, FitAgainWhatIsDamaged) {
  fit(comm, whole.path(), "");
  fit(comm, parts.path(), state.path(), 3);
  comm.barrier();
  if (comm.rank() == 0) std::filesystem::resize_file(state.path() + ".batch-0", 100);
  comm.barrier();
  const std::string notes = fit(comm, parts.path(), state.path());
  EXPECT_NE(notes.find(".batch-0: is missing or damaged"), std::string::npos) << notes;
  expect_same(whole.path(), parts.path());
}

TEST_F(ManyCheckpoints, AreRefusedForOtherOptionsOrInput) {
  fit(comm, parts.path(), state.path(), 2);
  expect_error(ErrorCode::input, "formula", [&] { fit(comm, parts.path(), state.path(), 0, "s(t, k = 5)"); });
  write_counts(comm, counts.path(), 1);
  expect_error(ErrorCode::input, "the responses", [&] { fit(comm, parts.path(), state.path()); });
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
