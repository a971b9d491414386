// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/at.hpp"
#include "gam/many/row_kernels.hpp"
#include "gam/many/shared_design.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Rows are processed in runs of this many packets, whose values fit in the L1 cache.
inline constexpr int run_packets = 32;
inline constexpr int run_rows = run_packets * base::lane_count;

/// The index of element (i, j), i <= j, of a packed matrix.
[[nodiscard]] constexpr std::size_t place_in_packed(int size, int i, int j) noexcept {
  return base::at(packed_size(size) - packed_size(size - i) + (j - i));
}

/// a x for a packed symmetric matrix a.
[[nodiscard]] std::vector<double> packed_product(const std::vector<double>& packed,
                                                 const std::vector<double>& x);

/// The columns of a design that take part in the fit of a response: the columns of groups that are not
/// absent, without columns that an infinite lambda leaves zero.
class ActiveColumns {
 public:
  /// The design must outlive it.
  explicit ActiveColumns(const SharedDesign& design) : design_(&design) {}

  /// `absent`: by group. `log_sp`: by smoothing parameter.
  void set(const std::vector<bool>& absent, std::span<const double> log_sp);

  [[nodiscard]] bool is_absent(std::size_t group) const { return absent_[group]; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(columns_.size()); }
  /// Indices of the active columns in the design.
  [[nodiscard]] const std::vector<int>& columns() const noexcept { return columns_; }
  /// The index of a column of the design among the active ones; -1: it is not active.
  [[nodiscard]] int place(int column) const { return place_[base::at(column)]; }
  /// The indices of a group's columns among the active ones, ascending.
  [[nodiscard]] const std::vector<int>& places_of(std::size_t group) const { return groups_[group].places; }

  /// The values of the active columns, and their places in a vector or packed matrix over all columns.
  [[nodiscard]] std::vector<double> gathered(const std::vector<double>& all) const;
  void scatter(const std::vector<double>& active, std::vector<double>& all) const;
  [[nodiscard]] std::vector<double> scattered_matrix(const std::vector<double>& packed) const;

  /// Calls `use(group, columns, first slot, packets, ends the group)` for runs of packets, in order.
  template <class Use>
  void for_each_run(const Use& use) const {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (absent_[g]) continue;
      const RowGroup& group = design_->groups[g];
      const auto stride = static_cast<std::ptrdiff_t>(group.columns.size());
      for (int begin = group.begin; begin < group.end; begin += run_packets) {
        const int packets = std::min(run_packets, group.end - begin);
        const LaneColumns columns{group.x.data() + stride * base::lane_count * (begin - group.begin), stride,
                                  groups_[g].at.data(), static_cast<int>(groups_[g].at.size())};
        use(g, columns, base::at(begin) * base::lane_count, packets, begin + packets == group.end);
      }
    }
  }

 private:
  struct Group {
    std::vector<int> at;  ///< indices among the group's columns
    std::vector<int> places;
  };
  const SharedDesign* design_;
  std::vector<bool> absent_;
  std::vector<int> columns_, place_;
  std::vector<Group> groups_;
};

/// Sums by lanes over the runs of a group, added at the group's end to the sums of all active columns.
class GroupSums {
 public:
  /// The columns must outlive it.
  explicit GroupSums(const ActiveColumns& active) : active_(active) {}
  [[nodiscard]] double* gram(std::size_t group) { return sized(gram_, packed_size(count(group))); }
  [[nodiscard]] double* products(std::size_t group) { return sized(products_, count(group)); }
  /// Adds to a packed matrix or a vector, and clears the sums.
  void take_gram(std::size_t group, std::vector<double>& to);
  void take_products(std::size_t group, std::vector<double>& to);

 private:
  [[nodiscard]] int count(std::size_t group) const {
    return static_cast<int>(active_.places_of(group).size());
  }
  static double* sized(std::vector<double>& sums, int size) {
    if (sums.empty()) sums.assign(base::lane_count * base::at(size), 0.0);
    return sums.data();
  }
  const ActiveColumns& active_;
  std::vector<double> gram_, products_;
};

}  // namespace TESSERA_NAMESPACE::gam
