// SPDX-License-Identifier: Apache-2.0
#include "gam/many/active_columns.hpp"

#include <cmath>

namespace TESSERA_NAMESPACE::gam {

using base::at;
using base::lane_count;

std::vector<double> packed_product(const std::vector<double>& packed, const std::vector<double>& x) {
  std::vector<double> result(x.size());
  std::size_t i = 0;
  for (std::size_t a = 0; a < x.size(); ++a) {
    for (std::size_t b = a; b < x.size(); ++b, ++i) {
      result[a] += packed[i] * x[b];
      if (b != a) result[b] += packed[i] * x[a];
    }
  }
  return result;
}

void ActiveColumns::set(const std::vector<bool>& absent, std::span<const double> log_sp) {
  absent_ = absent;
  std::vector<bool> used(at(design_->columns), true);
  for (std::size_t g = 0; g < design_->groups.size(); ++g) {
    if (!absent[g]) continue;
    for (const int column : design_->groups[g].own_curve) used[at(column)] = false;
  }
  for (std::size_t j = 0; j < log_sp.size(); ++j) {
    if (!std::isinf(log_sp[j])) continue;
    for (const int column : design_->penalised[j]) used[at(column)] = false;
  }
  columns_.clear();
  place_.assign(used.size(), -1);
  for (int j = 0; j < design_->columns; ++j) {
    if (!used[at(j)]) continue;
    place_[at(j)] = size();
    columns_.push_back(j);
  }
  groups_.assign(design_->groups.size(), {});
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (absent[g]) continue;
    const std::vector<int>& columns = design_->groups[g].columns;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!used[at(columns[i])]) continue;
      groups_[g].at.push_back(static_cast<int>(i));
      groups_[g].places.push_back(place_[at(columns[i])]);
    }
  }
}

std::vector<double> ActiveColumns::gathered(const std::vector<double>& all) const {
  std::vector<double> active;
  active.reserve(columns_.size());
  for (const int column : columns_) active.push_back(all[at(column)]);
  return active;
}

void ActiveColumns::scatter(const std::vector<double>& active, std::vector<double>& all) const {
  std::ranges::fill(all, 0.0);
  for (std::size_t i = 0; i < active.size(); ++i) all[at(columns_[i])] = active[i];
}

std::vector<double> ActiveColumns::scattered_matrix(const std::vector<double>& packed) const {
  std::vector<double> all(at(packed_size(design_->columns)));
  std::size_t i = 0;
  for (std::size_t a = 0; a < columns_.size(); ++a) {
    for (std::size_t b = a; b < columns_.size(); ++b)
      all[place_in_packed(design_->columns, columns_[a], columns_[b])] = packed[i++];
  }
  return all;
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

}  // namespace TESSERA_NAMESPACE::gam
