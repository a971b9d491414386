// SPDX-License-Identifier: Apache-2.0
// A program outside of the source tree, with a fit on a thread of its own.
#include <cstdio>
#include <string>
#include <tessera/gam/gam.hpp>
#include <tessera/job/job.hpp>
#include <thread>

int main(int, char** argv) {
  std::string summary;
  std::thread([&] {
    tessera::Job job(tessera::mpi::Communicator::serial());
    const auto formula = tessera::gam::parse_formula("lprice ~ cut + s(lcarat, bs=\"ps\", k=20)");
    summary = tessera::gam::summary(tessera::gam::fit(job, formula, tessera::gam::Table{argv[1]}).model);
  }).join();
  std::puts(summary.c_str());
}
