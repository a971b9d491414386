// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tessera/error.hpp>
#include <tessera/job/reproducible_sum.hpp>

#include <bit>
#include <cmath>
#include <functional>
#include <random>

namespace tessera {
namespace {

constexpr std::size_t width = 37;
constexpr int vector_count = 1000;

/// The same on every rank. Column j spreads over 1 + 8 j binades.
std::vector<std::vector<double>> thousand_vectors() {
  std::mt19937_64 random(99);
  std::vector<std::vector<double>> vectors(vector_count, std::vector<double>(width));
  for (auto& vector : vectors)
    for (std::size_t j = 0; j < width; ++j) {
      const double significand = static_cast<double>(random() >> 11) * 0x1p-52 - 1.0;
      vector[j] = std::ldexp(significand, static_cast<int>(random() % (1 + 8 * j)) - 150);
    }
  return vectors;
}

std::vector<std::uint64_t> bits_of(const std::vector<double>& values) {
  std::vector<std::uint64_t> bits(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) bits[i] = std::bit_cast<std::uint64_t>(values[i]);
  return bits;
}

TEST(ReproducibleSumMpi, TheSameBitsHoweverTheVectorsAreDealt) {
  const auto comm = mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  const int ranks = comm.size();
  const auto vectors = thousand_vectors();
  ReproducibleSum serial(width);
  for (const auto& vector : vectors) serial.add(vector);
  const auto expected = bits_of(serial.values());

  const std::vector<std::function<int(int)>> deals{
      [&](int i) { return i % ranks; },
      [&](int i) { return i * ranks / vector_count; },
      [&](int) { return ranks - 1; },
      [&](int i) { return (i * i + i / 7) % ranks; },
  };
  for (std::size_t deal = 0; deal < deals.size(); ++deal) {
    ReproducibleSum sum(width);
    for (int n = 0; n < vector_count; ++n) {
      const int i = deal % 2 == 0 ? n : vector_count - 1 - n;
      if (deals[deal](i) == comm.rank()) sum.add(vectors[static_cast<std::size_t>(i)]);
    }
    sum.allreduce(comm);
    EXPECT_EQ(bits_of(sum.values()), expected) << "deal " << deal;
  }
}

TEST(ReproducibleSumMpi, NotFiniteOnOneRankIsNanOnEvery) {
  const auto comm = mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  ReproducibleSum sum(2);
  const bool last = comm.rank() == comm.size() - 1;
  sum.add(std::vector<double>{last ? std::numeric_limits<double>::infinity() : 1.0, 1.0});
  sum.allreduce(comm);
  EXPECT_TRUE(std::isnan(sum.values()[0]));
  EXPECT_EQ(sum.values()[1], static_cast<double>(comm.size()));
}

TEST(ReproducibleSumMpi, TooManyVectorsFailOnEveryRank) {
  const auto comm = mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  ReproducibleSum sum(1);
  const std::vector<std::int32_t> tops{-1};
  const std::vector<std::int64_t> bins(4);
  sum.merge(tops, bins, ReproducibleSum::max_summands);  // as many as fit, on every rank
  if (comm.size() == 1) {
    EXPECT_NO_THROW(sum.allreduce(comm));
  } else {
    EXPECT_THROW(sum.allreduce(comm), Error);
  }
}

}  // namespace
}  // namespace tessera
