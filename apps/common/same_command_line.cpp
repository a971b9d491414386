// SPDX-License-Identifier: Apache-2.0
#include "common/same_command_line.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <tessera/error.hpp>

#include "base/hash.hpp"

namespace tessera::apps {
namespace {

/// Quotes an argument for a shell, so that different arguments give different lines.
std::string as_word(std::string_view argument) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!argument.empty() && argument.find_first_not_of(plain) == std::string_view::npos)
    return std::string(argument);
  std::string word = "'";
  for (const char c : argument) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace

void require_same_command_line(const mpi::Communicator& comm, const std::string& program, int argc,
                               char** argv) {
  std::string line = program;
  for (int i = 1; i < argc; ++i) line += ' ' + as_word(argv[i]);
  const std::uint64_t mine = base::fnv1a(line);
  std::array<std::uint64_t, 2> extremes{mine, ~mine};
  comm.allreduce(std::span<std::uint64_t>(extremes), mpi::Reduction::min);
  if (extremes[0] == ~extremes[1]) return;
  const auto lines = comm.allgather_text(line);
  const auto other = std::ranges::find_if(lines, [&](const auto& text) { return text != lines.front(); });
  throw Error(ErrorCode::usage, "rank 0 was started by \"" + lines.front() + "\" and rank " +
                                    std::to_string(other - lines.begin()) + " by \"" + *other +
                                    "\": give all ranks the same command line");
}

}  // namespace tessera::apps
