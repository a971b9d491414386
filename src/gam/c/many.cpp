// SPDX-License-Identifier: Apache-2.0
#include "gam/c/call.hpp"
#include "gam/c/handles.hpp"
#include "gam/c/structures.hpp"

#include <tessera/gam/curves.hpp>
#include <tessera/gam/many.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace TESSERA_NAMESPACE::gam::c {
namespace {

template <class Value>
std::span<const Value> in_place(const void* values, std::size_t count, const char* name) {
  require_possible(count, name);
  if (count > 0) require(values, name);
  return {static_cast<const Value*>(values), count};
}

NumbersInPlace numbers_of(const tessera_gam_responses& given) {
  const auto of = [&](auto type) -> NumbersInPlace {
    return in_place<decltype(type)>(given.values, given.value_count, "values");
  };
  switch (given.value_type) {
    case TESSERA_GAM_FLOAT64: return of(double{});
    case TESSERA_GAM_FLOAT32: return of(float{});
    case TESSERA_GAM_INT8: return of(std::int8_t{});
    case TESSERA_GAM_UINT8: return of(std::uint8_t{});
    case TESSERA_GAM_INT16: return of(std::int16_t{});
    case TESSERA_GAM_UINT16: return of(std::uint16_t{});
    case TESSERA_GAM_INT32: return of(std::int32_t{});
    case TESSERA_GAM_UINT32: return of(std::uint32_t{});
    case TESSERA_GAM_INT64: return of(std::int64_t{});
    case TESSERA_GAM_UINT64: return of(std::uint64_t{});
    default:
      refuse(fmt::format("unknown value_type {}: give a value of tessera_gam_number", given.value_type));
  }
}

IndicesInPlace indices_of(const tessera_gam_responses& given, const void* indices, std::size_t count,
                          const char* name) {
  switch (given.index_type) {
    case TESSERA_GAM_INT32: return in_place<std::int32_t>(indices, count, name);
    case TESSERA_GAM_INT64: return in_place<std::int64_t>(indices, count, name);
    default:
      refuse(fmt::format("unknown index_type {}: give TESSERA_GAM_INT32 or TESSERA_GAM_INT64",
                         given.index_type));
  }
}

tessera_gam_responses read_responses(const tessera_gam_responses* given, const char* name) {
  return read_structure(given, tessera_gam_responses TESSERA_GAM_RESPONSES, name);
}

ResponseMatrix matrix_of(const tessera_gam_responses& given) {
  if (given.rows < 0 || given.columns < 0)
    refuse("responses has a negative number of rows or columns: give 0 or more");
  ResponseMatrix matrix;
  require_possible(given.name_count, "names");
  if (given.name_count > 0) require(given.names, "names");
  for (std::size_t i = 0; i < given.name_count; ++i)
    matrix.names.push_back(text_of(given.names[i], "a response's name"));
  const NumbersInPlace values = numbers_of(given);
  switch (given.layout) {
    case TESSERA_GAM_DENSE:
      matrix.elements = DenseMatrix{values, given.rows, given.columns, given.row_stride, given.column_stride};
      return matrix;
    case TESSERA_GAM_CSR:
    case TESSERA_GAM_CSC: {
      const bool by_columns = given.layout == TESSERA_GAM_CSC;
      const auto runs = static_cast<std::size_t>(by_columns ? given.columns : given.rows);
      matrix.elements = SparseMatrix{values,
                                     indices_of(given, given.indices, given.value_count, "indices"),
                                     indices_of(given, given.begins, runs + 1, "begins"),
                                     given.rows,
                                     given.columns,
                                     by_columns};
      return matrix;
    }
    default: refuse(fmt::format("unknown layout {}: give a value of tessera_gam_layout", given.layout));
  }
}

void set_matrix(const tessera_gam_responses& given, std::string& path,
                std::optional<ResponseMatrix>& matrix) {
  if (given.path == nullptr) {
    matrix = matrix_of(given);
    return;
  }
  if (given.table != 0 || given.values != nullptr || given.name_count > 0)
    refuse("responses are given both by path and in memory: set either path, or table, values and names");
  path = given.path;  // any bytes: a path need not be UTF-8
}

/// Sets the weights or offsets of the responses.
void set_row_values(const tessera_gam_responses* given, const char* name, std::string& path,
                    std::optional<ResponseMatrix>& matrix) {
  if (given == nullptr) return;
  const tessera_gam_responses beside = read_responses(given, name);
  if (beside.table != 0 || beside.weights != nullptr || beside.offsets != nullptr)
    refuse(fmt::format("{} must contain only a matrix: set table, weights and offsets to 0", name));
  set_matrix(beside, path, matrix);
}

/// Numeric columns become computed columns of the answer, factors become kept columns.
Answer answer_of(std::vector<Table::Column> columns, std::int64_t rows) {
  Answer answer{.table = {.plan = Plan::over_hosts(rows, 1), .table_rows = rows}};
  for (Table::Column& column : columns) {
    if (auto* const numbers = std::get_if<std::vector<double>>(&column.values))
      answer.table.columns.push_back({std::move(column.name), std::move(*numbers)});
    else
      answer.table.kept.push_back(std::move(column));
  }
  return answer;
}

/// With covariances, the answer keeps `results`, for models of single responses and curves.
Answer answer_of_fits(ManyResults results) {
  const std::int64_t rows = results.summary.responses;
  if (!results.shared) return answer_of(std::move(results.fits), rows);
  Answer answer = answer_of(results.fits, rows);
  answer.many = std::make_shared<const ManyResults>(std::move(results));
  return answer;
}

void require_models(const Answer& fits) {
  if (!fits.many) refuse("the answer has no models: give the fits of many responses with covariances");
}

/// Implements a function of the curves of `fits`: `compute(job, results, options)` returns its table.
template <class Options, class Compute>
int curves_in(const char* function, tessera_gam_answer fits, const tessera_gam_call* call,
              tessera_gam_answer* answer, const Compute& compute) {
  return status_of(function, [&] {
    require(answer, "answer");
    const auto of = object_of<Answer>(fits);
    require_models(*of);
    Call given(call);
    Options options;
    JobOptions job_options;
    given.read_all(function, options, job_options);
    job_options.policy = Policy::cpu;
    Answer found;
    given.run(job_options, [&](Job& job, FitObserver*) { found.table = compute(job, *of->many, options); });
    *answer = handle_of(std::move(found));
  });
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::c

namespace gam = tessera::gam;
namespace c = tessera::gam::c;

int tessera_gam_fit_many(const char* formula, tessera_gam_table covariates,
                         const tessera_gam_responses* responses, const tessera_gam_call* call,
                         tessera_gam_answer* fits, tessera_gam_answer* tests) {
  constexpr const char* function = "tessera_gam_fit_many";
  return c::status_of(
      function,
      [&] {
        c::require(responses, "responses");
        c::require(fits, "fits");
        const std::string terms = c::text_of(formula, "formula");
        const auto rows = c::object_of<gam::Table>(covariates);
        const tessera_gam_responses given_responses = c::read_responses(responses, "responses");
        c::Call given(call);
        gam::Responses source;
        gam::ManyOptions options;
        tessera::JobOptions job_options;
        const auto comm = given.take_communicator();
        given.read_all(function, options, source, job_options);
        if (given_responses.table != 0 && given_responses.path == nullptr)
          source.table = *c::object_of<gam::Table>(given_responses.table);
        else
          c::set_matrix(given_responses, source.path, source.matrix);
        c::set_row_values(given_responses.weights, "weights", source.weights, source.weights_matrix);
        c::set_row_values(given_responses.offsets, "offsets", source.offsets, source.offsets_matrix);
        std::optional<gam::ManyResults> found;
        const auto fit = [&](tessera::Job& job, gam::FitObserver* observer) {
          found = gam::fit_many(job, terms, *rows, source, options, observer);
        };
        if (comm)
          given.run_over(*comm, job_options, fit);
        else
          given.run(job_options, fit);
        tessera_gam_answer tested = 0;
        if (tests != nullptr)
          tested = c::handle_of(c::answer_of(std::move(found->tests), found->summary.responses));
        *fits = c::handle_of(c::answer_of_fits(std::move(*found)));
        if (tests != nullptr) *tests = tested;
      },
      formula != nullptr ? formula : "");
}

int tessera_gam_many_model(tessera_gam_answer fits, const char* response, tessera_gam_model* model) {
  return c::status_of("tessera_gam_many_model", [&] {
    c::require(model, "model");
    const std::string name = c::text_of(response, "response");
    const auto of = c::object_of<c::Answer>(fits);
    c::require_models(*of);
    *model = c::handle_of(gam::model_of(*of->many, name));
  });
}

int tessera_gam_many_curves(tessera_gam_answer fits, const tessera_gam_call* call,
                            tessera_gam_answer* answer) {
  return c::curves_in<gam::CurveTestOptions>("tessera_gam_many_curves", fits, call, answer,
                                             [](auto&... of) { return gam::test_curves(of...); });
}

int tessera_gam_many_curve_values(tessera_gam_answer fits, const tessera_gam_call* call,
                                  tessera_gam_answer* answer) {
  return c::curves_in<gam::CurveValueOptions>("tessera_gam_many_curve_values", fits, call, answer,
                                              [](auto&... of) { return gam::curve_values(of...); });
}
