// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/fit_state.hpp"
#include "base/errors.hpp"
#include "gam/options/deciding_options.hpp"

#include "base/hash.hpp"
#include "gam/data/bytes/byte_source.hpp"
#include "gam/data/memory/memory_table.hpp"
#include "gam/data/table_source.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>
#include <tessera/version.hpp>

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "files/json_file.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

/// The hash of a large file reads evenly spread pieces: their size in bytes, and their number.
constexpr std::int64_t sample_bytes = std::int64_t{1} << 16;
constexpr std::int64_t samples = 64;
/// Upper limit of a valid number of iterations: incrementing it must not overflow.
constexpr int max_iterations = std::numeric_limits<int>::max() / 2;

std::uint64_t hash_of_samples(ByteSource& source, std::int64_t file_bytes) {
  std::vector<char> buffer(static_cast<std::size_t>(sample_bytes));
  std::uint64_t hash = base::fnv1a_start;
  const std::int64_t last = std::max<std::int64_t>(0, file_bytes - sample_bytes);
  for (std::int64_t i = 0; i < samples; ++i) {
    // Divides first: the product would overflow for a file of exabytes.
    source.seek(std::min(last, last / (samples - 1) * i + last % (samples - 1) * i / (samples - 1)));
    const std::size_t got = source.read(buffer);
    hash = base::fnv1a({buffer.data(), got}, hash);
    if (last == 0) break;
  }
  return hash;
}

/// The fingerprint without the data.
Fingerprint fingerprint_of(const FormulaTerms& formula, const FitOptions& options,
                           const TableOptions& table) {
  Fingerprint print{{"program", fmt::format("tessera-fit {}", tessera::version())},
                    {"formula", formula.text}};
  for (const auto& deciding : {deciding_options(options), deciding_options(table)})
    print.insert(print.end(), deciding.begin(), deciding.end());
  return print;
}

}  // namespace

std::string to_text(const FitState& state) {
  auto past = nlohmann::ordered_json::array();
  for (const PastStep& one : state.course.past) past.push_back({{"coef", one.coef}, {"step", one.step}});
  return nlohmann::ordered_json{{"iteration", state.iteration},
                                {"deviance", state.deviance},
                                {"place", state.hardware},
                                {"fallback", state.why_on_cpu},
                                {"log_sp", state.log_sp},
                                {"parameters", state.parameters},
                                {"coef", state.coef},
                                {"past", past},
                                {"phase", static_cast<int>(state.course.phase)},
                                {"best",
                                 {{"coef", state.course.best.coef},
                                  {"log_sp", state.course.best.log_sp},
                                  {"parameters", state.course.best.parameters},
                                  {"criterion", state.course.best.criterion}}},
                                {"untried", state.course.untried},
                                {"known", state.course.known},
                                {"steps", state.course.steps},
                                {"step", state.course.step},
                                {"from_sample", state.course.from_sample}}
      .dump();
}

FitState state_from(std::string_view text, const std::string& path) {
  try {
    const files::JsonFile file = files::JsonFile::parsed(text, path, "the state of a fit");
    const files::JsonField json = file.root();
    FitState state;
    state.iteration = json.at("iteration").whole(0, max_iterations);
    state.deviance = json.at("deviance").number();
    state.hardware = json.at("place").text();
    state.why_on_cpu = json.at("fallback").text();
    state.log_sp = json.at("log_sp").numbers();
    state.parameters = json.at("parameters").numbers();
    state.coef = json.at("coef").numbers();
    for (const files::JsonField& one : json.at("past").elements())
      state.course.past.push_back({one.at("coef").numbers(), one.at("step").numbers()});
    state.course.phase = static_cast<Phase>(json.at("phase").whole(0, static_cast<int>(Phase::returning)));
    const files::JsonField best = json.at("best");
    state.course.best = {best.at("coef").numbers(), best.at("log_sp").numbers(),
                         best.at("parameters").numbers(), best.at("criterion").number()};
    for (const files::JsonField& one : json.at("untried").elements())
      state.course.untried.push_back(one.numbers());
    state.course.known = json.at("known").numbers();
    state.course.steps = json.at("steps").whole(0, max_iterations);
    state.course.step = json.at("step").number();
    state.course.from_sample = json.at("from_sample").truth();
    return state;
  } catch (const Error& fault) {
    throw base::input_error("{}: remove this checkpoint file to start the fit again", fault.what());
  }
}

void check_state(const FitState& state, const Design& design, const Family& family, const std::string& path) {
  const auto coefficients = static_cast<std::size_t>(design.coef_size);
  const auto check = [&](std::size_t found, std::size_t expected, const char* what) {
    if (found == expected) return;
    throw base::input_error("the checkpoint {} has {} {}, but the model has {}: remove this checkpoint file",
                            path, found, what, expected);
  };
  check(state.coef.size(), coefficients, "coefficients");
  check(state.log_sp.size(), design.penalty_count(), "smoothing parameters");
  check(state.parameters.size(), family.parameters().size(), "parameters of the family");
  if (!family.at(state.parameters).parameters_are_valid())
    throw base::input_error(
        "the checkpoint {} has parameters that are invalid for the family {}: remove this checkpoint file",
        path, family.name());
  for (const PastStep& one : state.course.past) {
    check(one.coef.size(), coefficients, "coefficients of a step");
    check(one.step.size(), coefficients, "coefficients of a step");
  }
  for (const auto& one : state.course.untried)
    check(one.size(), design.penalty_count(), "smoothing parameters of a minimum");
  if (state.course.phase == Phase::settling) return;
  check(state.course.best.coef.size(), coefficients, "coefficients of a solution");
  check(state.course.best.log_sp.size(), design.penalty_count(), "smoothing parameters of a solution");
  check(state.course.best.parameters.size(), family.parameters().size(), "parameters of a solution");
}

std::string hardware_of(const Job& job) {
  if (job.on_host()) return hardware_of_host;
  std::set<std::string> kinds;
  for (const InventoryDevice& device : job.inventory().devices()) {
    kinds.insert(fmt::format("{} ({}.{})", device.name, device.capability.major, device.capability.minor));
  }
  return fmt::format("{}", fmt::join(kinds, ", "));
}

void add_identity(Fingerprint& print, std::string_view what, const std::vector<ListedFile>& all) {
  const files::FileState file = state_of(all);
  constexpr std::int64_t second = 1'000'000'000;
  print.insert(print.end(),
               {{fmt::format("size of {}", what), fmt::format("{} bytes", file.size)},
                {fmt::format("time of {}", what),
                 fmt::format("{}.{:09d} s", file.written_ns / second, file.written_ns % second)}});
  if (all.size() > 1)
    print.push_back({fmt::format("files of {}", what), base::hex(file.inode)});
  else
    print.push_back({fmt::format("sample of {}", what),
                     base::hex(hash_of_samples(*open_plain(all.front().path), file.size))});
}

Fingerprint fingerprint_of(const Workers& workers, const Table& data, const FormulaTerms& formula,
                           const FitOptions& options, std::optional<files::FileState>& looked_at) {
  Fingerprint print = fingerprint_of(formula, options, source_of(data).options);
  if (data.in_files()) {
    looked_at.emplace();
    together(workers.comm, [&] {
      if (workers.comm.rank() != 0) return;
      const std::vector<ListedFile> all = list_files(data.paths);
      looked_at.emplace(state_of(all));
      add_identity(print, "the data", all);
    });
    return print;
  }
  print.insert(print.end(), {{"rows of the data", std::to_string(data.plan.units())},
                             {"values of the data", base::hex(hash_of(workers, data))}});
  return print;
}

}  // namespace TESSERA_NAMESPACE::gam
