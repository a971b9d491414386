// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/run/compiled_fits.hpp"

#include "gam/family/family.hpp"

#include <tessera/device/module_cache.hpp>
#include <tessera/mpi/communicator.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// A stand-in for a kernel compiler. Its "code" in the module cache marks that the real compiler, of the same
/// version, has compiled the fit's kernels.
class Marker : public KernelCompiler {
 public:
  Marker(std::string compiler, bool has_compiled)
      : version_("marks of " + std::move(compiler)), has_compiled_(has_compiled) {}

  std::string version() override { return version_; }
  std::string target_for(ComputeCapability /*capability*/) override { return "mark"; }
  CompileOutcome compile(const ModuleSource& /*source*/, const std::string& target) override {
    if (has_compiled_) return CompiledModule{target, "compiled", {}};
    return CompileFailure{target, "not compiled yet", {}};
  }

 private:
  std::string version_;
  bool has_compiled_;
};

/// Whether this rank's cache has the mark of a fit; with `has_compiled`, leaves the mark there.
bool find_mark(const Job& job, const FormulaTerms& formula, const FitOptions& options, bool has_compiled) {
  const ModuleCacheOptions& modules = job.options().modules;
  const auto compiler = modules.compiler ? modules.compiler : nvrtc_compiler();
  ModuleCache marks(
      {std::make_shared<Marker>(compiler->version(), has_compiled), modules.directory, modules.max_bytes});
  const ModuleSource fit{.name = "kernels of a fit",
                         .text = formula.text + '\n' + options.family.definition().full_text() + '\n' +
                                 options.weights + '\n' + options.offset,
                         .headers = {},
                         .options = {}};
  const ComputeCapability capability = job.inventory().devices().front().capability;
  return std::holds_alternative<CompiledModule>(marks.compile(fit, capability));
}

bool drives_first_device(const Job& job) {
  return job.inventory().devices().front().rank == job.comm().rank();
}

}  // namespace

bool has_compiled(const Job& job, const FormulaTerms& formula, const FitOptions& options) {
  const bool found = drives_first_device(job) && find_mark(job, formula, options, false);
  return job.comm().allreduce(std::int64_t{found}, mpi::Reduction::max) > 0;
}

void mark_as_compiled(const Job& job, const FormulaTerms& formula, const FitOptions& options) {
  if (drives_first_device(job)) (void)find_mark(job, formula, options, true);
}

}  // namespace TESSERA_NAMESPACE::gam
