// SPDX-License-Identifier: Apache-2.0
// Compiles the library's CUDA modules during its build: build_modules FOLDER JOBS TARGET...
// Targets have NVRTC's names (sm_90, compute_120). Targets that the installed NVRTC does not know are
// skipped. No GPU is needed. Modules in FOLDER that are up to date are not compiled again.
#include "device/module_library.hpp"
#include "files/standard_error.hpp"
#include "gam/modules/built_in_modules.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <exception>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace tessera;

struct Step {
  const ModuleSource* source;
  std::string target;
};

ComputeCapability capability_of(const std::string& target) {
  int version = 0;
  const std::string_view digits = std::string_view(target).substr(target.find('_') + 1);
  (void)std::from_chars(digits.data(), digits.data() + digits.size(), version);
  return {version / 10, version % 10};
}

std::vector<Step> steps_of(const std::vector<ModuleSource>& modules,
                           const std::vector<std::string>& targets) {
  std::vector<Step> steps;
  for (const std::string& target : targets)
    for (const ModuleSource& module : modules) steps.push_back({&module, target});
  return steps;
}

/// File in the folder that records the version of the compiler.
constexpr const char* name_of_compiler = "compiler";

/// Creates the folder. Deletes existing content from another compiler version.
void begin_folder(const std::filesystem::path& folder, const std::string& compiler) {
  std::string known;
  std::ifstream file(folder / name_of_compiler);
  std::getline(file, known);
  if (known == compiler) return;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / name_of_compiler) << compiler << '\n';
}

int build(const std::filesystem::path& folder, int jobs, const std::vector<std::string>& wanted) {
  const auto compiler = nvrtc_compiler();
  if (compiler->version().empty()) {
    files::say_line({"there is no NVRTC here: kernels are compiled at run time"});
    std::filesystem::create_directories(folder);
    return 0;
  }
  std::vector<std::string> targets;
  for (const std::string& target : wanted) {
    const bool is_known =
        compiler->target_for(capability_of(target)) == "sm_" + target.substr(target.find('_') + 1);
    if (is_known)
      targets.push_back(target);
    else
      files::say_line({compiler->version(), " does not know ", target,
                       ": devices that need it compile their kernels at run time"});
  }
  const std::vector<ModuleSource> modules = gam::built_in_modules();
  const std::vector<Step> steps = steps_of(modules, targets);
  begin_folder(folder, compiler->version());
  std::set<std::filesystem::path> current{folder / name_of_compiler};
  for (const Step& step : steps) current.insert(ModuleLibrary::file_of(folder, *step.source, step.target));
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (!current.contains(entry.path())) std::filesystem::remove(entry.path());

  std::mutex printing;
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  const auto work = [&] {
    for (std::size_t i = next++; i < steps.size() && !failed; i = next++) {
      const auto& [source, target] = steps[i];
      if (std::filesystem::exists(ModuleLibrary::file_of(folder, *source, target))) continue;
      const CompileOutcome outcome = compiler->compile(*source, target);
      const auto* compiled = std::get_if<CompiledModule>(&outcome);
      if (compiled != nullptr && ModuleLibrary::write(folder, *source, *compiled)) continue;
      failed = true;
      const std::lock_guard lock(printing);
      const std::string why = compiled != nullptr ? "cannot write to " + folder.string()
                                                  : to_string(std::get<CompileFailure>(outcome));
      files::say_line({"build_modules: ", why});
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < jobs; ++i) threads.emplace_back(work);
  threads.clear();
  return failed ? 1 : 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) {
    files::say_line({"usage: build_modules FOLDER JOBS TARGET..."});
    return 2;
  }
  try {
    int jobs = 1;
    const std::string_view given = arguments[2];
    (void)std::from_chars(given.data(), given.data() + given.size(), jobs);
    return build(arguments[1], std::max(1, jobs), {arguments + 3, arguments + count});
  } catch (const std::exception& error) {
    files::say_line({"build_modules: ", error.what()});
    return 1;
  }
}
