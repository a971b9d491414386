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

/// What a user says about one district: its neighbours, or its row of the penalty.
struct DistrictEntry {
  std::string name;
  std::vector<std::string> others;
  std::vector<double> values{};  ///< elements of the penalty for `others`; empty: these are neighbours
};

/// The districts of these entries. Neighbours give the Laplacian of their graph: the number of neighbours of
/// each district on the diagonal, and -1 for two neighbours. `refuse` must throw an error for an entry, by
/// its index: a name that is there twice, an unknown neighbour, a district that is its own neighbour, and a
/// neighbour or element that is given in only one direction.
[[nodiscard]] Districts districts_of(
    std::span<const DistrictEntry> entries,
    const std::function<void(std::size_t entry, const std::string& fault)>& refuse);

}  // namespace TESSERA_NAMESPACE::gam
