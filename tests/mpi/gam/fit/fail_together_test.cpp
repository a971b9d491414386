// SPDX-License-Identifier: Apache-2.0
// If only one rank fails between the library's votes, all ranks fail, and can continue afterwards.
#include "support/failing_allocations.hpp"
#include "support/fit_support.hpp"
#include "support/reference_case.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/gam.hpp>
#include <tessera/mpi/fail_together.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

namespace TESSERA_NAMESPACE::gam {
namespace {

using tessera::testing::allocations_left;

/// The message of `work` on this rank when all fail together; empty: none.
std::string thrown_by(const mpi::Communicator& comm, const std::function<void()>& work) {
  try {
    mpi::fail_together(comm, work);
    return {};
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + " " + error.what();
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// *Collective.* Whether all ranks have this text.
bool is_everywhere(const mpi::Communicator& comm, const std::string& text) {
  for (const std::string& other : comm.allgather_text(text)) {
    if (other != text) return false;
  }
  return true;
}

std::string fitted_text(const mpi::Communicator& comm, int failing_allocation, int failing_rank) {
  const testing::ReferenceCase reference = testing::load_reference_case("c03_gs1_poisson");
  Job job = testing::cpu_job(comm);
  const Formula formula = parse_formula(reference.formula);
  const FitOptions options = testing::options_of(reference);
  if (comm.rank() == failing_rank) allocations_left = failing_allocation;
  const FitResult result = fit(job, formula, testing::in_blocks(reference.data_path, 64), options);
  allocations_left = 0;
  return testing::text_of(comm, result.model);
}

class FailTogether : public ::testing::Test {
 protected:
  mpi::Communicator comm_ = mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  int last_ = comm_.size() - 1;
};

// The allocations of a wait's watchdog must not leave a request in flight. The last rank comes so late that
// the others have a watchdog; what is tested does not depend on how late.
TEST_F(FailTogether, AWaitGoesOnWithoutMemoryForItsWatchdog) {
  constexpr int allocations = 12;
  for (int failing = 1; failing <= allocations; ++failing) {
    if (comm_.rank() == last_) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    if (comm_.rank() != last_) allocations_left = failing;
    EXPECT_NO_THROW(comm_.barrier());
    allocations_left = 0;
  }
  EXPECT_EQ(comm_.allreduce(1, mpi::Reduction::sum), comm_.size());
}

TEST_F(FailTogether, BeforeACollectiveCall) {
  const std::string thrown = thrown_by(comm_, [&] {
    if (comm_.rank() == last_) throw std::runtime_error("no luck");
    comm_.barrier();
  });
  EXPECT_NE(thrown.find("no luck"), std::string::npos) << thrown;
  EXPECT_EQ(thrown.find("rank " + std::to_string(last_)) != std::string::npos, comm_.size() > 1) << thrown;
  EXPECT_TRUE(is_everywhere(comm_, thrown)) << thrown;
}

TEST_F(FailTogether, OnAnotherCommunicatorOfTheFamilyAndOnSomeRanks) {
  const mpi::Communicator other = comm_.duplicate();
  const mpi::Communicator part = comm_.split(comm_.rank() == last_ ? 1 : 0);
  const std::string thrown = thrown_by(comm_, [&] {
    part.barrier();
    if (comm_.rank() == last_) throw Error(ErrorCode::input, "no such table");
    part.barrier();
    (void)other.allgather_text("a text");
  });
  EXPECT_NE(thrown.find("no such table"), std::string::npos) << thrown;
  EXPECT_EQ(thrown[0], '0' + static_cast<int>(ErrorCode::input)) << thrown;
  EXPECT_TRUE(is_everywhere(comm_, thrown)) << thrown;
}

TEST_F(FailTogether, AfterTheLastCollectiveCall) {
  const std::string thrown = thrown_by(comm_, [&] {
    comm_.barrier();
    if (comm_.rank() == 0) throw std::bad_alloc();
  });
  EXPECT_NE(thrown, "");
  EXPECT_TRUE(is_everywhere(comm_, thrown)) << thrown;
}

TEST_F(FailTogether, WhatAllThrowStaysAsItIs) {
  EXPECT_EQ(thrown_by(comm_, [&] { throw std::runtime_error("no luck"); }), "no luck");
  EXPECT_EQ(thrown_by(comm_, [&] { comm_.barrier(); }), "");
  EXPECT_EQ(thrown_by(comm_,
                      [&] {
                        mpi::fail_together(comm_, [&] { comm_.barrier(); });
                        if (comm_.rank() >= 0) throw std::runtime_error("later");
                      }),
            "later");
}

TEST_F(FailTogether, InAFitOfWhichARankLacksMemory) {
  const std::string alone = fitted_text(comm_, 0, 0);
  int failures = 0;
  for (const int allocation : {1, 3, 10, 30, 100, 300, 1000, 3000}) {
    for (int rank = 0; rank < comm_.size(); rank += std::max(1, last_)) {
      const std::string thrown =
          thrown_by(comm_, [&] { EXPECT_EQ(fitted_text(comm_, allocation, rank), alone); });
      allocations_left = 0;
      const int failed = comm_.allreduce(thrown.empty() ? 0 : 1, mpi::Reduction::sum);
      EXPECT_TRUE(failed == 0 || failed == comm_.size())
          << "allocation " << allocation << " of rank " << rank << ": " << thrown;
      if (failed > 0) ++failures;
    }
  }
  EXPECT_GT(failures, 4);
  EXPECT_EQ(fitted_text(comm_, 0, 0), alone);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
