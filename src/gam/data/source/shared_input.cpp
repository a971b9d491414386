// SPDX-License-Identifier: Apache-2.0
#include "gam/data/source/shared_input.hpp"

#include "base/errors.hpp"

#include <tessera/job/together.hpp>

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{4} << 20;

/// A host name in Linux, with its terminating zero.
using HostName = std::array<char, 65>;

HostName host_name() {
  HostName name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) name[0] = '?';
  return name;
}

struct OpenedFile {
  files::FileState file;
  HostName host{};
};

/// Compares inode, size and modification time in nanoseconds and, within a node, the device. Nodes may have
/// different device numbers for a shared file system, e.g. NFS. Files that agree in the first three come
/// from the same write.
bool same_file(const OpenedFile& a, const OpenedFile& b) {
  return a.file.inode == b.file.inode && a.file.size == b.file.size &&
         a.file.written_ns == b.file.written_ns && (a.file.device == b.file.device || a.host != b.host);
}

/// The lowest rank for each different file.
std::vector<std::size_t> first_of_each(const std::vector<OpenedFile>& all) {
  std::vector<std::size_t> firsts;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (std::none_of(firsts.begin(), firsts.end(),
                     [&](std::size_t first) { return same_file(all[first], all[rank]); }))
      firsts.push_back(rank);
  }
  return firsts;
}

[[noreturn]] void refuse_difference(const std::string& path, std::size_t rank, const HostName& first_host,
                                    const HostName& host, std::string_view difference) {
  throw base::input_error(
      "{}: rank 0 (on {}) and rank {} (on {}) have different files of this name{}: start again once the same "
      "complete file is on every node",
      path, first_host.data(), rank, host.data(), difference);
}

std::uint32_t crc_of(const files::InputFile& file, const tessera::mpi::Communicator& comm,
                     const BetweenReads& between) {
  std::vector<char> buffer(buffer_bytes);
  auto crc = static_cast<std::uint32_t>(::crc32_z(0, nullptr, 0));
  std::size_t got = buffer.size();
  for (std::int64_t at = 0; got == buffer.size(); at += static_cast<std::int64_t>(got)) {
    comm.alive();  // prevents a timeout of the waiting ranks
    if (between) between();
    got = file.read_at(at, buffer);
    crc = static_cast<std::uint32_t>(::crc32_z(crc, reinterpret_cast<const Bytef*>(buffer.data()), got));
  }
  return crc;
}

}  // namespace

void require_same_content(const tessera::mpi::Communicator& comm, const std::string& path,
                          std::string_view checksum) {
  const std::vector<std::string> all = comm.allgather_text(checksum);
  const auto other =
      std::find_if(all.begin(), all.end(), [&](const std::string& one) { return one != all[0]; });
  if (other == all.end()) return;
  const auto rank = static_cast<std::size_t>(other - all.begin());
  const std::vector<HostName> hosts = comm.allgather(host_name());
  refuse_difference(path, rank, hosts[0], hosts[rank], "");
}

SharedTable::SharedTable(const tessera::mpi::Communicator& comm, const files::InputFile& file,
                         const BetweenReads& between)
    : file_(&file), opened_{} {
  together(comm, [&] { opened_ = file.state(); });
  const std::vector<OpenedFile> all = comm.allgather(OpenedFile{opened_, host_name()});
  const std::vector<std::size_t> firsts = first_of_each(all);
  if (firsts.size() == 1) return;

  const auto refuse = [&](std::size_t rank, std::string_view difference) {
    refuse_difference(file.path(), rank, all[0].host, all[rank].host, difference);
  };
  for (const std::size_t rank : firsts) {
    if (all[rank].file.size != all[0].file.size)
      refuse(rank, fmt::format(", of {} and {} bytes", all[0].file.size, all[rank].file.size));
  }
  std::uint32_t crc = 0;
  together(comm, [&] {
    const auto rank = static_cast<std::size_t>(comm.rank());
    if (std::find(firsts.begin(), firsts.end(), rank) != firsts.end()) crc = crc_of(file, comm, between);
  });
  const std::vector<std::uint32_t> crcs = comm.allgather(crc);
  for (const std::size_t rank : firsts) {
    if (crcs[rank] != crcs[0]) refuse(rank, ", with different content");
  }
}

void SharedTable::require_unchanged(const tessera::mpi::Communicator& comm) const {
  bool changed = false;
  together(comm, [&] { changed = file_->state() != opened_; });
  const auto nobody = std::numeric_limits<std::int32_t>::max();
  const auto first = comm.allreduce<std::int32_t>(changed ? comm.rank() : nobody, mpi::Reduction::min);
  if (first == nobody) return;
  const HostName host = comm.allgather(host_name())[static_cast<std::size_t>(first)];
  throw base::input_error(
      "{}: another program wrote to the file while rank {} on {} read it: start again when no program writes "
      "to it, or give a copy of the file",
      file_->path(), first, host.data());
}

}  // namespace TESSERA_NAMESPACE::gam
