// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "files/output_stream.hpp"
#include "gam/model/overwrite.hpp"
#include "gam/table/convert_table.hpp"
#include "gam/table/hdf5/hdf5_writer.hpp"
#include "predictions_file.hpp"
#include "progress.hpp"

#include <tessera/gam/predict.hpp>

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <tessera/tessera.hpp>
#include <utility>
#include <vector>

#include "common/file_name.hpp"
#include "files/output_file.hpp"
#include "files/standard_error.hpp"

namespace tessera::gam {
namespace {

template <class Value>
using Named = std::pair<const char*, Value>;

constexpr std::array<Named<PredictionType>, 5> types{{{"link", PredictionType::link},
                                                      {"response", PredictionType::response},
                                                      {"terms", PredictionType::terms},
                                                      {"iterms", PredictionType::iterms},
                                                      {"lpmatrix", PredictionType::lpmatrix}}};
constexpr std::array<Named<NewLevels>, 4> policies{{{"mgcv", NewLevels::mgcv},
                                                    {"population", NewLevels::population},
                                                    {"na", NewLevels::na},
                                                    {"error", NewLevels::error}}};

template <class List>
std::vector<std::string> names_of(const List& list) {
  std::vector<std::string> names;
  for (const auto& one : list) names.emplace_back(one.first);
  return names;
}

template <class List>
auto value_of(const List& list, const std::string& name) {
  return std::ranges::find(list, std::string_view(name),
                           [](const auto& one) { return std::string_view(one.first); })
      ->second;
}

/// The labels in "s(x),te(x,z)": commas within parentheses and quotes are part of one.
std::vector<std::string> labels_in(const std::vector<std::string>& lists) {
  std::vector<std::string> labels;
  for (const std::string& list : lists) {
    labels.emplace_back();
    int depth = 0;
    char quote = 0;
    for (const char c : list) {
      if (quote != 0) {
        quote = c == quote ? '\0' : quote;
      } else if (c == '"' || c == '\'' || c == '`') {
        quote = c;
      } else if (c == ',' && depth == 0) {
        labels.emplace_back();
        continue;
      }
      depth += quote != 0 ? 0 : c == '(' ? 1 : c == ')' ? -1 : 0;
      if (!(labels.back().empty() && c == ' ')) labels.back() += c;
    }
  }
  return labels;
}

}  // namespace

CLI::App* PredictCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand("predict", "Predict the rows of a table from a model");
  command->add_option("MODEL", model, "model.json of a fit")->required();
  command->add_option("DATA", data, "Table with the predictors of the formula")->required();
  command
      ->add_option(
          "--type", type,
          "link: the linear predictor; response: the mean; terms, iterms: what each term adds to the "
          "predictor; lpmatrix: the rows of the model matrix")
      ->check(CLI::IsMember(names_of(types)))
      ->capture_default_str();
  command
      ->add_option("--terms", terms,
                   "Only these terms, comma-separated, as the summary names them; (Intercept) is one")
      ->allow_extra_args(false);
  command
      ->add_option("--exclude", exclude, "Without these terms; the table needs no column that only they use")
      ->allow_extra_args(false);
  command
      ->add_option("--new-levels", new_levels,
                   "Levels that the fit had not: mgcv: random effects add 0, other terms are NA; population: "
                   "factor smooths add 0 too; na: all such terms are NA; error: an error")
      ->check(CLI::IsMember(names_of(policies)))
      ->capture_default_str();
  command->add_flag("--se", standard_errors, "Standard errors too");
  command->add_option("--interval", interval, "Ends of the credible interval of this probability, as 0.95");
  command->add_option(
      "--prediction-interval", prediction_interval,
      "With --type response: ends of the interval that has a new response with this probability");
  command->add_flag("--unconditional", unconditional,
                    "Standard errors and intervals with the uncertainty of the smoothing parameters");
  command->add_option("--keep", keep, "Columns of the table to carry along, comma-separated, or all")
      ->allow_extra_args(false);
  command->add_flag("--row-numbers", row_numbers, "A first column 'row', the number of the table's row");
  table.add_to(*command, false);
  device.add_to(*command);
  device_failure.add_to(*command);
  sharing.add_to(*command);
  command
      ->add_option("--threads", threads, "Host threads per rank; 0: from OMP_NUM_THREADS, Slurm or the cores")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  memory.add_to(*command, "--memory",
                "Memory limit per node for rows, such as 2G; a larger table is predicted in "
                "parts (default: 3/4 of free memory)");
  collective_timeout.add_to(*command);
  command
      ->add_option("--out", out, "CSV file, or a pipe; HDF5, if it ends in .h5 or .hdf5; -: standard output")
      ->check(apps::file_name())
      ->capture_default_str();
  return command;
}

PredictOptions PredictCommand::predict_options() const {
  PredictOptions options;
  options.type = value_of(types, type);
  options.standard_errors = standard_errors;
  if (!terms.empty()) options.terms = labels_in(terms);
  options.exclude = labels_in(exclude);
  options.new_levels = value_of(policies, new_levels);
  // Into HDF5 they are converted.
  options.keep_all = !is_hdf5() && keeps_all();
  if (!is_hdf5() && !keeps_all()) options.keep = labels_in(keep);
  options.interval = interval;
  options.prediction_interval = prediction_interval;
  options.unconditional = unconditional;
  options.node_bytes = memory.bytes();
  return options;
}

bool PredictCommand::keeps_all() const {
  return keep == std::vector<std::string>{"all"};
}

bool PredictCommand::is_hdf5() const {
  return out.ends_with(".h5") || out.ends_with(".hdf5");
}

int PredictCommand::run(mpi::Session& session) const {
  session.set_timeout(collective_timeout.value());
  const bool root = session.is_root();
  Progress progress(root, stderr);
  std::optional<Model> fitted;
  std::optional<files::OutputStream> csv;
  std::optional<files::OutputFile> hdf5;
  together(session.world(), [&] {
    if (root) refuse_to_overwrite({{"--out", out}}, {model, data}, {.model = model});
    fitted = load_model(model);
    // Open the output first, so that an error is found before the work.
    if (!root) return;
    if (!is_hdf5()) {
      csv.emplace(out);
      return;
    }
    hdf5.emplace(out);
    begin_hdf5(*hdf5);
  });
  JobOptions job_options;
  job_options.policy = device.policy();
  job_options.on_device_failure = device_failure.action();
  job_options.score_model = sharing.score_model();
  job_options.allow_sharing = sharing.allowed;
  job_options.threads = threads;
  job_options.collective_timeout = collective_timeout.value();
  Job job(session.world(), job_options);
  const PredictionsTarget target{csv ? &*csv : nullptr, hdf5 ? &*hdf5 : nullptr};
  // Columns of the table are converted as a whole, so that each has one type and one set of levels.
  if (is_hdf5() && !keep.empty())
    add_columns_to_hdf5(job,
                        {.from = data,
                         .options = table.options(),
                         .columns = keeps_all() ? std::vector<std::string>() : labels_in(keep)},
                        target.hdf5);
  PredictionsFile written(job.comm(), target, is_hdf5(), row_numbers);
  double constant = 0;
  const std::vector<std::string> remarks = predict_in_parts(
      job, *fitted, TableFile{data, table.options()},
      [&](const Predictions& part) {
        written.add(part);
        constant = part.constant;
      },
      predict_options(), &progress);
  if (root && (type == "terms" || type == "iterms"))
    files::say_line({"tessera-fit: ", fmt::format("the intercept, {:.17g}, is in no term", constant)});
  if (job.last_verdict().ran == Verdict::Ran::fallback) progress.note(to_string(job.last_verdict()));
  for (const std::string& remark : remarks) {
    if (root) files::say_line({"tessera-fit: ", remark});
  }
  written.commit();
  return EXIT_SUCCESS;
}

}  // namespace tessera::gam
