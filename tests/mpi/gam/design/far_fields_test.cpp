// SPDX-License-Identifier: Apache-2.0
#include "gam/design/far_fields.hpp"

#include "gam/basis/far_field.hpp"
#include "gam/basis/isotropic.hpp"

#include <gtest/gtest.h>
#include <mpi.h>
#include <tessera/error.hpp>

#include <cmath>
#include <cstdint>
#include <string>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// s(x, z) with points that fill the square evenly.
Design design_of_points(int count) {
  Matrix points(count, 2);
  for (int i = 0; i < count; ++i) {
    points(i, 0) = std::fmod((i + 1) * 0.6180339887498949, 1.0);
    points(i, 1) = std::fmod((i + 1) * 0.7548776662466927, 1.0);
  }
  Design design;
  HostTeam team(2);
  design.add_term({isotropic_thin_plate(team, points, points, means_of(points), 2, 20).component});
  return design;
}

const FarField* field_of(const Design& design) {
  return design.terms.front().components.front().isotropic->far_field.get();
}

TEST(FarFields, AreThereWhereRowsAreManyAndMemoryIsEnough) {
  const auto comm = mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  HostTeam team(2);
  const Workers workers{comm, team};
  Design design = design_of_points(400);
  add_far_fields(workers, design, 1999);
  EXPECT_EQ(field_of(design), nullptr);
  add_far_fields(workers, design, 2000);
  EXPECT_NE(field_of(design), nullptr);
}

TEST(FarFields, OfARankThatLacksTheMemoryAreRefusedOnAllRanks) {
  const auto comm = mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  HostTeam team(2);
  const Workers workers{comm, team};
  Design design = design_of_points(400);
  const bool last = comm.rank() == comm.size() - 1;
  try {
    add_far_fields(workers, design, 1'000'000, last ? std::int64_t{1} << 60 : 0);
    ADD_FAILURE() << "not refused";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::input);
    EXPECT_NE(std::string(e.what()).find("thin plate splines of two variables need "), std::string::npos)
        << e.what();
  }
  EXPECT_EQ(field_of(design), nullptr);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
