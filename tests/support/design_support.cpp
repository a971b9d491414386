// SPDX-License-Identifier: Apache-2.0
#include "support/design_support.hpp"

#include "gam/basis/isotropic.hpp"
#include "gam/linalg/linalg.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <set>

namespace TESSERA_NAMESPACE::gam::testing {

nlohmann::json test_data(const std::string& name) {
  std::ifstream file(std::string(TESSERA_TEST_DATA) + "/" + name);
  return nlohmann::json::parse(file);
}

nlohmann::json fixture(const std::string& name) {
  return test_data("basis/" + name);
}

Frame frame_of(const nlohmann::json& columns, int rank, int ranks, bool incomplete_rows) {
  const auto rows = static_cast<std::int64_t>(columns.begin()->size());
  Frame frame;
  frame.complete_rows = rows;
  frame.rows = {rows * rank / ranks, rows * (rank + 1) / ranks};
  for (const auto& [name, values] : columns.items()) {
    Variable variable;
    variable.name = name;
    variable.factor = values[0].is_string();
    std::set<std::string> levels;
    if (variable.factor) {
      for (const auto& value : values) levels.insert(value.get<std::string>());
    }
    variable.levels.assign(levels.begin(), levels.end());
    frame.complete.own().clear();
    for (std::int64_t row = frame.rows.begin; row < frame.rows.end; ++row) {
      const auto& value = values[static_cast<std::size_t>(row)];
      if (variable.factor) {
        const auto level =
            std::find(variable.levels.begin(), variable.levels.end(), value.get<std::string>());
        variable.codes.own().push_back(static_cast<std::int32_t>(level - variable.levels.begin()));
      } else {
        variable.numbers.own().push_back(value.get<double>());
      }
      frame.complete.own().push_back(1);
      if (!incomplete_rows || row % 3 != 0) continue;
      frame.complete.own().push_back(0);
      if (variable.factor) {
        variable.codes.own().push_back(-1);
      } else {
        variable.numbers.own().push_back(row % 2 == 0 ? 1e6 : std::numeric_limits<double>::quiet_NaN());
      }
    }
    frame.variables.push_back(std::move(variable));
  }
  frame.file_rows = rows;
  return frame;
}

std::vector<double> raw_row(const Design& design, const Frame& frame, std::size_t row) {
  std::vector<double> raw;
  for (const RawTerm& term : design.terms) {
    EXPECT_EQ(term.raw_begin, static_cast<int>(raw.size()));
    std::vector<double> values{1};
    for (const Component& component : term.components) {
      const Variable& variable = frame.variables[static_cast<std::size_t>(component.variable)];
      std::vector<double> mine(static_cast<std::size_t>(component.raw_size()));
      if (component.kind == Component::Kind::numeric) {
        mine[0] = component.parts.empty() ? variable.numbers[row] : 0;
        for (const NumericPart& part : component.parts) {
          const double x = frame.variables[static_cast<std::size_t>(part.variable)].numbers[row];
          mine[0] += (x - part.centre) * part.factor;
        }
      } else if (component.kind == Component::Kind::factor) {
        mine[static_cast<std::size_t>(variable.codes[row])] = 1;
      } else if (component.isotropic) {
        std::vector<double> x;
        Component::for_each_variable(component, [&](int v) {
          x.push_back(frame.variables[static_cast<std::size_t>(v)].numbers[row]);
        });
        evaluate_dense(component, x, mine);
      } else {
        const LocalValues local = evaluate(component.margin, variable.numbers[row]);
        for (std::size_t a = 0; a < 4; ++a) {
          const int column = local.first + static_cast<int>(a);
          if (component.kind == Component::Kind::spline) {
            mine[static_cast<std::size_t>(column)] = local.values[a];
            continue;
          }
          for (std::size_t j = 0; j < mine.size(); ++j)
            mine[j] += local.values[a] * component.combinations(column, static_cast<int>(j));
        }
      }
      std::vector<double> product;
      for (const double left : values) {
        for (const double right : mine) product.push_back(left * right);
      }
      values = std::move(product);
    }
    EXPECT_EQ(term.raw_size, static_cast<int>(values.size()));
    raw.insert(raw.end(), values.begin(), values.end());
  }
  EXPECT_EQ(design.raw_size, static_cast<int>(raw.size()));
  return raw;
}

std::vector<double> raw_column_sums(const tessera::mpi::Communicator& comm, const Design& design,
                                    const Frame& frame) {
  std::vector<double> sums(static_cast<std::size_t>(design.raw_size));
  for (std::size_t row = 0; row < frame.complete.size(); ++row) {
    if (frame.complete[row] == 0) continue;
    const std::vector<double> raw = raw_row(design, frame, row);
    for (std::size_t i = 0; i < raw.size(); ++i) sums[i] += raw[i];
  }
  comm.allreduce(std::span<double>(sums), tessera::mpi::Reduction::sum);
  return sums;
}

Design design_of(const tessera::mpi::Communicator& comm, const std::string& formula, const Frame& frame,
                 const SuppliedKnots& knots, std::int64_t rows) {
  HostTeam team(1);
  const DesignDraft draft = draft_design({comm, team}, parse_terms(formula), frame, knots);
  return finish_design(draft, raw_column_sums(comm, draft.design, frame),
                       rows == 0 ? frame.complete_rows : rows);
}

std::vector<std::vector<double>> block_rows(const Design& design, const CoefBlock& block,
                                            const Frame& frame) {
  std::vector<std::vector<double>> rows;
  for (std::size_t row = 0; row < frame.complete.size(); ++row) {
    if (frame.complete[row] == 0) continue;
    const std::vector<double> raw = raw_row(design, frame, row);
    rows.push_back(block.to_coefficients(std::span(raw).subspan(static_cast<std::size_t>(block.raw_begin),
                                                                static_cast<std::size_t>(block.raw_size))));
  }
  return rows;
}

}  // namespace TESSERA_NAMESPACE::gam::testing
