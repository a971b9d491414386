// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tessera/error.hpp>
#include <tessera/job/together.hpp>
#include <tessera/mpi/communicator.hpp>

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

#include "mpi/job/job_testing.hpp"
#include "support/errors.hpp"

namespace tessera {
namespace {

TEST(Together, GivesEveryRankTheErrorOfTheLowest) {
  const mpi::Communicator comm = testing::world();
  EXPECT_NO_THROW(together(comm, [] {}));
  // From the middle rank up, each fails in another way.
  const int first = comm.size() / 2;
  EXPECT_EQ(error_of(ErrorCode::input,
                     [&] {
                       together(comm, [&] {
                         if (comm.rank() >= first)
                           throw Error(ErrorCode::input, "rank " + std::to_string(comm.rank()));
                       });
                     }),
            "rank " + std::to_string(first));
  EXPECT_EQ(error_of(ErrorCode::job_fault,
                     [&] {
                       together(comm, [&] {
                         if (comm.rank() == first) throw std::bad_alloc();
                       });
                     }),
            "rank " + std::to_string(first) + ": out of memory");
  EXPECT_EQ(error_of(ErrorCode::job_fault,
                     [&] {
                       together(comm, [&] {
                         if (comm.rank() == first) throw int{first};
                       });
                     }),
            "rank " + std::to_string(first) + ": an exception that is not a std::exception");
  // Afterwards the ranks are still synchronised.
  EXPECT_EQ(comm.allreduce<std::int64_t>(1, mpi::Reduction::sum), comm.size());
}

TEST(Together, NamesTheRankAndThePurpose) {
  const mpi::Communicator comm = testing::world();
  const int last = comm.size() - 1;
  const std::string start = "rank " + std::to_string(last) + " (";
  const auto failing = [&](auto fail) {
    try {
      together(comm, "the reading of the input", [&] {
        if (comm.rank() == last) fail();
      });
    } catch (const Error& error) {
      testing::expect_same_on_all_ranks(comm, error.what());
      return std::to_string(exit_status(error.code())) + ' ' + error.what();
    }
    return std::string("no error");
  };
  const auto expect = [&](const std::string& found, const std::string& code, const std::string& reason) {
    EXPECT_EQ(found.rfind(code + ' ' + start, 0), 0U) << found;
    const std::string end = ") failed in the reading of the input: " + reason;
    EXPECT_EQ(found.substr(found.find(')')), end);
  };
  expect(failing([] { throw Error(ErrorCode::input, "no column \"age\""); }), "3", "no column \"age\"");
  expect(failing([] { throw std::runtime_error("odd"); }), "6", "odd");
  expect(failing([] { throw std::bad_alloc(); }), "6", "out of memory");
  EXPECT_EQ(failing([] {}), "no error");
}

}  // namespace
}  // namespace tessera
