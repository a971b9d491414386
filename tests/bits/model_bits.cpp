// SPDX-License-Identifier: Apache-2.0
// model_bits: fits the reference cases, and families with several linear predictors, on the CPU, and prints
// for each its name and a checksum of all numbers of its model.
#include "base/vectors.hpp"
#include "support/fit_support.hpp"
#include "support/reference_case.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

namespace fs = std::filesystem;
const std::string data = TESSERA_TEST_DATA;

void print_bits(const mpi::Communicator& comm, const std::string& name, const Model& model) {
  const std::string text = testing::text_of(comm, model);
  if (comm.rank() == 0)
    std::printf("%s %016zx\n", name.c_str(), std::hash<std::string>()(text));  // of the whole file
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
    FitOptions options = testing::options_of(one);
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
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam

int main(int argc, char** argv) {
  try {
    const tessera::mpi::Session session(argc, argv);
    std::fprintf(stderr, "rank %d computes by %s\n", session.world().rank(),
                 tessera::base::instruction_set());
    tessera::gam::print_all(session.world());
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "model_bits: %s\n", failure.what());
    return 1;
  }
}
