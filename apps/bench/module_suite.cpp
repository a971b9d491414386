// SPDX-License-Identifier: Apache-2.0
#include "module_suite.hpp"

#include "gam/design/build_design.hpp"
#include "gam/rows/kernel_source.hpp"
#include "simulated.hpp"

#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

namespace tessera::bench {
namespace {

namespace fs = std::filesystem;

/// The kernels of the fit of `name`. *Collective.*
ModuleSource kernels_of(const mpi::Communicator& comm, const std::string& name) {
  const SimulatedModel model = simulated_model(name);
  constexpr std::int64_t rows_per_rank = 1000;
  const std::int64_t begin = rows_per_rank * comm.rank();
  HostTeam alone(1);
  const gam::Frame frame = model.frame(rows_per_rank * comm.size(), {begin, begin + rows_per_rank}, alone);
  const gam::DesignDraft draft =
      gam::draft_design({comm, alone}, gam::parse_terms(model.formula()), frame, {});
  gam::Rows rows;
  rows.frame = &frame;
  rows.design = &draft.design;
  rows.family = model.family;
  const gam::RowLayout layout(draft.design);
  return gam::kernel_source(rows, layout, gam::CrossPlan(layout));
}

/// A folder for the length of the suite, of one name on every rank. *Collective.*
class Folder {
 public:
  explicit Folder(const mpi::Communicator& comm) {
    together(comm, [&] {
      if (comm.rank() != 0) return;
      std::string name = (fs::temp_directory_path() / "tessera-bench-XXXXXX").string();
      if (mkdtemp(name.data()) == nullptr)
        throw Error(ErrorCode::input, "no folder can be made in " + fs::temp_directory_path().string());
      path_ = name;
    });
    path_ = comm.broadcast_text(path_.string(), 0);
  }
  ~Folder() { empty(); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  /// On every node of the job: each rank looks after its own.
  void empty() const {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const noexcept { return path_; }

 private:
  fs::path path_;
};

/// Jobs that keep their kernels in a folder, on the GPUs, or on one simulated device a rank where there is
/// none: compiling needs no GPU.
class Jobs {
 public:
  Jobs(const mpi::Communicator& comm, const SuiteOptions& options, fs::path folder)
      : comm_(comm), options_(job_options(options)) {
    options_.modules.directory = std::move(folder);
    simulated_ = Job(comm, options_).on_host();
    if (simulated_) options_.policy = Policy::gpu;
  }

  [[nodiscard]] Job make() const {
    if (!simulated_) return Job(comm_, options_);
    setenv("TESSERA_SIMULATE", "*:H200", 1);
    Job job(comm_, options_);
    unsetenv("TESSERA_SIMULATE");
    return job;
  }

 private:
  const mpi::Communicator& comm_;
  JobOptions options_;
  bool simulated_ = false;
};

/// What one call takes on the slowest rank, in seconds. *Collective.*
double seconds_of_one(const mpi::Communicator& comm, const std::function<void()>& work) {
  std::chrono::duration<double> elapsed{};
  comm.barrier();
  together(comm, [&] {
    const auto start = std::chrono::steady_clock::now();
    work();
    elapsed = std::chrono::steady_clock::now() - start;
  });
  return comm.allreduce(elapsed.count(), mpi::Reduction::max);
}

void check(const CompileOutcome& outcome) {
  if (const auto* failure = std::get_if<CompileFailure>(&outcome))
    throw Error(ErrorCode::job_fault, to_string(*failure));
}

double seconds_to_compile(Job& job, const ModuleSource& source) {
  return seconds_of_one(job.comm(), [&] {
    for (const JobModule& module : job.compile(source)) check(module.outcome);
  });
}

/// What it would take if no rank knew of another, nor of an earlier run.
double seconds_of_all_ranks(const Job& job, const ModuleSource& source) {
  ModuleCache own({.compiler = nullptr, .directory = fs::path()});
  const ComputeCapability capability = job.inventory().devices().front().capability;
  return seconds_of_one(job.comm(), [&] { check(own.compile(source, capability)); });
}

std::vector<Measurement> run_module_suite(const mpi::Communicator& comm, const SuiteOptions& options) {
  const bool missing = nvrtc_compiler()->version().empty();
  if (comm.allreduce(missing ? 1 : 0, mpi::Reduction::max) != 0) {
    note(comm, "module", "NVRTC is not there");
    return {};
  }
  const Folder folder(comm);
  const Jobs jobs(comm, options, folder.path());
  std::vector<Measurement> all;
  for (const char* model : {"G4", "G10"}) {
    const ModuleSource source = kernels_of(comm, model);
    const std::string name = fmt::format("kernels of {}, {}", model, counted(comm.size(), "rank"));
    Measurement cold{"module", name, "compiled", "s", {}};
    Measurement disk{"module", name, "from disk", "s", {}};
    Measurement memory{"module", name, "from memory", "s", {}};
    Measurement peer{"module", name, "NVRTC on every rank", "s", {}};
    const auto keep = [](Measurement& measurement, int repeat, double seconds) {
      if (repeat >= 0) measurement.values.push_back(seconds);  // the first warms up
    };
    for (int repeat = -1; repeat < options.repeats.value_or(5); ++repeat) {
      folder.empty();
      {
        Job first = jobs.make();
        keep(cold, repeat, seconds_to_compile(first, source));
      }
      Job second = jobs.make();
      keep(disk, repeat, seconds_to_compile(second, source));
      keep(memory, repeat, seconds_to_compile(second, source));
      if (options.peer) keep(peer, repeat, seconds_of_all_ranks(second, source));
    }
    all.insert(all.end(), {cold, disk, memory});
    if (!options.peer) continue;
    all.push_back(peer);
    all.push_back(ratio_of(cold, peer));
    all.push_back(ratio_of(disk, peer));
  }
  return all;
}

}  // namespace

Suite module_suite() {
  return {"module",
          "The fit's kernels for a job: compiled, from disk and from memory, beside NVRTC on every rank",
          run_module_suite,
          {}};
}

}  // namespace tessera::bench
