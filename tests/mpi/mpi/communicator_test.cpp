// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tessera/error.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <string>
#include <thread>

#include "mpi/communicator_access.hpp"
#include "support/errors.hpp"

namespace TESSERA_NAMESPACE::mpi {
namespace {

using Access = detail::CommunicatorAccess;

class CommunicatorTest : public ::testing::Test {
 protected:
  Communicator comm = Communicator::duplicate_of(MPI_COMM_WORLD);
  std::size_t rank = static_cast<std::size_t>(comm.rank());
  std::size_t size = static_cast<std::size_t>(comm.size());

  /// The value of rank `r` at index `i`: all different in each test.
  static std::int64_t word(std::size_t r, std::size_t i) {
    return static_cast<std::int64_t>(1'000'003 * (r + 1) + i);
  }
};

/// This MPI's text for an error, such as "MPI_ERR_ROOT: invalid root" or "Invalid root".
std::string text_of(int error_class) {
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(error_class, text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  return text;
}

TEST_F(CommunicatorTest, DuplicateIsPrivateAndAlike) {
  int relation = MPI_UNEQUAL;
  MPI_Comm_compare(comm.native(), MPI_COMM_WORLD, &relation);
  EXPECT_EQ(relation, MPI_CONGRUENT);
}

TEST_F(CommunicatorTest, AFailedCallIsThisRanksAlone) {
  const int nobody = comm.size();
  std::int64_t value = 1;
  try {
    comm.broadcast(std::span(&value, 1), nobody);
    ADD_FAILURE() << "rank " << nobody << " does not exist";
  } catch (const Failure& fault) {
    EXPECT_EQ(fault.code(), ErrorCode::job_fault);
    EXPECT_NE(std::string(fault.what()).find(text_of(MPI_ERR_ROOT)), std::string::npos) << fault.what();
  }
}

TEST_F(CommunicatorTest, TheLongestTimeoutIsLong) {
  constexpr auto longest = std::chrono::milliseconds::max();
  comm.set_timeout(longest);
  const auto duplicate = comm.duplicate(longest);
  for (const auto timeout : {comm.timeout(), duplicate.timeout()}) {
    const auto now = std::chrono::steady_clock::now();
    EXPECT_GT(now + timeout, now + std::chrono::years(50));
  }
}

TEST_F(CommunicatorTest, AllreduceCombinesEveryType) {
  const auto n = static_cast<std::int64_t>(size);
  EXPECT_EQ(comm.allreduce(static_cast<std::int64_t>(rank) + 1, Reduction::sum), n * (n + 1) / 2);
  EXPECT_EQ(comm.allreduce(static_cast<std::int32_t>(rank), Reduction::max), n - 1);
  EXPECT_EQ(comm.allreduce(static_cast<std::uint32_t>(rank) + 7, Reduction::min), 7U);
  // Above the largest signed number, which MPICH 4.0 takes for less than 5.
  EXPECT_EQ(comm.allreduce(rank == 0 ? std::numeric_limits<std::uint64_t>::max() : std::uint64_t{5},
                           Reduction::max),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(comm.allreduce(rank == 0 ? std::numeric_limits<std::uint32_t>::max() : 5U, Reduction::max),
            std::numeric_limits<std::uint32_t>::max());
  EXPECT_EQ(comm.allreduce(std::numeric_limits<std::uint64_t>::max() - rank, Reduction::max),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(comm.allreduce(0.5, Reduction::sum), 0.5 * static_cast<double>(n));
}

TEST_F(CommunicatorTest, AllreduceInPieces) {
  for (const std::size_t piece : {1, 3, 7, 10, 11}) {
    std::vector<std::int64_t> values(10);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = word(rank, i);
    Access::allreduce(comm, values.data(), values.size(), detail::Number::int64, Reduction::max, piece);
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], word(size - 1, i)) << piece;
  }
}

TEST_F(CommunicatorTest, AllreduceOfNothing) {
  comm.allreduce(std::span<double>(), Reduction::sum);
}

TEST_F(CommunicatorTest, BroadcastInPieces) {
  const int root = comm.size() - 1;
  for (const std::size_t piece : {1, 8, 13, 80, 1000}) {
    std::vector<std::int64_t> values(10);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = word(rank, i);
    Access::broadcast(comm, values.data(), values.size() * 8, root, piece);
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], word(size - 1, i)) << piece;
  }
}

TEST_F(CommunicatorTest, BroadcastOfTypedValues) {
  std::vector<double> values(3, static_cast<double>(rank) + 0.25);
  comm.broadcast(std::span(values), 0);
  EXPECT_EQ(values, std::vector<double>(3, 0.25));
}

TEST_F(CommunicatorTest, AllgatherKeepsRankOrder) {
  struct Record {
    std::int32_t id;
    char tag[3];
  };
  const auto all = comm.allgather(Record{static_cast<std::int32_t>(rank) * 2, {'a', 'b', '\0'}});
  ASSERT_EQ(all.size(), size);
  for (std::size_t r = 0; r < size; ++r) EXPECT_EQ(all[r].id, static_cast<std::int32_t>(r) * 2);
  EXPECT_STREQ(all.back().tag, "ab");
}

TEST_F(CommunicatorTest, AllgathervOfUnequalParts) {
  std::vector<std::int64_t> mine(rank);  // rank 0 has nothing
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = word(rank, i);
  std::vector<std::size_t> offsets;
  const auto all = comm.allgatherv(std::span<const std::int64_t>(mine), &offsets);
  ASSERT_EQ(offsets.size(), size + 1);
  EXPECT_EQ(all.size(), size * (size - 1) / 2);
  for (std::size_t r = 0; r < size; ++r) {
    ASSERT_EQ(offsets[r + 1] - offsets[r], r);
    for (std::size_t i = 0; i < r; ++i) EXPECT_EQ(all[offsets[r] + i], word(r, i));
  }
}

TEST_F(CommunicatorTest, AllgathervInPieces) {
  std::vector<std::int64_t> mine(rank + 2);
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = word(rank, i);
  const auto whole = comm.allgatherv(std::span<const std::int64_t>(mine));
  const auto bytes = std::as_bytes(std::span(mine));
  for (const std::size_t piece : {1, 5, 8, 24}) {
    const auto offsets = Access::gathered_offsets(comm, bytes.size());
    std::vector<std::int64_t> all(offsets.back() / 8, -1);
    Access::allgatherv(comm, bytes, offsets, std::as_writable_bytes(std::span(all)).data(), piece);
    EXPECT_EQ(all, whole) << piece;
  }
}

TEST_F(CommunicatorTest, AllgatherText) {
  const std::string mine(rank, static_cast<char>('a' + rank));  // rank 0's is empty
  const auto texts = comm.allgather_text(mine);
  ASSERT_EQ(texts.size(), size);
  for (std::size_t r = 0; r < size; ++r) EXPECT_EQ(texts[r], std::string(r, static_cast<char>('a' + r)));
}

TEST_F(CommunicatorTest, BroadcastText) {
  const int root = comm.size() - 1;
  const std::string mine = "from " + std::to_string(rank) + std::string(rank, '!');
  EXPECT_EQ(comm.broadcast_text(mine, root),
            "from " + std::to_string(root) + std::string(static_cast<std::size_t>(root), '!'));
  EXPECT_EQ(comm.broadcast_text("", 0), "");
}

/// Rank s sends (s + 2 t) % 4 words to rank t: some send nothing, and no two pairs need be alike.
std::size_t words_from_to(std::size_t s, std::size_t t) {
  return (s + 2 * t) % 4;
}

TEST_F(CommunicatorTest, AlltoallvWholeAndInPieces) {
  std::vector<std::int64_t> outgoing;
  std::vector<std::size_t> counts(size);
  for (std::size_t to = 0; to < size; ++to) {
    counts[to] = words_from_to(rank, to);
    for (std::size_t i = 0; i < counts[to]; ++i) outgoing.push_back(word(rank, 1000 * to + i));
  }
  std::vector<std::int64_t> expected;
  for (std::size_t from = 0; from < size; ++from)
    for (std::size_t i = 0; i < words_from_to(from, rank); ++i)
      expected.push_back(word(from, 1000 * rank + i));

  EXPECT_EQ(comm.alltoallv(std::span<const std::int64_t>(outgoing), std::span<const std::size_t>(counts)),
            expected);

  std::vector<std::size_t> bytes(counts);
  for (auto& count : bytes) count *= 8;
  const auto incoming = Access::incoming_counts(comm, bytes, outgoing.size() * 8);
  for (const std::size_t piece : {1, 8, 11, 16}) {
    std::vector<std::int64_t> received(expected.size(), -1);
    Access::alltoallv(comm, std::as_bytes(std::span(outgoing)).data(), bytes, incoming,
                      std::as_writable_bytes(std::span(received)).data(), piece);
    EXPECT_EQ(received, expected) << piece;
  }
}

TEST_F(CommunicatorTest, AlltoallvInPiecesTooLargeToBuffer) {
  // If MPI waits for the receiver, a step with unpaired sends and receives would never end.
  constexpr std::size_t words = 40'000;
  std::vector<std::int64_t> outgoing(size * words);
  for (std::size_t i = 0; i < outgoing.size(); ++i) outgoing[i] = word(rank, i);
  const std::vector<std::size_t> bytes(size, words * 8);
  std::vector<std::int64_t> received(size * words, -1);
  Access::alltoallv(comm, std::as_bytes(std::span(outgoing)).data(), bytes, bytes,
                    std::as_writable_bytes(std::span(received)).data(), 100'000);
  for (std::size_t from = 0; from < size; ++from) {
    EXPECT_EQ(received[from * words], word(from, rank * words)) << from;
    EXPECT_EQ(received[(from + 1) * words - 1], word(from, (rank + 1) * words - 1)) << from;
  }
}

TEST_F(CommunicatorTest, AlltoallvRefusesCountsThatDoNotFit) {
  const std::vector<double> outgoing(size + 1);
  const std::vector<std::size_t> ones(size, 1);
  const std::vector<std::size_t> too_many(size + 1, 1);
  const auto send = [&](const std::vector<std::size_t>& counts) {
    return comm.alltoallv(std::span<const double>(outgoing), std::span<const std::size_t>(counts));
  };
  EXPECT_THROW((void)send(ones), Error);      // one element is left over
  EXPECT_THROW((void)send(too_many), Error);  // there is no such rank
}

TEST_F(CommunicatorTest, SplitOrdersByRank) {
  const auto part = comm.split(static_cast<int>(rank % 2));
  EXPECT_EQ(part.rank(), static_cast<int>(rank / 2));
  EXPECT_EQ(part.size(), static_cast<int>((size + (rank % 2 == 0 ? 1 : 0)) / 2));
  const auto members = part.allgather(static_cast<std::int32_t>(rank));
  EXPECT_TRUE(std::is_sorted(members.begin(), members.end()));
}

TEST_F(CommunicatorTest, ANegativeColorOfOneRankIsMisuseOfAll) {
  for (const int negative : {MPI_UNDEFINED, -5}) {
    expect_error(ErrorCode::usage, std::to_string(negative),
                 [&] { (void)comm.split(rank + 1 == size ? negative : 1); });
  }
  comm.split(0).barrier();
}

TEST_F(CommunicatorTest, MoveResetsWhatItMovesFrom) {
  const MPI_Comm native = comm.native();
  Communicator second(std::move(comm));
  EXPECT_EQ(comm.native(), MPI_COMM_NULL);  // NOLINT(bugprone-use-after-move): this is what is tested
  EXPECT_EQ(comm.rank(), 0);
  EXPECT_EQ(comm.size(), 1);
  EXPECT_EQ(second.native(), native);
  Communicator third;
  third = std::move(second);
  EXPECT_EQ(second.native(), MPI_COMM_NULL);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(third.native(), native);
  Communicator& alias = third;
  third = std::move(alias);
  EXPECT_EQ(third.native(), native);
  third.barrier();
}

TEST_F(CommunicatorTest, EmptyCommunicatorIsMisuse) {
  const Communicator empty;
  error_of(ErrorCode::usage, [&] { empty.barrier(); });
}

TEST_F(CommunicatorTest, MpiFailureIsAJobFaultWithItsText) {
  double value = 0.0;
  expect_error(ErrorCode::job_fault, "MPI_Ibcast failed: " + text_of(MPI_ERR_ROOT), [&] {
    comm.broadcast(std::span(&value, 1), comm.size());  // there is no such root
  });
}

TEST_F(CommunicatorTest, AFailureThatARequestCompletesWithIsThrown) {
  if (size == 1) GTEST_SKIP() << "needs a message";
  // In pairs, so that no third rank waits for data that the second cannot forward.
  const auto pair = comm.split(static_cast<int>(rank / 2));
  std::vector<double> values(pair.rank() == 0 ? 20 : 10);
  if (pair.rank() == 0) {
    pair.broadcast(std::span(values), 0);
  } else {
    try {
      pair.broadcast(std::span(values), 0);
      ADD_FAILURE() << "a longer message than there is room for came through";
    } catch (const Failure& fault) {
      // MPICH 4.0 reports only that a non-blocking collective has failed.
      const std::string told = fault.what();
      EXPECT_TRUE(told.starts_with("a broadcast failed: " + text_of(MPI_ERR_TRUNCATE)) ||
                  told.starts_with("a broadcast failed: " + text_of(MPI_ERR_OTHER)))
          << told;
    }
  }
  comm.barrier();
}

TEST_F(CommunicatorTest, AFailedDuplicationOfTheCallersCommunicatorIsThrown) {
  MPI_Comm theirs = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &theirs);  // its errors are fatal, as at first
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval([](MPI_Comm, int, void*, void*, void*, int*) -> int { return MPI_ERR_OTHER; },
                         MPI_COMM_NULL_DELETE_FN, &key, nullptr);
  MPI_Comm_set_attr(theirs, key, nullptr);
  EXPECT_THROW((void)Communicator::duplicate_of(theirs), Failure);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(theirs, &handler);
  EXPECT_EQ(handler, MPI_ERRORS_ARE_FATAL) << "and stays as the caller has it";
  MPI_Errhandler_free(&handler);
  MPI_Comm_delete_attr(theirs, key);
  MPI_Comm_free_keyval(&key);
  MPI_Comm_free(&theirs);
}

TEST_F(CommunicatorTest, AnInterCommunicatorIsMisuse) {
  if (size == 1) GTEST_SKIP() << "needs two groups";
  const auto part = comm.split(static_cast<int>(rank % 2));
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Intercomm_create(part.native(), 0, comm.native(), rank % 2 == 0 ? 1 : 0, 7, &inter);
  error_of(ErrorCode::usage, [&] { (void)Communicator::duplicate_of(inter); });
  MPI_Comm_free(&inter);
}

TEST_F(CommunicatorTest, AnotherThreadIsMisuse) {
  std::thread([&] {
    const std::vector<std::function<void()>> calls = {
        [&] { comm.barrier(); },
        [&] { (void)comm.allreduce(1, Reduction::sum); },
        [&] { (void)comm.split(0); },
        [&] { comm.alive(); },
        [&] { (void)Communicator::duplicate_of(MPI_COMM_WORLD); },
    };
    for (const auto& call : calls) {
      error_of(ErrorCode::usage, call);
    }
  }).join();
  comm.barrier();
}

TEST_F(CommunicatorTest, CommunicatorsOfDifferentOriginAnswerForEachOther) {
  // Rank 0 waits in one collective while the others are in another, until a watchdog inquires.
  const auto other = Communicator::duplicate_of(MPI_COMM_WORLD);
  comm.set_timeout(std::chrono::milliseconds(1));
  if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  other.barrier();
  comm.barrier();
}

/// Outlives MPI_Finalize, which the main function calls: freeing it there would end the program.
Communicator outlives_mpi;  // NOLINT(cert-err58-cpp)

TEST_F(CommunicatorTest, DestructorAfterFinalizeDoesNothing) {
  outlives_mpi = std::move(comm);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::mpi
