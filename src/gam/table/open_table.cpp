// SPDX-License-Identifier: Apache-2.0
#include "gam/table/byte_source.hpp"
#include "gam/table/csv_table.hpp"
#include "gam/table/hdf5_table.hpp"
#include "gam/table/table_reader.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace tessera::gam {
namespace {

enum class Format : std::int32_t { csv, gzip, hdf5 };

// An HDF5 file's signature stands at 0 or, behind a user block, at 512, 1024, 2048, …
constexpr std::string_view hdf5_signature = "\x89HDF\r\n\x1a\n";
constexpr std::string_view gzip_signature = "\x1f\x8b";
constexpr std::int64_t max_user_block = std::int64_t{1} << 20;

Format format_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    throw Error(ErrorCode::input,
                fmt::format("{}: cannot be read: {}", path, std::generic_category().message(errno)));
  if (S_ISDIR(status.st_mode))
    throw Error(ErrorCode::input, fmt::format("{}: is a directory, not a table", path));
  if (!S_ISREG(status.st_mode))
    throw Error(ErrorCode::input,
                fmt::format("{}: is no regular file; every rank must be able to read it at any place", path));
  if (status.st_size == 0) throw Error(ErrorCode::input, fmt::format("{}: the file is empty", path));

  const auto source = open_plain(path);
  std::array<char, hdf5_signature.size()> bytes{};
  for (std::int64_t offset = 0; offset <= max_user_block; offset = offset == 0 ? 512 : 2 * offset) {
    source->seek(offset);
    const std::string_view start(bytes.data(), source->read(bytes));
    if (start == hdf5_signature) return Format::hdf5;
    if (offset == 0 && start.substr(0, gzip_signature.size()) == gzip_signature) return Format::gzip;
  }
  return Format::csv;
}

}  // namespace

std::unique_ptr<TableReader> open_table(const tessera::mpi::Communicator& comm, const std::string& path,
                                        const BetweenReads& between) {
  Format format{};
  together(comm, [&] {
    if (comm.rank() == 0) format = format_of(path);
  });
  comm.broadcast(std::span(&format, 1), 0);
  if (format == Format::hdf5) {
    Hdf5Options options;
    options.between = between;
    return open_hdf5(comm, path, options);
  }
  CsvOptions options;
  options.between = between;
  options.gzip = format == Format::gzip;
  return open_csv(comm, path, options);
}

}  // namespace tessera::gam
