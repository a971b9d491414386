// SPDX-License-Identifier: Apache-2.0
#include "base/errors.hpp"
#include "base/message.hpp"
#include "gam/data/folder/file_list.hpp"
#include "gam/data/list.hpp"
#include "gam/data/source/table_format.hpp"
#include "gam/data/source/table_reader.hpp"

#include <tessera/job/together.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

struct FormatEntry {
  bool (*recognises)(const files::InputFile& file);
  std::unique_ptr<TableReader> (*open)(const Workers& workers, const std::string& path,
                                       const OpenOptions& options);
};

template <class... F>
constexpr auto entries_of(TableFormatList<F...> /*list*/) {
  return std::array{FormatEntry{&F::recognises, &F::open}...};
}

constexpr auto formats = entries_of(TableFormats{});

std::size_t format_of(const std::string& path) {
  const files::InputFile file(path);
  if (file.size() == 0)
    throw base::input_error("{}: the file is empty: give a table with a header and rows", path);
  const auto* const found = std::find_if(formats.begin(), formats.end(),
                                         [&](const FormatEntry& format) { return format.recognises(file); });
  if (found == formats.end()) throw base::input_error("{}: is not a table: give CSV, HDF5 or Parquet", path);
  return static_cast<std::size_t>(found - formats.begin());
}

std::unique_ptr<TableReader> open_file(const Workers& workers, const std::string& path,
                                       const OpenOptions& options) {
  const mpi::Communicator& comm = workers.comm;
  std::size_t format = 0;
  together(comm, [&] {
    if (comm.rank() == 0) format = format_of(path);
  });
  comm.broadcast(std::span(&format, 1), 0);
  return formats[format].open(workers, path, options);
}

}  // namespace

std::unique_ptr<TableReader> open_table(const Workers& workers, const std::vector<std::string>& paths,
                                        const OpenOptions& options) {
  const mpi::Communicator& comm = workers.comm;
  std::vector<ListedFile> files;
  together(comm, [&] {
    if (comm.rank() == 0) files = list_files(paths);
  });
  base::broadcast_values(comm, 0, files);
  if (files.size() == 1 && files.front().partition.empty())
    return open_file(workers, files.front().path, options);
  return open_list(workers, std::move(files), options, open_file);
}

std::unique_ptr<TableReader> open_table(const Workers& workers, const std::string& path,
                                        const OpenOptions& options) {
  return open_table(workers, std::vector{path}, options);
}

}  // namespace TESSERA_NAMESPACE::gam
