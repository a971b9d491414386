// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/stored_rows.hpp"

#include "base/at.hpp"
#include "gam/data/frame/sampled_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace TESSERA_NAMESPACE::gam {

using base::at;

std::vector<Expression> columns_read_by(std::span<const Expression> variables) {
  std::vector<Expression> columns;
  for (const Expression& variable : variables) {
    for (const std::string& name : variable.columns()) {
      Expression column = column_expression(name);
      if (std::ranges::find(columns, column.text, &Expression::text) == columns.end())
        columns.push_back(std::move(column));
    }
  }
  return columns;
}

SampledRows stored_rows(const Workers& workers, const Frame& frame, std::span<const Expression> columns,
                        int most) {
  std::vector<const Variable*> variables;
  for (const Expression& column : columns) variables.push_back(&frame.at(column.text));
  std::vector<double> mine;
  for (const std::int64_t row : local_sample(workers, frame, most)) {
    mine.push_back(static_cast<double>(frame.rows.begin + row));
    for (const Variable* variable : variables) {
      if (!variable->factor)
        mine.push_back(variable->numbers[at(row)]);
      else
        mine.push_back(variable->codes[at(row)] < 0 ? std::numeric_limits<double>::quiet_NaN()
                                                    : variable->codes[at(row)]);
    }
  }
  std::vector<std::size_t> counts(at(workers.comm.size()));
  counts[0] = mine.size();
  const std::vector<double> all = workers.comm.alltoallv(std::span<const double>(mine), counts);
  SampledRows out;
  const std::size_t width = variables.size() + 1;
  for (std::size_t i = 0; i < all.size(); i += width) out.rows.push_back(static_cast<std::int64_t>(all[i]));
  for (std::size_t v = 0; v < variables.size() && !all.empty(); ++v) {
    SampledRows::Column& column = out.columns.emplace_back();
    column.name = variables[v]->name;
    for (std::size_t i = v + 1; i < all.size(); i += width) column.values.push_back(all[i]);
    if (variables[v]->factor) column.levels = variables[v]->levels;
  }
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
