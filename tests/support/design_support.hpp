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

namespace TESSERA_NAMESPACE::gam::testing {

/// A file of tests/data/basis.
nlohmann::json fixture(const std::string& name);
/// Any file of tests/data.
nlohmann::json test_data(const std::string& name);

/// This rank's part of a table given as {"column": [values]}: text columns are factors. With
/// `incomplete_rows` every third row is followed by an incomplete one with extreme values.
Frame frame_of(const nlohmann::json& columns, int rank, int ranks, bool incomplete_rows);

/// A row of the raw model matrix R, dense.
std::vector<double> raw_row(const Design& design, const Frame& frame, std::size_t row);

/// *Collective.* R'1 over the complete rows of the job.
std::vector<double> raw_column_sums(const tessera::mpi::Communicator& comm, const Design& design,
                                    const Frame& frame);

/// *Collective.* The design of a formula. `rows`: number of complete rows; 0: as in `frame`.
Design design_of(const tessera::mpi::Communicator& comm, const std::string& formula, const Frame& frame,
                 const SuppliedKnots& knots = {}, std::int64_t rows = 0);

/// The columns of a block in the model matrix, by complete row of this rank.
std::vector<std::vector<double>> block_rows(const Design& design, const CoefBlock& block, const Frame& frame);

}  // namespace TESSERA_NAMESPACE::gam::testing
