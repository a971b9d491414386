// SPDX-License-Identifier: Apache-2.0
#include "resident_work.hpp"

#include <tessera/error.hpp>

namespace tessera::bench {
namespace {

[[noreturn]] void refuse_solver() {
  throw Error(ErrorCode::job_fault, "tessera-bench was built without CUDA");
}

}  // namespace

void advance_on_device(const double*, const double*, double*, std::int64_t, StreamView) {
  refuse_solver();
}
void sum_blocks_on_device(const double*, std::int64_t, double*, StreamView) {
  refuse_solver();
}

struct SolverByHand::Memory {};
SolverByHand::SolverByHand(std::span<const double>, std::span<const double>) {
  refuse_solver();
}
SolverByHand::~SolverByHand() = default;
void SolverByHand::advance() {
  refuse_solver();
}
double SolverByHand::sum() {
  refuse_solver();
}

}  // namespace tessera::bench
