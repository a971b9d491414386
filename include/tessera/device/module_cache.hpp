// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/kernel_compiler.hpp>
#include <tessera/device/module.hpp>
#include <tessera/held.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE {

/// The compiler and the storage of a module cache.
struct ModuleCacheOptions {
  /// Null: NVRTC, opened at the first lookup.
  std::shared_ptr<KernelCompiler> compiler;
  /// Folder of the disk cache. Not given: `default_module_directories()`. Empty: there is no disk cache.
  std::optional<std::string> directory;
  /// Maximum size of each folder. Not given: $TESSERA_CACHE_MIB, or 256 MiB.
  std::optional<std::int64_t> max_bytes = std::nullopt;
  /// Folder of precompiled modules, which need no compiler. Not given: the folder that is installed with the
  /// library. Empty: none.
  std::optional<std::string> library = std::nullopt;
};

/// The folders of the disk cache: $XDG_CACHE_HOME/tessera, or else $HOME/.cache/tessera if HOME exists; then
/// $TMPDIR/tessera-UID, or /tmp/tessera-UID, accessible to this user only. All of them are searched; new
/// files go to the first folder that is writable. $TESSERA_CACHE_DIR replaces all of them; if it is set but
/// empty, there is no disk cache.
[[nodiscard]] TESSERA_EXPORT std::vector<std::string> default_module_directories();

/// A cache of kernels that are compiled at run time, in memory and on disk: each source is compiled once for
/// each compute capability, also across runs. Tessera's own kernels are precompiled.
///
///     ModuleCache cache;
///     const Module& module = cache.load(square, context.info().capability);
///     launch(module.kernel("square"), {blocks}, {256}, 0, context.stream(), x, n);
///
/// Any number of ranks and nodes may share the files: a file is written under a temporary name and renamed,
/// so it is visible only when complete. A file's name is a hash of its key (source, headers, options, the
/// device's capability, the versions of compiler and Tessera). The file also contains the key, which every
/// read compares, and a hash of the content. Code is compiled again, and its file replaced, if the file is
/// truncated, corrupt or of another key, belongs neither to this user nor to root, or can be written by other
/// users. The size of each folder is bounded: writing a file evicts the least recently used ones. A folder
/// that cannot be written, because the disk is full or read-only, is not an error: code is then cached in
/// memory only, and `disk()` has the reason.
///
/// All members are thread-safe; if several threads need the same module, one thread compiles and the other
/// threads wait. References remain valid for the lifetime of the cache.
class TESSERA_EXPORT ModuleCache {
 public:
  /// Counts since construction.
  struct Statistics {
    std::int64_t library_hits = 0;  ///< precompiled modules
    std::int64_t compiles = 0;      ///< calls of the compiler, failed ones included
    std::int64_t memory_hits = 0;   ///< modules found in memory
    std::int64_t disk_hits = 0;     ///< modules found on disk
    std::int64_t adopted = 0;       ///< outcomes added by `adopt`
    std::int64_t rejected = 0;      ///< lookups that met a file to be replaced (see above), and no usable one
  };
  /// The state of the disk cache.
  struct Disk {
    std::string directory;  ///< folder of the last write; before it, the first choice; empty: no disk cache
    std::string problem;    ///< why the last write failed; empty if it succeeded
  };

  explicit ModuleCache(ModuleCacheOptions options = {});
  ~ModuleCache();
  ModuleCache(ModuleCache&&) noexcept;
  ModuleCache& operator=(ModuleCache&&) noexcept;

  /// Compiled code for devices of this capability, or the failure, which is cached too. Needs no GPU. Throws
  /// `Error(usage)` if the source has no text. Blocks. Cost: about a second to compile, a millisecond from
  /// disk, tens of microseconds from memory.
  [[nodiscard]] const CompileOutcome& compile(const ModuleSource& source, ComputeCapability capability);

  /// Whether the code is precompiled or on disk, so that `compile` does not compile it.
  [[nodiscard]] bool has(const ModuleSource& source, ComputeCapability capability) const;

  /// Adds the outcome of another compilation, such as another rank's, to the memory cache. An existing
  /// outcome is kept, unless it is a failure and the new one is not.
  void adopt(const ModuleSource& source, ComputeCapability capability, CompileOutcome outcome);

  /// Calls `compile`, and loads the code into this process, once. A device of this capability must be
  /// current. Throws `Error(job_fault)` with the compiler's or the driver's reason.
  [[nodiscard]] const Module& load(const ModuleSource& source, ComputeCapability capability);

  [[nodiscard]] Statistics statistics() const;
  [[nodiscard]] Disk disk() const;

 private:
  struct State;
  detail::Held<std::unique_ptr<State>, "ModuleCache"> state_;
};

}  // namespace TESSERA_NAMESPACE
