// SPDX-License-Identifier: Apache-2.0
// model_bits: fits the reference cases, families with several linear predictors, and many models of each
// family, on the CPU, and prints for each its name and a checksum of all its numbers.
#include "base/hash.hpp"
#include "base/vectors.hpp"
#include "support/fit_support.hpp"
#include "support/reference_case.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <tessera/gam/many.hpp>
#include <tessera/tessera.hpp>
#include <variant>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

namespace fs = std::filesystem;
const std::string data = TESSERA_TEST_DATA;

void print_text(const mpi::Communicator& comm, const std::string& name, const std::string& text) {
  if (comm.rank() == 0) std::printf("%s %s\n", name.c_str(), base::hex(base::fnv1a(text)).c_str());
}

void print_bits(const mpi::Communicator& comm, const std::string& name, const Model& model) {
  print_text(comm, name, testing::text_of(comm, model));
}

/// Many models of 200 rows, with responses that each family has.
void print_many(const mpi::Communicator& comm, Job& job) {
  constexpr int rows = 200;
  constexpr int responses = 12;
  std::uint64_t state = 1;
  const auto drawn = [&] { return static_cast<double>(base::split_mix(state++) >> 11) * 0x1p-53; };
  std::vector<double> x(rows);
  Factor group{{}, {"a", "b"}};
  for (double& value : x) {
    value = drawn();
    group.codes.push_back(drawn() < 0.5 ? 0 : 1);
  }
  std::vector<double> counts(std::size_t{rows} * responses);
  for (std::size_t i = 0; i < counts.size(); ++i)
    counts[i] = std::floor((1 + 6 * x[i / responses] * x[i / responses]) / (0.2 + drawn()));
  const Table table{Plan::over_hosts(rows, 1), {{"x", x}, {"g", group}}};
  for (const std::string name :
       {"nb", "poisson", "binomial", "gaussian", "gamma", "quasipoisson", "quasibinomial"}) {
    std::vector<double> values = counts;
    for (double& value : values) {
      if (name.ends_with("binomial")) value = value > 5 ? 1 : 0;
      if (name == "gamma") value += 0.5;
    }
    const DenseMatrix matrix{std::span<const double>(values), rows, responses, responses, 1};
    const ManyResults all = fit_many(job, "s(x, by = g, k = 6) + g", table,
                                     {.matrix = ResponseMatrix{matrix}}, {.family = family(name)});
    std::string numbers;
    for (const Table::Column& column : all.fits) {
      if (const auto* own = std::get_if<std::vector<double>>(&column.values))
        numbers.append(reinterpret_cast<const char*>(own->data()), own->size() * sizeof(double));
    }
    print_text(comm, "many_" + name, numbers);
  }
}

void print_all(const mpi::Communicator& comm) {
  Job job = testing::cpu_job(comm, 1);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(data + "/reference")) {
    if (fs::exists(entry.path() / "fitted.csv.gz")) names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  for (const std::string& name : names) {
    const testing::ReferenceCase one = testing::load_reference_case(name);
    const FitOptions options = testing::options_of(one);
    print_bits(comm, name,
               fit(job, parse_formula(one.formula), testing::in_blocks(one.data_path, 256), options).model);
  }
  std::ifstream file(data + "/several/several.json");
  for (const nlohmann::json& one : nlohmann::json::parse(file)) {
    const Formula formula = parse_formula(one.at("formula").get<std::string>());
    const FitOptions options{.family = family(one.at("family").get<std::string>())};
    print_bits(comm, one.at("name"),
               fit(job, formula, testing::in_blocks(data + "/several/data.csv", 40), options).model);
  }
  print_many(comm, job);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam

int main(int argc, char** argv) {
  try {
    const tessera::mpi::Session session(argc, argv, tessera::mpi::launched_runtime());
    std::fprintf(stderr, "rank %d computes by %s\n", session.world().rank(),
                 tessera::base::instruction_set());
    tessera::gam::print_all(session.world());
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "model_bits: %s\n", failure.what());
    return 1;
  }
}
