// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/kernel_compiler.hpp>
#include <tessera/device/module.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::inline TESSERA_ABI {

/// Who compiles, and where the code is kept.
struct ModuleCacheOptions {
  /// Null: NVRTC, opened when something is asked for and called when it has to be compiled.
  std::shared_ptr<KernelCompiler> compiler;
  /// Where code is kept between runs; not given: `default_module_directories()`; empty: nowhere.
  std::optional<std::filesystem::path> directory;
  /// Most that each folder may have; not given: $TESSERA_CACHE_MIB, or 256 MiB.
  std::optional<std::int64_t> most_bytes = std::nullopt;
};

/// Where code is looked for, and kept in the first that can be written: $XDG_CACHE_HOME/tessera, or else
/// $HOME/.cache/tessera if there is such a HOME; then $TMPDIR/tessera-UID, or /tmp/tessera-UID, which nobody
/// else may read or write. $TESSERA_CACHE_DIR stands in place of all of them; set to nothing, nothing is
/// kept.
[[nodiscard]] TESSERA_EXPORT std::vector<std::filesystem::path> default_module_directories();

/// Kernels compiled where they run: each source once for each kind of device, in this run and the next.
///
///     ModuleCache cache;
///     const Module& module = cache.load(square, context.info().capability);
///     launch(module.kernel("square"), {blocks}, {256}, 0, context.stream(), x, n);
///
/// Code is kept in memory, by source and compute capability, and on disk in files that any number of ranks
/// and nodes may share: a file is written under another name and then renamed, so it is there whole or not
/// at all. Its name is the SHA-256 of its key (source, headers, options, the device's capability, the
/// versions of compiler and Tessera), and it carries the key, which is compared, and a SHA-256 of its own:
/// what is torn, corrupt or another's is compiled anew and replaced. So is a file that is not this user's or
/// root's, or that others may write to. Each folder is bounded: what has not been used for longest goes when
/// a file is written. `stored_modules()` shows what there is. A folder that cannot be written, because the
/// disk is full or read-only, is not an error: code is then kept in memory alone, and `disk()` says why.
///
/// All members are thread-safe; of several threads that want the same one compiles and the others wait.
/// What is returned by reference stays as long as the cache.
class TESSERA_EXPORT ModuleCache {
 public:
  /// Counts since the cache was made.
  struct Statistics {
    std::int64_t compiles = 0;     ///< calls of the compiler, failed ones included
    std::int64_t memory_hits = 0;  ///< found in this process
    std::int64_t disk_hits = 0;    ///< found on disk
    std::int64_t adopted = 0;      ///< handed in by `adopt`
    std::int64_t rejected = 0;     ///< files that were torn, corrupt or another's
  };
  /// Whether code is kept between runs.
  struct Disk {
    std::filesystem::path directory;  ///< of the last file, or else the first choice; empty: nowhere
    std::string problem;              ///< why the last file could not be written anywhere; empty if it could
  };

  explicit ModuleCache(ModuleCacheOptions options = {});
  ~ModuleCache();
  ModuleCache(ModuleCache&&) noexcept;
  ModuleCache& operator=(ModuleCache&&) noexcept;

  /// Code for devices of this capability, or why there is none; a failure is kept, too. Needs no GPU.
  /// Throws `Error(usage)` if the source has no text. Blocks. Cost: a second or so to compile, a millisecond
  /// from disk, tens of microseconds from memory.
  [[nodiscard]] const CompileOutcome& compile(const ModuleSource& source, ComputeCapability capability);

  /// Keeps what was compiled elsewhere, by another rank say, in memory. The first one counts, but code takes
  /// the place of a failure.
  void adopt(const ModuleSource& source, ComputeCapability capability, CompileOutcome outcome);

  /// `compile`, and the code loaded into this process, once. A device of this capability must be current.
  /// Throws `Error(job_fault)` with the compiler's or the driver's reason.
  [[nodiscard]] const Module& load(const ModuleSource& source, ComputeCapability capability);

  [[nodiscard]] Statistics statistics() const;
  [[nodiscard]] Disk disk() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::inline TESSERA_ABI
