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

/// Packets in a run of rows; the values of a run fit in the L1 cache.
inline constexpr int run_packets = 32;
inline constexpr int run_rows = run_packets * base::lane_count;

/// Index of element (i, j), i <= j, of a packed matrix.
[[nodiscard]] constexpr std::size_t place_in_packed(int size, int i, int j) noexcept {
  return base::at(packed_size(size) - packed_size(size - i) + (j - i));
}

/// The columns of a component, or of the whole design, that the fit of a response uses. Inactive columns
/// belong to absent groups (`LaplaceCriterion::leave_out_absent`) or have an infinite lambda.
class ActiveColumns {
 public:
  /// All columns of the design. `design` must outlive this object.
  explicit ActiveColumns(const SharedDesign& design)
      : design_(&design), end_(design.columns), last_group_(static_cast<int>(design.groups.size())) {}
  ActiveColumns(const SharedDesign& design, const DesignComponent& component)
      : design_(&design),
        component_(&component),
        begin_(component.begin),
        end_(component.end),
        first_group_(component.first_group),
        last_group_(component.last_group) {}

  /// Sets the active columns. `absent` is by group of the design, `log_sp` by smoothing parameter.
  void set(const std::vector<bool>& absent, std::span<const double> log_sp);

  /// Precondition: these are columns of a component, not of the whole design.
  [[nodiscard]] const DesignComponent& component() const noexcept { return *component_; }
  /// The groups are [first_group(), last_group()).
  [[nodiscard]] std::size_t first_group() const noexcept { return base::at(first_group_); }
  [[nodiscard]] std::size_t last_group() const noexcept { return base::at(last_group_); }
  [[nodiscard]] bool is_absent(std::size_t group) const {
    return groups_[group - base::at(first_group_)].absent;
  }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(columns_.size()); }
  /// Design columns of the active columns.
  [[nodiscard]] const std::vector<int>& columns() const noexcept { return columns_; }
  /// Position of a design column among the active columns; -1: not active.
  [[nodiscard]] int place(int column) const { return place_[base::at(column - begin_)]; }
  /// Positions of a group's columns among the active columns, ascending.
  [[nodiscard]] const std::vector<int>& places_of(std::size_t group) const {
    return groups_[group - base::at(first_group_)].places;
  }

  /// active = all[columns()].
  void gather(const std::vector<double>& all, std::vector<double>& active) const;
  /// Copies a vector, or packed matrix, of the active columns to a vector, or matrix, of all columns of the
  /// design. `scatter` also sets the component's inactive elements to zero.
  void scatter(const std::vector<double>& active, std::vector<double>& all) const;
  void scatter_matrix(const std::vector<double>& packed, std::vector<double>& all) const;
  void gather_matrix(const std::vector<double>& all, std::vector<double>& packed) const;

  /// Calls `use(group, columns, first slot, packets, is last run of the group)` for each run, in order.
  template <class Use>
  void for_each_run(const Use& use) const {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const std::size_t g = base::at(first_group_) + i;
      if (groups_[i].absent) continue;
      const RowGroup& group = design_->groups[g];
      const auto stride = static_cast<std::ptrdiff_t>(group.columns.size());
      for (int begin = group.begin; begin < group.end; begin += run_packets) {
        const int packets = std::min(run_packets, group.end - begin);
        const LaneColumns columns{group.x.data() + stride * base::lane_count * (begin - group.begin), stride,
                                  groups_[i].at.data(), static_cast<int>(groups_[i].at.size())};
        use(g, columns, base::at(begin) * base::lane_count, packets, begin + packets == group.end);
      }
    }
  }

 private:
  struct Group {
    bool absent = false;
    std::vector<int> at;  ///< positions of the active columns in `RowGroup::columns`
    std::vector<int> places;
  };
  const SharedDesign* design_;
  const DesignComponent* component_ = nullptr;
  int begin_ = 0;  ///< columns [begin, end)
  int end_ = 0;
  int first_group_ = 0;
  int last_group_ = 0;
  std::vector<int> columns_;
  std::vector<int> place_;  ///< position among the active columns, by column - `begin_`; -1: not active
  std::vector<Group> groups_;
};

/// Accumulates the sums of one group in SIMD lanes, and adds them to the sums of all active columns.
class GroupSums {
 public:
  /// `active` must outlive this object.
  explicit GroupSums(const ActiveColumns& active) : active_(active) {}
  [[nodiscard]] double* gram(std::size_t group) { return sized(gram_, packed_size(count(group))); }
  [[nodiscard]] double* products(std::size_t group) { return sized(products_, count(group)); }
  /// Adds the group's sums to a packed matrix or vector, and clears the group's sums.
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

/// X' diag(weight) X of all columns of a design, packed. `weight` is by slot.
[[nodiscard]] std::vector<double> gram_of(const SharedDesign& design, std::span<const double> weight);

}  // namespace TESSERA_NAMESPACE::gam
