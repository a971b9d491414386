// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mpi/job/scoped_variable.hpp"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>

/// Handles of the C interface that close themselves (RAII).
namespace tessera::testing {

struct CloseJob {
  void operator()(tessera_job* job) const { tessera_job_close(job); }
};
struct ClosePlan {
  void operator()(tessera_plan* plan) const { tessera_plan_close(plan); }
};
struct CloseArray {
  void operator()(tessera_array* array) const { tessera_array_close(array); }
};
using OwnedJob = std::unique_ptr<tessera_job, CloseJob>;
using OwnedPlan = std::unique_ptr<tessera_plan, ClosePlan>;
using OwnedArray = std::unique_ptr<tessera_array, CloseArray>;

/// The device function for passes of any kind, whose devices are simulated.
template <class... Rest>
int no_device(tessera_tile* tile, Rest... /*units, results, context*/) {
  tessera_tile_fail(tile, "the test has no function for real devices");
  return 0;
}

/// Success of a call of the C interface, or its message.
inline ::testing::AssertionResult ok(int status) {
  return ::testing::AssertionResult(status == TESSERA_OK) << tessera_error();
}

inline int rank_of_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
inline int size_of_world() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

inline OwnedJob opened(const tessera_options* options = nullptr) {
  tessera_job* job = nullptr;
  EXPECT_EQ(tessera_job_open(MPI_COMM_WORLD, options, &job), TESSERA_OK) << tessera_error();
  return OwnedJob(job);
}
/// Options with another value of one member.
template <class Value>
OwnedJob opened(Value tessera_options::*option, std::type_identity_t<Value> value) {
  tessera_options options = TESSERA_DEFAULT_OPTIONS;
  options.*option = value;
  return opened(&options);
}
inline OwnedPlan planned(const OwnedJob& job, std::int64_t units, std::int64_t block = 1) {
  tessera_plan* plan = nullptr;
  EXPECT_EQ(tessera_plan_open(job.get(), units, block, &plan), TESSERA_OK) << tessera_error();
  return OwnedPlan(plan);
}
inline OwnedArray array_over(const OwnedJob& job, const OwnedPlan& plan, std::size_t unit_bytes) {
  tessera_array* array = nullptr;
  EXPECT_EQ(tessera_array_open(job.get(), plan.get(), unit_bytes, &array), TESSERA_OK) << tessera_error();
  return OwnedArray(array);
}

/// The verdict of the last pass.
inline tessera_verdict verdict_of(const OwnedJob& job) {
  const tessera_verdict* const verdict = tessera_job_last_verdict(job.get());
  EXPECT_NE(verdict, nullptr);
  return verdict != nullptr ? *verdict : tessera_verdict{};
}

/// Expects `text` in the last error of this rank.
inline void expect_error_with(const std::string& text) {
  EXPECT_NE(std::string(tessera_error()).find(text), std::string::npos) << tessera_error();
}

}  // namespace tessera::testing
