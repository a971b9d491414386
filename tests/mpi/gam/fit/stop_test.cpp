// SPDX-License-Identifier: Apache-2.0
// When one rank is asked to stop, at any point of a fit, all ranks leave it, and can continue.
#include "support/errors.hpp"
#include "support/fit_support.hpp"
#include "support/on_cpu.hpp"
#include "support/reference_case.hpp"
#include "support/table_support.hpp"

#include <tessera/error.hpp>
#include <tessera/job/stop_request.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Requests a stop on this rank at the `turn`-th message of the fit.
class StopAtTurn : public FitObserver {
 public:
  StopAtTurn(StopRequest& stop, int turn, bool asked) : stop_(stop), turns_left_(turn), asked_(asked) {}
  void now(std::string_view what) override { note(what); }
  void note(std::string_view what) override {
    if (--turns_left_ != 0) return;
    said_ = what.substr(0, what.find(' '));
    if (asked_) stop_.request("the test");
  }
  /// The first word of that message; empty if the fit has sent fewer.
  [[nodiscard]] const std::string& said() const { return said_; }

 private:
  StopRequest& stop_;
  int turns_left_;
  bool asked_;
  std::string said_;
};

class Stops : public ::testing::Test {
 protected:
  FitResult fitted(Job& job, FitObserver* observer = nullptr) {
    return fit(job, parse_formula(case_.formula), testing::in_blocks(case_.data_path, 64),
               testing::options_of(case_), observer);
  }
  std::string fitted_text() {
    Job job = testing::cpu_job(comm_);
    return testing::text_of(comm_, fitted(job).model);
  }

  mpi::Communicator comm_ = testing::world();
  testing::ReferenceCase case_ = testing::load_reference_case("c03_gs1_poisson");
};

TEST_F(Stops, OfOneRankAreOfAllAtAnyTurn) {
  const std::string whole = fitted_text();
  for (const int rank : std::set{0, comm_.size() - 1}) {
    std::set<std::string> stopped;
    for (int turn = 1;; ++turn) {
      StopRequest stop(comm_, {.signals = {}});
      StopAtTurn observer(stop, turn, comm_.rank() == rank);
      std::string end;
      {
        Job job(comm_, on_cpu(2, &stop));
        const auto fit = [&] { static_cast<void>(fitted(job, &observer)); };
        end = error_if_any(ErrorCode::interrupted, fit).value_or("a model");
      }
      for (const std::string& other : comm_.allgather_text(end)) ASSERT_EQ(other, end) << observer.said();
      if (observer.said().empty()) break;  // the fit ended before
      if (end == "a model") continue;      // the request came after the last pass
      EXPECT_TRUE(end.starts_with("stopped by the test on rank " + std::to_string(rank))) << end;
      stopped.insert(observer.said());
    }
    for (const char* const what : {"counting", "reading", "iteration"})
      EXPECT_TRUE(stopped.contains(what)) << what << ", rank " << rank;
    EXPECT_EQ(fitted_text(), whole);
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
