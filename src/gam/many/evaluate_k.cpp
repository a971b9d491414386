// SPDX-License-Identifier: Apache-2.0
#include "base/at.hpp"
#include "base/errors.hpp"

#include <tessera/gam/many.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;
using Aics = std::vector<double>;

template <class Values>
const Values& values_of(const std::vector<Table::Column>& columns, const char* name) {
  return std::get<Values>(std::ranges::find(columns, name, &Table::Column::name)->values);
}

/// AIC of each fit; NaN if not converged.
Aics aics_of(const std::vector<Table::Column>& fits) {
  Aics aics = values_of<Aics>(fits, "aic");
  const auto& status = values_of<Factor>(fits, "status");
  for (std::size_t i = 0; i < aics.size(); ++i) {
    if (status.levels[at(status.codes[i])] != "converged") aics[i] = std::numeric_limits<double>::quiet_NaN();
  }
  return aics;
}

/// Summary of the AICs over responses whose fits of all sizes have converged.
std::string compared(const std::vector<Aics>& by_size, const std::vector<int>& sizes) {
  Aics excess(sizes.size());
  std::vector<int> least(sizes.size());
  int count = 0;
  for (std::size_t i = 0; i < by_size.front().size(); ++i) {
    Aics own;
    for (const Aics& aics : by_size) own.push_back(aics[i]);
    if (std::ranges::any_of(own, [](double aic) { return std::isnan(aic); })) continue;
    const auto best = std::ranges::min_element(own);
    for (std::size_t s = 0; s < own.size(); ++s) excess[s] += own[s] - *best;
    ++least[at(best - own.begin())];
    ++count;
  }
  if (count == 0) return "no response has converged for every k";
  std::string text =
      fmt::format("mean of AIC minus the smallest AIC of the response, over {} responses:", count);
  for (std::size_t s = 0; s < sizes.size(); ++s)
    text += fmt::format("{} k={} {:.4g} (smallest for {})", s == 0 ? "" : ",", sizes[s], excess[s] / count,
                        least[s]);
  return text;
}

}  // namespace

Predictions evaluate_k(Job& job, const std::string& formula, const Table& covariates,
                       const Responses& responses, const ManyOptions& options, const std::vector<int>& sizes,
                       FitObserver* observer) {
  ManyOptions with_size = options;
  with_size.covariances = false;
  together(job.comm(), [&] {
    if (sizes.empty() || std::ranges::min(sizes) < 3)
      throw base::usage_error("evaluate-k: give numbers of basis functions of at least 3, such as 3:10");
    if (!options.checkpoint.empty())
      throw base::usage_error("evaluate-k does not support a checkpoint: leave the checkpoint out");
  });
  Predictions out;
  std::vector<Aics> by_size;
  for (const int size : sizes) {
    if (observer != nullptr) observer->note(fmt::format("k = {}", size));
    with_size.basis_size = size;
    const ManyResults results = fit_many(job, formula, covariates, responses, with_size, observer);
    by_size.push_back(aics_of(results.fits));
    if (!out.kept.empty()) continue;
    Factor names = values_of<Factor>(results.fits, "response");
    out.table_rows = std::ssize(names.codes);
    out.plan = job.plan_for_hosts(out.table_rows);
    const Range mine = job.local_range(out.plan);
    names.codes = {names.codes.begin() + mine.begin, names.codes.begin() + mine.end};
    out.kept.push_back({"response", std::move(names)});
  }
  const Range mine = job.local_range(out.plan);
  for (std::size_t s = 0; s < sizes.size(); ++s)
    out.columns.push_back({fmt::format("aic:k={}", sizes[s]),
                           {by_size[s].begin() + mine.begin, by_size[s].begin() + mine.end}});
  out.remarks.push_back(compared(by_size, sizes));
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
