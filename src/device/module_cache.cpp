// SPDX-License-Identifier: Apache-2.0
#include <tessera/device/module_cache.hpp>

#include "base/cancellation.hpp"
#include "base/signals_blocked.hpp"
#include "device/module_files.hpp"
#include "device/module_format.hpp"
#include "device/module_library.hpp"
#include "device/module_shelf.hpp"

#include <tessera/error.hpp>

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <list>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

namespace TESSERA_NAMESPACE {
namespace {

void check(const ModuleSource& source) {
  if (source.text.empty())
    throw Error(ErrorCode::usage, "module \"" + source.name + "\" has no source: set the source text");
}

/// The cached outcomes of one source for one compute capability.
struct Slot {
  std::mutex working;  ///< locked while the source is compiled or loaded
  /// The last outcome is current. Failures that `adopt` replaced stay here, because callers may hold
  /// references.
  std::list<CompileOutcome> outcomes;
  std::optional<Module> module;
};

/// Compilations that continue after their callers were cancelled, because NVRTC cannot be interrupted. They
/// are joined when the process exits, and before the library is unloaded.
class AbandonedCompilations {
 public:
  AbandonedCompilations() = default;
  ~AbandonedCompilations() {
    // A forked child has none of the threads: leak the futures instead of waiting for them.
    if (getpid() != process_)
      static_cast<void>(new std::vector<std::future<CompileOutcome>>(std::move(all_)));
  }
  AbandonedCompilations(const AbandonedCompilations&) = delete;
  AbandonedCompilations& operator=(const AbandonedCompilations&) = delete;

  void add(std::future<CompileOutcome> one) {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [](const auto& other) {
      return other.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    all_.push_back(std::move(one));
  }

 private:
  pid_t process_ = getpid();
  std::mutex mutex_;
  std::vector<std::future<CompileOutcome>> all_;
};

std::future<CompileOutcome> begin_to_compile(std::shared_ptr<KernelCompiler> compiler,
                                             const ModuleSource& source, const std::string& target) {
  const base::SignalsBlocked blocked;
  return std::async(std::launch::async, [compiler = std::move(compiler), source, target] {
    return compiler->compile(source, target);
  });
}

/// Compiles on a separate thread, so that a stop request ends the wait for the compiler.
CompileOutcome compile_cancellably(const std::shared_ptr<KernelCompiler>& compiler,
                                   const ModuleSource& source, const std::string& target) {
  static AbandonedCompilations abandoned;
  std::future<CompileOutcome> outcome = begin_to_compile(compiler, source, target);
  try {
    while (outcome.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready)
      base::check_cancelled();
  } catch (...) {
    abandoned.add(std::move(outcome));
    throw;
  }
  return outcome.get();
}

std::string name_of(ComputeCapability capability) {
  return std::to_string(capability.major) + "." + std::to_string(capability.minor);
}

std::vector<ModuleFolder> only(const std::string& directory) {
  if (directory.empty()) return {};
  return {{directory, {}, false}};
}

}  // namespace

std::vector<std::string> default_module_directories() {
  std::vector<std::string> directories;
  for (const ModuleFolder& folder : default_module_folders()) directories.push_back(folder.path);
  return directories;
}

namespace {

/// A module as stored on disk: a line with its target, and the image.
std::string packed(const CompiledModule& compiled) {
  return compiled.target + '\n' + compiled.image;
}

CompiledModule unpacked(const std::string& text) {
  const std::size_t line = text.find('\n');
  return {text.substr(0, line), text.substr(line + 1), {}};
}

}  // namespace

struct ModuleCache::State {
  explicit State(ModuleCacheOptions options)
      : compiler(options.compiler ? std::move(options.compiler) : nvrtc_compiler()),
        files(options.directory ? only(*options.directory) : default_module_folders(),
              options.max_bytes.value_or(module_cache_limit())),
        library(!options.library           ? installed_module_folders()
                : options.library->empty() ? std::vector<std::filesystem::path>()
                                           : std::vector<std::filesystem::path>{*options.library}) {}

  Slot& slot_of(const ModuleSource& source, ComputeCapability capability) {
    check(source);
    std::string key = key_of(source);
    const std::lock_guard lock(mutex);
    return slots[{std::move(key), capability}];
  }

  /// The caller holds `slot.working`.
  const CompileOutcome& outcome_of(Slot& slot, const ModuleSource& source, ComputeCapability capability) {
    if (!slot.outcomes.empty())
      ++memory_hits;
    else
      slot.outcomes.push_back(produce(source, capability));
    return slot.outcomes.back();
  }

  [[nodiscard]] std::string key_for(const ModuleSource& source, ComputeCapability capability) const {
    return to_text({name_of(capability), compiler->version(), version(), key_of(source)});
  }

  CompileOutcome produce(const ModuleSource& source, ComputeCapability capability) {
    if (auto built = library.find(source, capability)) {
      ++library_hits;
      return std::move(*built);
    }
    const std::string compiler_version = compiler->version();
    const std::string key = key_for(source, capability);
    ModuleFiles::Found found = files.read(key);
    if (found.text) {
      ++disk_hits;
      return unpacked(*found.text);
    }
    if (found.rejected) ++rejected;
    const std::string target = compiler->target_for(capability);
    if (!compiler_version.empty() && target.empty())
      return CompileFailure{
          {}, compiler_version + " has no target for compute capability " + name_of(capability), {}};
    ++compiles;
    CompileOutcome outcome = base::cancellation_check() ? compile_cancellably(compiler, source, target)
                                                        : compiler->compile(source, target);
    if (const auto* compiled = std::get_if<CompiledModule>(&outcome)) files.write(key, packed(*compiled));
    return outcome;
  }

  std::shared_ptr<KernelCompiler> compiler;
  ModuleFiles files;
  ModuleLibrary library;
  std::mutex mutex;
  std::map<std::pair<std::string, ComputeCapability>, Slot> slots;
  std::atomic<std::int64_t> library_hits = 0;
  std::atomic<std::int64_t> compiles = 0;
  std::atomic<std::int64_t> memory_hits = 0;
  std::atomic<std::int64_t> disk_hits = 0;
  std::atomic<std::int64_t> adopted = 0;
  std::atomic<std::int64_t> rejected = 0;
};

ModuleCache::ModuleCache(ModuleCacheOptions options) : state_(std::make_unique<State>(std::move(options))) {}
ModuleCache::~ModuleCache() = default;
ModuleCache::ModuleCache(ModuleCache&&) noexcept = default;
ModuleCache& ModuleCache::operator=(ModuleCache&&) noexcept = default;

const CompileOutcome& ModuleCache::compile(const ModuleSource& source, ComputeCapability capability) {
  Slot& slot = state_->slot_of(source, capability);
  const std::lock_guard lock(slot.working);
  return state_->outcome_of(slot, source, capability);
}

bool ModuleCache::has(const ModuleSource& source, ComputeCapability capability) const {
  check(source);
  return state_->library.find(source, capability) ||
         state_->files.read(state_->key_for(source, capability)).text;
}

void ModuleCache::adopt(const ModuleSource& source, ComputeCapability capability, CompileOutcome outcome) {
  Slot& slot = state_->slot_of(source, capability);
  const std::lock_guard lock(slot.working);
  const auto is_code = [](const CompileOutcome& of) { return std::holds_alternative<CompiledModule>(of); };
  if (!slot.outcomes.empty() && (is_code(slot.outcomes.back()) || !is_code(outcome))) return;
  slot.outcomes.push_back(std::move(outcome));
  ++state_->adopted;
}

const Module& ModuleCache::load(const ModuleSource& source, ComputeCapability capability) {
  Slot& slot = state_->slot_of(source, capability);
  const std::lock_guard lock(slot.working);
  if (slot.module) return *slot.module;
  const CompileOutcome& outcome = state_->outcome_of(slot, source, capability);
  if (const auto* failure = std::get_if<CompileFailure>(&outcome))
    throw Error(ErrorCode::job_fault, to_string(*failure));
  slot.module.emplace(source.name, std::get<CompiledModule>(outcome));
  return *slot.module;
}

ModuleCache::Statistics ModuleCache::statistics() const {
  return {.library_hits = state_->library_hits,
          .compiles = state_->compiles,
          .memory_hits = state_->memory_hits,
          .disk_hits = state_->disk_hits,
          .adopted = state_->adopted,
          .rejected = state_->rejected};
}

ModuleCache::Disk ModuleCache::disk() const {
  return {state_->files.directory(), state_->files.problem()};
}

}  // namespace TESSERA_NAMESPACE
