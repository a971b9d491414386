// SPDX-License-Identifier: Apache-2.0
#include "gam/data/output/folder_output.hpp"

#include "base/descriptor.hpp"
#include "base/errors.hpp"
#include "base/own_digits.hpp"

#include <tessera/job/together.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace TESSERA_NAMESPACE::gam {
namespace {

namespace fs = std::filesystem;

std::string_view ending_of(OutputFormat format) {
  switch (format) {
    case OutputFormat::hdf5: return "h5";
    case OutputFormat::parquet: return "parquet";
    case OutputFormat::feather: return "feather";
    default: return "csv";
  }
}

class FolderOutput final : public TableOutput {
 public:
  FolderOutput(const mpi::Communicator& comm, std::string path, OutputFormat format)
      : comm_(comm), format_(format), path_(std::move(path)) {
    while (path_.size() > 1 && is_folder_name(path_)) path_.pop_back();
    together(comm, [&] {
      if (comm.rank() == 0) create();
    });
    temporary_ = comm.broadcast_text(temporary_, 0);
  }
  ~FolderOutput() override {
    std::error_code ignored;
    if (comm_.rank() == 0 && !committed_) fs::remove_all(temporary_, ignored);
  }

  void add(const OutputRows& rows) override {
    together(comm_, [&] {
      const Range mine = rows.plan.range_of(comm_.rank());
      if (mine.empty()) return;
      const mpi::Communicator alone = mpi::Communicator::serial();
      const std::string path =
          fmt::format("{}/part-{:05}-{:05}.{}", temporary_, parts_, comm_.rank(), ending_of(format_));
      const auto file = make(alone, path, format_);
      file->add(
          {.plan = Plan::over_hosts(mine.size(), 1), .table_rows = mine.size(), .columns = rows.columns});
      static_cast<void>(file->commit());
    });
    ++parts_;
  }

  std::string commit() override {
    std::string problem;
    together(comm_, [&] {
      if (comm_.rank() != 0) return;
      // It replaces an empty folder.
      if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot be put in place", errno);
      committed_ = true;
      const base::Descriptor above(::open(above_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (!above.is_open() || !above.flush())
        problem = fmt::format("{}: is in place, but may not survive a power failure: {}", path_,
                              std::strerror(errno));
    });
    return problem;
  }

 private:
  [[noreturn]] void fail(const char* what, int error) const {
    throw base::input_error("{}: {}: {}", path_, what, std::strerror(error));
  }

  void create() {
    std::error_code absent;
    const fs::file_status status = fs::status(path_, absent);
    if (fs::exists(status) && !fs::is_directory(status))
      throw base::input_error("{}: is a file, and is to be a folder: give another name", path_);
    if (fs::is_directory(status) && !fs::is_empty(path_, absent))
      throw base::input_error("{}: has files, and is to be a new folder: remove it, or give another name",
                              path_);
    const fs::path above = fs::path(path_).parent_path();
    above_ = above.empty() ? "." : above.string();
    const std::string name = fmt::format("{}/.tessera-{}", above_, base::new_own_digits());
    if (::mkdir(name.c_str(), 0777) != 0) fail("cannot be created", errno);
    temporary_ = name;
  }

  const mpi::Communicator& comm_;
  OutputFormat format_;
  std::string path_;
  std::string above_;      // the folder that has it; on rank 0
  std::string temporary_;  // beside it
  int parts_ = 0;
  bool committed_ = false;
};

}  // namespace

std::unique_ptr<TableOutput> make_folder_output(const mpi::Communicator& comm, const std::string& path,
                                                OutputFormat format) {
  return std::make_unique<FolderOutput>(comm, path, format);
}

}  // namespace TESSERA_NAMESPACE::gam
