// SPDX-License-Identifier: Apache-2.0
#include "gam/c/call.hpp"
#include "gam/c/handles.hpp"
#include "gam/c/shared_rows.hpp"
#include "gam/data/require_memory.hpp"

#include <tessera/gam/gam.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace TESSERA_NAMESPACE::gam::c {
namespace {

/// Reads the options, runs `compute` in a CPU job, and returns a handle of the result.
template <class... Options>
tessera_gam_answer answer_of(const char* function, const tessera_gam_call* given,
                             FunctionRef<Predictions(Job& job, FitObserver* observer)> compute,
                             Options&... options) {
  Call call(given);
  JobOptions job_options;
  call.read_all(function, job_options, options...);
  job_options.policy = Policy::cpu;
  std::optional<Predictions> answer;
  call.run(job_options, [&](Job& job, FitObserver* observer) { answer = compute(job, observer); });
  return handle_of(Answer{std::move(*answer)});
}

/// Appends the codes of further rows. New levels are added to `all`.
void append(Factor& all, const Factor& part) {
  std::vector<std::int32_t> codes;
  for (const std::string& level : part.levels) {
    const auto known = std::ranges::find(all.levels, level);
    codes.push_back(static_cast<std::int32_t>(known - all.levels.begin()));
    if (known == all.levels.end()) all.levels.push_back(level);
  }
  for (const std::int32_t code : part.codes)
    all.codes.push_back(code < 0 ? code : codes[static_cast<std::size_t>(code)]);
}

void append(std::optional<Predictions>& all, const Predictions& part) {
  if (!all) {
    all = part;
    return;
  }
  for (std::size_t c = 0; c < part.columns.size(); ++c) {
    const std::vector<double>& values = part.columns[c].values;
    all->columns[c].values.insert(all->columns[c].values.end(), values.begin(), values.end());
  }
  for (std::size_t c = 0; c < part.kept.size(); ++c) {
    auto& kept = all->kept[c].values;
    if (auto* const factor = std::get_if<Factor>(&kept)) {
      append(*factor, std::get<Factor>(part.kept[c].values));
      continue;
    }
    const auto& values = std::get<std::vector<double>>(part.kept[c].values);
    auto& numbers = std::get<std::vector<double>>(kept);
    numbers.insert(numbers.end(), values.begin(), values.end());
  }
}

/// *Collective.* Broadcasts the model from rank 0.
Model known_everywhere(const mpi::Communicator& comm, const Model& model) {
  if (comm.size() == 1) return model;
  const bool is_root = comm.rank() == 0;
  const std::string text = comm.broadcast_text(is_root ? to_json(model) : std::string(), 0);
  return is_root ? model : model_from_json(text);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::c

namespace gam = tessera::gam;
namespace c = tessera::gam::c;
using tessera::Job;

int tessera_gam_fit(const char* formula, tessera_gam_table table, const tessera_gam_call* call,
                    tessera_gam_model* model) {
  constexpr const char* function = "tessera_gam_fit";
  return c::status_of(
      function,
      [&] {
        c::require(model, "model");
        const gam::Formula parsed = gam::parse_formula(c::text_of(formula, "formula"));
        const auto rows = c::object_of<gam::Table>(table);
        c::Call given(call);
        gam::FitOptions options;
        tessera::JobOptions job_options;
        const auto comm = given.take_communicator();
        given.read_all(function, options, job_options);
        std::optional<gam::Model> fitted;
        const auto fit = [&](Job& job, gam::FitObserver* observer) {
          std::optional<gam::Table> shared;
          if (!rows->in_files() && !job.comm().is_serial()) shared = c::shared_rows(job, *rows);
          const gam::FitResult result = gam::fit(job, parsed, shared ? *shared : *rows, options, observer);
          fitted = c::known_everywhere(job.comm(), result.model);
          // A converged model needs no checkpoint: more iterations would not change it.
          if (result.checkpoint && fitted->converged()) result.checkpoint->remove();
        };
        if (comm)
          given.run_over(*comm, job_options, fit);
        else
          given.run(job_options, fit);
        *model = c::handle_of(*fitted);
      },
      formula != nullptr ? formula : "");
}

int tessera_gam_crossing_rows(const tessera_gam_model* models, size_t count, tessera_gam_table table,
                              const tessera_gam_call* call, int64_t* rows) {
  constexpr const char* function = "tessera_gam_crossing_rows";
  return c::status_of(function, [&] {
    c::require(rows, "rows");
    const std::vector<gam::Model> all = c::models_of(models, count);
    const auto of = c::object_of<gam::Table>(table);
    c::Call given(call);
    tessera::JobOptions options;
    given.read_all(function, options);
    options.policy = tessera::Policy::cpu;
    given.run(options, [&](Job& job, gam::FitObserver*) { *rows = gam::crossing_rows(job, all, *of); });
  });
}

int tessera_gam_predict(tessera_gam_model model, tessera_gam_table table, const tessera_gam_call* call,
                        tessera_gam_answer* answer) {
  constexpr const char* function = "tessera_gam_predict";
  return c::status_of(function, [&] {
    c::require(answer, "answer");
    const auto of = c::object_of<gam::Model>(model);
    const auto rows = c::object_of<gam::Table>(table);
    c::Call given(call);
    gam::PredictOptions options;
    tessera::JobOptions job_options;
    given.read_all(function, options, job_options);
    std::optional<gam::Predictions> predicted;
    given.run(job_options, [&](Job& job, gam::FitObserver* observer) {
      predicted = gam::predict(job, *of, *rows, options, observer);
    });
    *answer = c::handle_of(c::Answer{std::move(*predicted)});
  });
}

int tessera_gam_check(tessera_gam_model model, tessera_gam_table table, const tessera_gam_call* call,
                      int32_t form, const char** text, size_t* length) {
  constexpr const char* function = "tessera_gam_check";
  return c::status_of(function, [&] {
    c::require_form(form, text);
    const auto of = c::object_of<gam::Model>(model);
    const auto rows = c::object_of<gam::Table>(table);
    c::Call given(call);
    gam::CheckOptions options;
    tessera::JobOptions job_options;
    given.read_all(function, options, job_options);
    job_options.policy = tessera::Policy::cpu;
    gam::Check found;
    given.run(job_options, [&](Job& job, gam::FitObserver* observer) {
      found = gam::check(job, *of, *rows, options, observer);
    });
    c::give(c::report_in(
                form, [&] { return gam::check_text(found, options); },
                [&] { return gam::check_json(found, options); }),
            text, length);
  });
}

int tessera_gam_residuals(tessera_gam_model model, tessera_gam_table table, const tessera_gam_call* call,
                          tessera_gam_answer* answer) {
  constexpr const char* function = "tessera_gam_residuals";
  return c::status_of(function, [&] {
    c::require(answer, "answer");
    const auto of = c::object_of<gam::Model>(model);
    const auto rows = c::object_of<gam::Table>(table);
    gam::ResidualOptions options;
    *answer = c::answer_of(
        function, call,
        [&](Job& job, gam::FitObserver* observer) {
          return gam::residuals(job, *of, *rows, options, observer);
        },
        options);
  });
}

int tessera_gam_smooths(tessera_gam_model model, const tessera_gam_call* call, tessera_gam_answer* answer) {
  constexpr const char* function = "tessera_gam_smooths";
  return c::status_of(function, [&] {
    c::require(answer, "answer");
    const auto of = c::object_of<gam::Model>(model);
    gam::SmoothOptions options;
    *answer = c::answer_of(
        function, call, [&](Job& job, gam::FitObserver*) { return gam::smooth_estimates(job, *of, options); },
        options);
  });
}

int tessera_gam_derivatives(tessera_gam_model model, const tessera_gam_call* call,
                            tessera_gam_answer* answer) {
  constexpr const char* function = "tessera_gam_derivatives";
  return c::status_of(function, [&] {
    c::require(answer, "answer");
    const auto of = c::object_of<gam::Model>(model);
    gam::DerivativeOptions options;
    *answer = c::answer_of(
        function, call, [&](Job& job, gam::FitObserver*) { return gam::derivatives(job, *of, options); },
        options);
  });
}

int tessera_gam_level_differences(tessera_gam_model model, const tessera_gam_call* call,
                                  tessera_gam_answer* answer) {
  constexpr const char* function = "tessera_gam_level_differences";
  return c::status_of(function, [&] {
    c::require(answer, "answer");
    const auto of = c::object_of<gam::Model>(model);
    gam::SmoothOptions options;
    *answer = c::answer_of(
        function, call,
        [&](Job& job, gam::FitObserver*) { return gam::level_differences(job, *of, options); }, options);
  });
}

int tessera_gam_table_differences(tessera_gam_model model, tessera_gam_table minuend,
                                  tessera_gam_table subtrahend, const tessera_gam_call* call,
                                  tessera_gam_answer* answer) {
  constexpr const char* function = "tessera_gam_table_differences";
  return c::status_of(function, [&] {
    c::require(answer, "answer");
    const auto of = c::object_of<gam::Model>(model);
    const auto first = c::object_of<gam::Table>(minuend);
    const auto second = c::object_of<gam::Table>(subtrahend);
    gam::PredictOptions options;
    *answer = c::answer_of(
        function, call,
        [&](Job& job, gam::FitObserver*) {
          return gam::table_differences(job, *of, *first, *second, options);
        },
        options);
  });
}

int tessera_gam_simulate_coefficients(tessera_gam_model model, const tessera_gam_call* call,
                                      tessera_gam_answer* answer) {
  constexpr const char* function = "tessera_gam_simulate_coefficients";
  return c::status_of(function, [&] {
    c::require(answer, "answer");
    const auto of = c::object_of<gam::Model>(model);
    gam::SimulateOptions options;
    *answer = c::answer_of(
        function, call,
        [&](Job& job, gam::FitObserver*) { return gam::simulate_coefficients(job, *of, options); }, options);
  });
}

int tessera_gam_simulate_smooths(tessera_gam_model model, const tessera_gam_call* call,
                                 tessera_gam_answer* answer) {
  constexpr const char* function = "tessera_gam_simulate_smooths";
  return c::status_of(function, [&] {
    c::require(answer, "answer");
    const auto of = c::object_of<gam::Model>(model);
    gam::SimulateOptions options;
    gam::SmoothOptions smooths;
    *answer = c::answer_of(
        function, call,
        [&](Job& job, gam::FitObserver*) { return gam::simulate_smooths(job, *of, options, smooths); },
        options, smooths);
  });
}

int tessera_gam_simulate_responses(tessera_gam_model model, tessera_gam_table table,
                                   const tessera_gam_call* call, tessera_gam_answer* answer) {
  constexpr const char* function = "tessera_gam_simulate_responses";
  return c::status_of(function, [&] {
    c::require(answer, "answer");
    const auto of = c::object_of<gam::Model>(model);
    const auto rows = c::object_of<gam::Table>(table);
    gam::SimulateOptions options;
    *answer = c::answer_of(
        function, call,
        [&](Job& job, gam::FitObserver* observer) {
          std::optional<gam::Predictions> all;
          std::vector<std::string> remarks = gam::simulate_responses(
              job, *of, *rows,
              [&](const gam::Predictions& part) {
                if (!all)
                  gam::require_memory(
                      job.comm(), static_cast<double>(part.table_rows) * options.draws,
                      fmt::format("{} draws of {} responses", options.draws, part.table_rows));
                c::append(all, part);
              },
              options, observer);
          all->remarks = std::move(remarks);
          return std::move(*all);
        },
        options);
  });
}

int tessera_gam_slice(tessera_gam_model model, const char* at, tessera_gam_table* table,
                      const char** typical) {
  return c::status_of("tessera_gam_slice", [&] {
    c::require(table, "table");
    const auto of = c::object_of<gam::Model>(model);
    const std::vector<gam::ChosenValues> chosen = gam::chosen_values(c::text_of(at, "at"));
    tessera::JobOptions options;
    options.policy = tessera::Policy::cpu;
    const Job job(tessera::mpi::Communicator::serial(), options);
    gam::DataSlice slice = gam::data_slice(job, *of, chosen);
    *table = c::handle_of(std::move(slice.table));
    if (typical != nullptr) c::give(std::move(slice.typical), typical);
  });
}
