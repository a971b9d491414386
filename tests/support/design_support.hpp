// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/basis.hpp"
#include "gam/data/frame/frame.hpp"
#include "gam/design/build_design.hpp"
#include "gam/design/design.hpp"
#include "gam/formula/formula.hpp"

#include <tessera/mpi/communicator.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// Common parts of the tests of the model matrix: frames from fixtures, and an explicit row of X.
namespace TESSERA_NAMESPACE::gam::testing {

/// A file of tests/data/basis.
nlohmann::json fixture(const std::string& name);
/// Any file of tests/data.
nlohmann::json test_data(const std::string& name);

/// This rank's part of a table given as {"column": [values]}: text columns are factors. With
/// `incomplete_rows` every third row is followed by an incomplete one with extreme values.
Frame frame_of(const nlohmann::json& columns, int rank, int ranks, bool incomplete_rows);

/// R(row, .), dense.
std::vector<double> raw_row(const Design& design, const Frame& frame, std::size_t row);

/// R'1 over the complete rows of the job. Collective.
std::vector<double> raw_column_sums(const tessera::mpi::Communicator& comm, const Design& design,
                                    const Frame& frame);

/// Drafts and finishes. Collective. `rows` replaces the number of complete rows if given.
Design design_of(const tessera::mpi::Communicator& comm, const std::string& formula, const Frame& frame,
                 const SuppliedKnots& knots = {}, std::int64_t rows = 0);

/// Rows of X of a block, for every complete row of this rank.
std::vector<std::vector<double>> block_rows(const Design& design, const CoefBlock& block, const Frame& frame);

}  // namespace TESSERA_NAMESPACE::gam::testing
