// SPDX-License-Identifier: Apache-2.0
#include "gam/data/table_source.hpp"
#include "gam/formula/formula.hpp"

#include <tessera/gam/table.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// A request for the columns in a formula (not its expressions) and the columns named by the options.
FrameRequest request_for(const FormulaTerms& formula, const TableOptions& options) {
  FrameRequest request;
  request.options = options;
  request.as_vectors = true;
  const auto add = [&](const std::string& column) {
    request.variables.push_back(column_expression(column));  // `ReadPlan` skips duplicates
  };
  for (const Expression& variable : formula.variables()) {
    for (const std::string& column : variable.columns()) add(column);
  }
  for (const std::string& column : options.factors) add(column);
  for (const std::string& column : options.numbers) add(column);
  for (const std::string& column : options.dates) add(column);
  const std::vector<std::string> numeric = formula.numeric_variables();
  for (const Expression& variable : formula.variables()) {
    if (variable.is_column() && std::find(numeric.begin(), numeric.end(), variable.text) == numeric.end())
      continue;
    for (const std::string& column : variable.computed() ? variable.numeric : variable.columns())
      request.numeric.push_back(column_expression(column).text);
  }
  return request;
}

}  // namespace

Table read_table(Job& job, const Table& table, const Formula& formula) {
  if (!table.in_files()) return table;
  const mpi::Purpose purpose(job.comm(), "the reading of the table");
  const Workers workers{job.comm(), job.host_team()};
  const auto reader = open_source(workers, source_of(table), job.options().stop);
  const FormulaTerms terms = formula.terms().all_columns
                                 ? parse_terms(with_columns(formula.text(), reader->columns()))
                                 : formula.terms();
  const FrameRequest request = request_for(terms, table.options);
  Table read(job.plan(reader->rows(), table.options.block_rows), {});
  Frame frame = reader->read(workers, request, job.local_range(read.plan));
  for (Variable& variable : frame.variables) {
    const std::string name = std::find_if(request.variables.begin(), request.variables.end(),
                                          [&](const Expression& e) { return e.text == variable.name; })
                                 ->columns()
                                 .front();
    if (variable.factor)
      read.columns.push_back({name, Factor{std::move(variable.codes.own()), std::move(variable.levels)}});
    else
      read.columns.push_back({name, std::move(variable.numbers.own())});
  }
  return read;
}

}  // namespace TESSERA_NAMESPACE::gam
