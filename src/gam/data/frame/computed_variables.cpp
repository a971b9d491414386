// SPDX-License-Identifier: Apache-2.0
#include "gam/data/frame/computed_variables.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/data/frame/column_statistics.hpp"
#include "gam/data/frame/factor_levels.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

// Rows evaluated together, so that their columns stay in the L1 cache.
constexpr std::size_t strip_rows = 1024;

void add_new(std::vector<std::string>& list, const std::string& one) {
  if (std::ranges::find(list, one) == list.end()) list.push_back(one);
}

bool has_text(std::span<const std::string> texts, const std::string& text) {
  return std::ranges::find(texts, text) != texts.end();
}

struct Program {
  std::vector<Expression::Step> steps;
  std::vector<const Variable*> columns;
};

/// Evaluates a program for rows from `begin` on. Thread-safe.
void evaluate(const Program& program, std::size_t begin, std::span<double> values) {
  std::vector<std::vector<double>> copies(program.columns.size());
  std::vector<const double*> columns(program.columns.size());
  for (std::size_t first = 0; first < values.size(); first += strip_rows) {
    const std::size_t count = std::min(strip_rows, values.size() - first);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const Variable& column = *program.columns[c];
      column.prepare_to_read(begin + first, begin + first + count);
      if (!column.factor) {
        columns[c] = column.numbers.rows(begin + first, begin + first + count, copies[c]).data();
        continue;
      }
      copies[c].resize(strip_rows);
      const std::int32_t* const codes = column.codes.data() + begin + first;
      std::transform(codes, codes + count, copies[c].begin(), [](std::int32_t code) {
        return code == Variable::missing ? std::numeric_limits<double>::quiet_NaN()
                                         : static_cast<double>(code);
      });
      columns[c] = copies[c].data();
    }
    evaluate_steps(program.steps, columns, values.subspan(first, count));
  }
}

class FrameKnowledge final : public Knowledge {
 public:
  FrameKnowledge(const Workers& workers, Frame& frame, const FrameRequest& request)
      : workers_(workers), frame_(frame), request_(request) {}

  [[nodiscard]] const Variable& column(const std::string& name) const {
    return frame_.at(column_expression(name).text);
  }

  [[nodiscard]] ValueType type_of(const std::string& name) override {
    const Recipe* const recipe = request_.recipe;
    if (recipe != nullptr) {
      const auto known = std::ranges::find(recipe->columns, name, &Recipe::Column::name);
      if (known != recipe->columns.end()) return note(*known);
    }
    const Variable& variable = column(name);
    Recipe::Column found{.name = name, .type = {}};
    if (variable.factor) {
      const bool made =
          has_text(request_.options.factors, name) ||
          std::ranges::any_of(request_.given_levels, [&](const auto& given) { return given.column == name; });
      found.type.kind =
          !made && all_truth_values(variable.levels) ? ValueType::Kind::logical : ValueType::Kind::factor;
      found.type.ordered = variable.ordered;
      found.type.levels = variable.levels;
    }
    return note(found);
  }

  /// *Collective* at the first request of a statistic.
  [[nodiscard]] std::vector<double> measured(const Statistic& statistic) override {
    auto& own = frame_.recipe.measured;
    const auto& known = request_.recipe != nullptr ? request_.recipe->measured : own;
    const auto found = std::ranges::find(known, statistic.call, &Measured::first);
    if (found != known.end()) return found->second;
    if (request_.recipe != nullptr)
      throw base::input_error("the model does not store the value of {}: fit the model again",
                              statistic.call);
    Program operand{statistic.steps, {}};
    for (const std::string& name : statistic.columns) operand.columns.push_back(&column(name));
    own.emplace_back(
        statistic.call,
        statistic_of(workers_, frame_.rows, request_.options.block_rows, statistic,
                     [&](std::size_t begin, std::span<double> values) { evaluate(operand, begin, values); }));
    return own.back().second;
  }

 private:
  using Measured = std::pair<std::string, std::vector<double>>;

  ValueType note(const Recipe::Column& column) {
    if (std::ranges::find(frame_.recipe.columns, column.name, &Recipe::Column::name) ==
        frame_.recipe.columns.end())
      frame_.recipe.columns.push_back(column);
    return column.type;
  }

  const Workers& workers_;
  Frame& frame_;
  const FrameRequest& request_;
};

class FrameComputer {
 public:
  FrameComputer(const Workers& workers, Frame columns, const FrameRequest& request)
      : workers_(workers), in_(std::move(columns)), request_(request), knowledge_(workers, in_, request) {}

  Frame run() {
    for (const FrameRequest::GivenLevels& given : request_.given_levels) give_levels(given);
    for (ColumnReading& reading : in_.columns) reading.unseen = 0;
    std::vector<std::size_t> columns;
    for (const Expression& expression : request_.variables) {
      const bool known =
          std::ranges::any_of(out_.variables, [&](const Variable& v) { return v.name == expression.text; });
      if (known) continue;
      const bool as_it_stands = expression.is_column() && !expression.computed();
      if (as_it_stands) columns.push_back(out_.variables.size());
      out_.variables.push_back(as_it_stands ? Variable{} : computed(expression));
      out_.variables.back().name = expression.text;
    }
    choose_subset();
    // All expressions are computed: the columns may be moved.
    for (const std::size_t v : columns)
      out_.variables[v] = std::move(in_.variables[at(in_.index_of(out_.variables[v].name))]);
    for (Variable& variable : out_.variables) mark_complete(variable);
    refuse_infinity();
    count_complete();
    for (Variable& variable : out_.variables) {
      if (variable.factor) settle_levels(variable);
    }
    for (const Expression& column : request_.columns)
      out_.variables.push_back(std::move(in_.variables[at(in_.index_of(column.text))]));
    out_.file_rows = in_.file_rows;
    out_.rows = in_.rows;
    out_.complete = std::move(in_.complete);
    out_.columns.insert(out_.columns.begin(), in_.columns.begin(), in_.columns.end());
    out_.memory = in_.memory;
    out_.spilled = spilled();
    out_.recipe = std::move(in_.recipe);
    return std::move(out_);
  }

 private:
  /// *Collective.* Sizes over all ranks: of columns in scratch files, and of all columns and variables.
  [[nodiscard]] SpilledColumns spilled() const {
    std::array<std::int64_t, 2> bytes{in_.memory.spilled_bytes(), computed_bytes_};
    workers_.comm.allreduce(std::span<std::int64_t>(bytes), mpi::Reduction::sum);
    SpilledColumns all = in_.spilled;
    all.bytes = bytes[0];
    all.all_bytes += bytes[1];
    return all;
  }

  /// Sets the given levels of a column, and of factor() of the column.
  void give_levels(const FrameRequest::GivenLevels& given) {
    const std::string column = column_expression(given.column).text;
    const std::string factor = fmt::format("factor({})", column);
    for (Variable& variable : in_.variables) {
      if (variable.name != column && variable.name != factor) continue;
      variable.ordered = given.ordered;
      if (!given.levels.empty()) set_levels(variable, given.levels, Variable::missing);
      if (given.ordered && variable.name == column)
        static_cast<void>(knowledge_.type_of(given.column));  // records the type for predictions
    }
  }
  /// `other`: the code for values that are not in `levels`.
  void set_levels(Variable& variable, const std::vector<std::string>& levels, std::int32_t other) const {
    std::unordered_map<std::string_view, std::int32_t> code_of;
    for (const std::string& level : levels) code_of.emplace(level, static_cast<std::int32_t>(code_of.size()));
    std::vector<std::int32_t> codes;
    for (const std::string& level : variable.levels) {
      const auto found = code_of.find(level);
      codes.push_back(found == code_of.end() ? other : found->second);
    }
    recode(variable, codes);
    variable.levels = levels;
  }

  /// Replaces each code c by to[c]; negative codes are unchanged.
  void recode(Variable& variable, std::span<const std::int32_t> to) const {
    std::int32_t* const codes = variable.codes.writable();
    for_each_run(workers_, in_, [&](int /*thread*/, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (codes[i] >= 0) codes[i] = to[at(codes[i])];
      }
    });
  }

  [[nodiscard]] CompiledExpression compiled(const Expression& expression) {
    if (expression.computed()) {
      try {
        return compile(expression, knowledge_);
      } catch (const Error& fault) {
        // The fit has accepted the formula, so the table or the model's file is at fault.
        if (request_.recipe == nullptr || fault.code() != ErrorCode::usage) throw;
        throw Error(ErrorCode::input, fault.what());
      }
    }
    return {.steps = expression.steps, .columns = expression.columns(), .type = {}};
  }
  [[nodiscard]] Program program_of(const CompiledExpression& compiled) const {
    Program program{compiled.steps, {}};
    for (const std::string& name : compiled.columns) {
      program.columns.push_back(&knowledge_.column(name));
    }
    return program;
  }

  Variable computed(const Expression& expression) {
    CompiledExpression code = compiled(expression);
    const Program program = program_of(code);
    const std::size_t rows = in_.complete.size();
    Variable variable;
    variable.factor = code.type.kind == ValueType::Kind::factor || code.type.kind == ValueType::Kind::logical;
    if (variable.factor && has_text(request_.numeric, expression.text))
      throw Error(request_.recipe == nullptr ? ErrorCode::usage : ErrorCode::input,
                  fmt::format("{} has levels, but the model needs numbers: convert the column to numbers",
                              expression.text));
    if (!variable.factor) {
      if (!expression.computed()) require_numbers(program, expression);
      computed_bytes_ += static_cast<std::int64_t>(rows * sizeof(double));
      variable.numbers = in_.memory.column<double>(in_.memory.place<double>(rows));
      double* const numbers = variable.numbers.writable();
      for_each_run(workers_, in_, [&](int /*thread*/, std::size_t begin, std::size_t end) {
        evaluate(program, begin, {numbers + begin, end - begin});
        variable.numbers.release_written(begin, end);
      });
      return variable;
    }
    variable.ordered = code.type.ordered;
    variable.levels = code.type.kind == ValueType::Kind::logical ? std::vector<std::string>{"FALSE", "TRUE"}
                                                                 : std::move(code.type.levels);
    computed_bytes_ += static_cast<std::int64_t>(rows * sizeof(std::int32_t));
    variable.codes = in_.memory.column<std::int32_t>(in_.memory.place<std::int32_t>(rows));
    std::int32_t* const codes = variable.codes.writable();
    const bool logical = code.type.kind == ValueType::Kind::logical;
    for_each_run(workers_, in_, [&](int /*thread*/, std::size_t begin, std::size_t end) {
      std::vector<double> values(strip_rows);
      for (std::size_t first = begin; first < end; first += strip_rows) {
        const std::size_t count = std::min(strip_rows, end - first);
        evaluate(program, first, std::span(values).first(count));
        std::transform(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count), codes + first,
                       [logical](double value) {
                         if (std::isnan(value)) return Variable::missing;
                         return logical ? static_cast<std::int32_t>(value != 0)
                                        : static_cast<std::int32_t>(value);
                       });
      }
      variable.codes.release_written(begin, end);
    });
    return variable;
  }

  static void require_numbers(const Program& program, const Expression& expression) {
    for (const Variable* column : program.columns) {
      if (column->factor)
        throw base::input_error("{} has levels, but {} needs numbers: give a numeric column", column->name,
                                expression.text);
    }
  }

  /// As in R's model.frame, a row with a missing condition is dropped.
  void choose_subset() {
    if (!request_.subset) return;
    const Program program = program_of(compiled(*request_.subset));
    std::uint8_t* const complete = in_.complete.writable();
    const auto chosen = counts_over_rows(
        workers_, in_, 1, [&](std::span<std::int64_t> rows, std::size_t begin, std::size_t end) {
          std::vector<double> values(end - begin);
          evaluate(program, begin, values);
          for (std::size_t i = begin; i < end; ++i) {
            complete[i] = values[i - begin] != 0 && !std::isnan(values[i - begin]) ? 1 : 0;
            rows[0] += complete[i];
          }
        });
    out_.chosen_rows = chosen[0];
  }

  /// Marks rows without a value as incomplete, and records missing and unseen values for the log.
  void mark_complete(Variable& variable) {
    const bool unseen_is_complete = has_text(request_.unseen_is_complete, variable.name);
    const bool needs_finite = has_text(request_.left_out_if_infinite, variable.name);
    map_to_known_levels(variable);
    std::uint8_t* const complete = in_.complete.writable();
    const auto counts = counts_over_rows(
        workers_, in_, 2, [&](std::span<std::int64_t> rows, std::size_t begin, std::size_t end) {
          variable.prepare_to_read(begin, end);
          for (std::size_t i = begin; i < end; ++i) {
            const bool lacks = variable.factor ? variable.codes[i] == Variable::missing
                                               : std::isnan(variable.numbers[i]) ||
                                                     (needs_finite && std::isinf(variable.numbers[i]));
            const bool is_unseen = variable.factor && variable.codes[i] == Variable::unseen;
            rows[0] += lacks ? 1 : 0;
            rows[1] += is_unseen ? 1 : 0;
            if (lacks || (is_unseen && !unseen_is_complete)) complete[i] = 0;
          }
        });
    const auto reading = std::ranges::find(in_.columns, variable.name, &ColumnReading::variable);
    if (reading != in_.columns.end()) {
      reading->unseen = counts[1];
      return;
    }
    out_.columns.push_back({.name = variable.name,
                            .variable = variable.name,
                            .factor = variable.factor,
                            .missing = counts[0],
                            .unseen = counts[1],
                            .more_unseen = counts[1] > 0});
  }

  /// For predictions: replaces the codes by codes of the model's levels.
  void map_to_known_levels(Variable& variable) const {
    const auto known = std::ranges::find(request_.known_levels, variable.name,
                                         &std::pair<std::string, std::vector<std::string>>::first);
    if (variable.factor && known != request_.known_levels.end() && variable.levels != known->second)
      set_levels(variable, known->second, Variable::unseen);
  }

  void refuse_infinity() const {
    struct Infinite {
      std::int64_t row = std::numeric_limits<std::int64_t>::max();
      std::string name;
    };
    std::vector<Infinite> first(at(workers_.team.size()));
    for_each_run(workers_, in_, [&](int thread, std::size_t begin, std::size_t end) {
      for (const Variable& variable : out_.variables) {
        if (variable.factor || has_text(request_.unbounded, variable.name)) continue;
        for (std::size_t i = begin; i < end; ++i) {
          const std::int64_t row = in_.rows.begin + static_cast<std::int64_t>(i);
          if (!std::isinf(variable.numbers[i]) || in_.complete[i] == 0 || row >= first[at(thread)].row)
            continue;
          first[at(thread)] = {row, variable.name};
          break;
        }
      }
    });
    together(workers_.comm, [&] {
      const Infinite& one = *std::ranges::min_element(first, {}, &Infinite::row);
      if (one.name.empty()) return;
      throw base::input_error("{} is infinite in data row {}: leave the row out or make the value NA",
                              one.name, one.row + 1);
    });
  }

  void count_complete() {
    out_.complete_rows = counts_over_rows(
        workers_, in_, 1, [&](std::span<std::int64_t> rows, std::size_t begin, std::size_t end) {
          rows[0] += std::count(in_.complete.data() + begin, in_.complete.data() + end, std::uint8_t{1});
        })[0];
  }

  /// Drops levels without a complete row, unless levels are known or the request keeps unused levels.
  void settle_levels(Variable& variable) {
    const bool known = std::ranges::any_of(request_.known_levels,
                                           [&](const auto& one) { return one.first == variable.name; });
    if (!known && !request_.keeps_unused_levels) {
      const auto all =
          counts_over_rows(workers_, in_, variable.levels.size(),
                           [&](std::span<std::int64_t> rows, std::size_t begin, std::size_t end) {
                             for (std::size_t i = begin; i < end; ++i) {
                               if (in_.complete[i] != 0 && variable.codes[i] >= 0)
                                 ++rows[at(variable.codes[i])];
                             }
                           });
      std::vector<std::int32_t> codes;
      std::vector<std::string> levels;
      for (std::size_t i = 0; i < all.size(); ++i) {
        codes.push_back(all[i] != 0 ? static_cast<std::int32_t>(levels.size()) : Variable::missing);
        if (all[i] != 0) levels.push_back(variable.levels[i]);
      }
      if (levels.size() < variable.levels.size()) {
        recode(variable, codes);
        variable.levels = std::move(levels);
      }
    }
    for (auto* readings : {&in_.columns, &out_.columns}) {
      const auto reading = std::ranges::find(*readings, variable.name, &ColumnReading::variable);
      if (reading == readings->end()) continue;
      reading->levels = std::ssize(variable.levels);
      reading->first = variable.levels.empty() ? std::string() : variable.levels.front();
    }
  }

  const Workers& workers_;
  Frame in_;
  const FrameRequest& request_;
  FrameKnowledge knowledge_;
  Frame out_;
  std::int64_t computed_bytes_ = 0;
};

}  // namespace

bool has_computed_variables(const FrameRequest& request) {
  return request.subset || request.keeps_unused_levels || !request.given_levels.empty() ||
         request.recipe != nullptr || std::ranges::any_of(request.variables, &Expression::computed);
}

FrameRequest columns_of(const FrameRequest& request) {
  FrameRequest columns;
  columns.options = request.options;
  columns.units = request.units;
  columns.memory = request.memory;
  columns.taker = request.taker;
  columns.every_row = true;
  std::vector<std::string> names;  // columns read directly
  const auto read = [&](const Expression& expression) {
    if (expression.is_column() && !expression.computed()) {
      columns.variables.push_back(expression);
      if (has_text(request.numeric, expression.text)) add_new(columns.numeric, expression.text);
      return;
    }
    const bool all_numeric = !expression.computed();
    for (const std::string& name : expression.columns()) {
      columns.variables.push_back(column_expression(name));
      if (all_numeric || has_text(expression.numeric, name))
        add_new(columns.numeric, columns.variables.back().text);
    }
    columns.more_bytes_per_row += sizeof(double);
  };
  for (const Expression& expression : request.variables) read(expression);
  if (request.subset) read(*request.subset);
  for (const auto& [name, levels, ordered] : request.given_levels) {
    const char* const what = ordered ? "ordered factor" : "levels of";
    const bool used = std::ranges::any_of(
        columns.variables, [&name = name](const Expression& one) { return one.columns().front() == name; });
    if (!used)
      throw base::usage_error(
          "{} '{}': the formula does not use a column of this name: leave the name out, or correct the name",
          what, name);
    if (has_text(columns.numeric, column_expression(name).text))
      throw base::usage_error("{} '{}': the model needs numbers in this column: leave its levels out", what,
                              name);
    // As in a model, levels that look like numbers are compared as numbers.
    if (are_number_levels(levels)) {
      add_new(columns.options.factors, name);
    } else {
      std::erase(columns.options.factors, name);
      add_new(columns.texts, column_expression(name).text);
    }
  }
  if (request.recipe != nullptr) {
    for (const Recipe::Column& column : request.recipe->columns) {
      const std::string text = column_expression(column.name).text;
      if (column.type.kind == ValueType::Kind::number)
        add_new(columns.numeric, text);
      else
        columns.known_levels.emplace_back(text, column.type.levels);
    }
  }
  for (const auto& known : request.known_levels) {
    const bool is_column = std::ranges::any_of(
        columns.variables, [&](const Expression& one) { return one.text == known.first; });
    const bool there =
        std::ranges::any_of(columns.known_levels, [&](const auto& one) { return one.first == known.first; });
    if (is_column && !there) columns.known_levels.push_back(known);
  }
  return columns;
}

Frame computed_frame(const Workers& workers, Frame columns, const FrameRequest& request) {
  return FrameComputer(workers, std::move(columns), request).run();
}

}  // namespace TESSERA_NAMESPACE::gam
