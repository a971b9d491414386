// SPDX-License-Identifier: Apache-2.0
#include "gam/many/active_columns.hpp"

#include <cmath>

namespace TESSERA_NAMESPACE::gam {

using base::at;
using base::lane_count;

void ActiveColumns::set(const std::vector<bool>& absent, std::span<const double> log_sp) {
  constexpr int unused = -1;
  place_.assign(at(end_ - begin_), 0);
  const auto leave_out = [&](const std::vector<int>& columns) {
    for (const int column : columns) {
      if (column >= begin_ && column < end_) place_[at(column - begin_)] = unused;
    }
  };
  for (int g = first_group_; g < last_group_; ++g) {
    if (absent[at(g)]) leave_out(design_->groups[at(g)].own_curve);
  }
  for (std::size_t j = 0; j < log_sp.size(); ++j) {
    if (std::isinf(log_sp[j])) leave_out(design_->penalised[j]);
  }
  columns_.clear();
  for (int column = begin_; column < end_; ++column) {
    int& place = place_[at(column - begin_)];
    if (place == unused) continue;
    place = size();
    columns_.push_back(column);
  }
  groups_.resize(at(last_group_ - first_group_));
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    const std::size_t g = at(first_group_) + i;
    group.absent = absent[g];
    group.at.clear();
    group.places.clear();
    if (group.absent) continue;
    const std::vector<int>& columns = design_->groups[g].columns;
    for (std::size_t j = 0; j < columns.size(); ++j) {
      if (place(columns[j]) == unused) continue;
      group.at.push_back(static_cast<int>(j));
      group.places.push_back(place(columns[j]));
    }
  }
}

void ActiveColumns::gather(const std::vector<double>& all, std::vector<double>& active) const {
  active.clear();
  for (const int column : columns_) active.push_back(all[at(column)]);
}

void ActiveColumns::scatter(const std::vector<double>& active, std::vector<double>& all) const {
  std::fill(all.begin() + begin_, all.begin() + end_, 0.0);
  for (std::size_t i = 0; i < active.size(); ++i) all[at(columns_[i])] = active[i];
}

void ActiveColumns::scatter_matrix(const std::vector<double>& packed, std::vector<double>& all) const {
  std::size_t i = 0;
  for (std::size_t a = 0; a < columns_.size(); ++a) {
    for (std::size_t b = a; b < columns_.size(); ++b)
      all[place_in_packed(design_->columns, columns_[a], columns_[b])] = packed[i++];
  }
}

void ActiveColumns::gather_matrix(const std::vector<double>& all, std::vector<double>& packed) const {
  packed.clear();
  for (std::size_t a = 0; a < columns_.size(); ++a) {
    for (std::size_t b = a; b < columns_.size(); ++b)
      packed.push_back(all[place_in_packed(design_->columns, columns_[a], columns_[b])]);
  }
}

void GroupSums::take_gram(std::size_t group, std::vector<double>& to) {
  const std::vector<int>& places = active_.places_of(group);
  std::size_t i = 0;
  for (std::size_t a = 0; a < places.size(); ++a) {
    for (std::size_t b = a; b < places.size(); ++b)
      to[place_in_packed(active_.size(), places[a], places[b])] +=
          base::sum_of_lanes(base::load_lanes(gram_.data() + lane_count * i++));
  }
  gram_.clear();
}

void GroupSums::take_products(std::size_t group, std::vector<double>& to) {
  const std::vector<int>& places = active_.places_of(group);
  for (std::size_t a = 0; a < places.size(); ++a)
    to[at(places[a])] += base::sum_of_lanes(base::load_lanes(products_.data() + lane_count * a));
  products_.clear();
}

std::vector<double> gram_of(const SharedDesign& design, std::span<const double> weight) {
  std::vector<double> gram(at(packed_size(design.columns)));
  ActiveColumns columns(design);
  columns.set(std::vector<bool>(design.groups.size()), {});
  GroupSums sums(columns);
  columns.for_each_run([&](std::size_t g, const LaneColumns& run, std::size_t slot, int packets, bool ends) {
    add_gram(run, weight.data() + slot, packets, sums.gram(g));
    if (ends) sums.take_gram(g, gram);
  });
  return gram;
}

}  // namespace TESSERA_NAMESPACE::gam
