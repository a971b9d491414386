// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/districts.hpp"

#include <tessera/mpi/communicator.hpp>

#include <string>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* The districts in a file, which rank 0 reads. The file is
/// - JSON of neighbours, {"a": ["b", "c"], …}, or of the rows of a penalty, {"a": {"a": 1, "b": -1}, …};
/// - GeoJSON, a FeatureCollection of polygons: two districts are neighbours if they share a vertex with
///   bitwise equal coordinates, as in mgcv. A feature's name is its property `variable`, or else its id;
///   features with equal names form one district;
/// - CSV of pairs of neighbours, each in one order or both, a line with an empty second field for a district
///   without neighbours; or of the elements of a penalty: row, column, value. The first line is a header if
///   its first two fields are in no other line.
///
/// Throws `Error(input)` with the file and the place, the same on every rank.
[[nodiscard]] Districts read_districts(const mpi::Communicator& comm, const std::string& path,
                                       const std::string& variable);

}  // namespace TESSERA_NAMESPACE::gam
