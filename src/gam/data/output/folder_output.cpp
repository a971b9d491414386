// SPDX-License-Identifier: Apache-2.0
#include "gam/data/output/folder_output.hpp"

#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <optional>

#include "files/output_folder.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

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
  FolderOutput(const mpi::Communicator& comm, const std::string& path, OutputFormat format)
      : comm_(comm), format_(format) {
    together(comm, [&] {
      if (comm.rank() == 0) temporary_ = folder_.emplace(path).temporary();
    });
    temporary_ = comm.broadcast_text(temporary_, 0);
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
      if (folder_) problem = folder_->commit();
    });
    return problem;
  }

 private:
  const mpi::Communicator& comm_;
  OutputFormat format_;
  std::optional<files::OutputFolder> folder_;  // only on rank 0
  std::string temporary_;
  int parts_ = 0;
};

}  // namespace

std::unique_ptr<TableOutput> make_folder_output(const mpi::Communicator& comm, const std::string& path,
                                                OutputFormat format) {
  return std::make_unique<FolderOutput>(comm, path, format);
}

}  // namespace TESSERA_NAMESPACE::gam
