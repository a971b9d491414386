// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

/// A process pays for the start of CUDA once. To measure it again and again, tessera-bench runs itself as
/// `tessera-bench --child WHAT`, in a process that starts no MPI and prints the seconds that WHAT took.
namespace tessera::bench {

/// What a child can do.
namespace child {
inline constexpr const char* probe = "probe";                        ///< of the hardware, without CUDA
inline constexpr const char* cu_init = "cu-init";                    ///< cuInit alone
inline constexpr const char* contexts_in_turn = "contexts-in-turn";  ///< of all visible devices, after cuInit
inline constexpr const char* contexts_at_once = "contexts-at-once";  ///< the same, a thread each
inline constexpr const char* first_kernel = "first-kernel";  ///< cuInit to a kernel done on one device
}  // namespace child

/// Runs a child to its end. `visible` is its CUDA_VISIBLE_DEVICES; empty: it has none. `device` is the UUID
/// for `first_kernel`. Returns its seconds; nothing if it failed, for which it gives the reason on standard
/// error.
[[nodiscard]] std::optional<double> seconds_in_child(const std::string& what,
                                                     const std::optional<std::string>& visible,
                                                     const std::string& device = {});

struct Output {
  std::string text;
  int status = 0;
};
/// Runs a command of the shell to its end.
[[nodiscard]] Output output_of(const std::string& command);

/// True if these are the arguments of a child.
[[nodiscard]] bool is_child(int argc, char** argv);
/// The main function of a child: its exit status.
[[nodiscard]] int run_child(int argc, char** argv);

}  // namespace tessera::bench
