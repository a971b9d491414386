// SPDX-License-Identifier: Apache-2.0
#include "base/errors.hpp"
#include "gam/data/bytes/byte_source.hpp"
#include "gam/data/list.hpp"
#include "gam/data/source/table_format.hpp"
#include "gam/data/source/table_reader.hpp"

#include <tessera/job/together.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <system_error>

namespace TESSERA_NAMESPACE::gam {
namespace {

struct FormatEntry {
  bool (*recognises)(ByteSource& bytes);
  std::unique_ptr<TableReader> (*open)(const Workers& workers, const std::string& path,
                                       const OpenOptions& options);
};

template <class... F>
constexpr auto entries_of(TableFormatList<F...> /*list*/) {
  return std::array{FormatEntry{&F::recognises, &F::open}...};
}

constexpr auto formats = entries_of(TableFormats{});

/// The index of the file's format in the list.
std::size_t format_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    throw base::input_error("{}: cannot be read: {}", path, std::generic_category().message(errno));
  if (S_ISDIR(status.st_mode)) throw base::input_error("{}: is a directory, not a table: give a file", path);
  if (!S_ISREG(status.st_mode))
    throw base::input_error("{}: is not a regular file: give one, which every rank can read at any offset",
                            path);
  if (status.st_size == 0)
    throw base::input_error("{}: the file is empty: give a table with a header and rows", path);

  const auto bytes = open_plain(path);
  const auto* const found = std::find_if(
      formats.begin(), formats.end(), [&](const FormatEntry& format) { return format.recognises(*bytes); });
  if (found == formats.end()) throw base::input_error("{}: is not a table: give CSV or HDF5", path);
  return static_cast<std::size_t>(found - formats.begin());
}

}  // namespace

std::unique_ptr<TableReader> open_table(const Workers& workers, const std::string& path,
                                        const OpenOptions& options) {
  const mpi::Communicator& comm = workers.comm;
  std::size_t format = 0;
  together(comm, [&] {
    if (comm.rank() == 0) format = format_of(path);
  });
  comm.broadcast(std::span(&format, 1), 0);
  return formats[format].open(workers, path, options);
}

}  // namespace TESSERA_NAMESPACE::gam
