// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Districts, and the penalty on the differences between their coefficients.
struct Districts {
  struct Element {
    int row;
    int column;
    double value;
    friend bool operator==(const Element&, const Element&) = default;
  };
  std::vector<std::string> names;
  std::vector<Element> penalty;  ///< nonzero elements; rows and columns are indices of `names`
  [[nodiscard]] bool empty() const noexcept { return names.empty(); }
  friend bool operator==(const Districts&, const Districts&) = default;
};

/// User input for one district: its neighbours, or its row of the penalty.
struct DistrictEntry {
  std::string name;
  std::vector<std::string> others;
  std::vector<double> values{};  ///< penalty elements for `others`; empty: `others` are neighbours
};

/// Builds the penalty. For neighbours it is the graph Laplacian: the number of neighbours of each district on
/// the diagonal, and -1 for each pair of neighbours. Calls `refuse`, which must throw, for a repeated name,
/// an unknown neighbour, a district that is its own neighbour, and a neighbour or element given in only one
/// direction.
[[nodiscard]] Districts districts_of(
    std::span<const DistrictEntry> entries,
    const std::function<void(std::size_t entry, const std::string& fault)>& refuse);

}  // namespace TESSERA_NAMESPACE::gam
