// SPDX-License-Identifier: Apache-2.0
#include "gam/data/hdf5/hdf5_table.hpp"

#include "base/errors.hpp"
#include "gam/data/hdf5/hdf5_scan.hpp"
#include "gam/data/source/shared_input.hpp"

#include <tessera/job/together.hpp>

#include <atomic>
#include <functional>
#include <map>
#include <utility>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

class Hdf5Table final : public TableReader {
 public:
  Hdf5Table(std::unique_ptr<files::InputFile> opened, SharedTable shared, Hdf5Options options, Handle file,
            Hdf5Contents contents)
      : opened_(std::move(opened)),
        shared_(shared),
        path_(opened_->path()),
        options_(std::move(options)),
        file_(std::move(file)),
        contents_(std::move(contents)) {}

  [[nodiscard]] std::int64_t rows() const override { return contents_.rows; }
  [[nodiscard]] std::vector<std::string> columns() const override { return contents_.columns; }
  [[nodiscard]] std::map<std::string, std::string> left_out() const override { return contents_.unusable; }
  [[nodiscard]] files::FileState opened() const override { return shared_.opened(); }
  [[nodiscard]] std::int64_t bytes_read() const override { return bytes_read_; }

  [[nodiscard]] std::string name() const override { return path_; }
  [[nodiscard]] std::unique_ptr<RowScan> scan(const ReadPlan& plan, int threads) override {
    return scan_hdf5({.hdf5 = file_.get(),
                      .file = *opened_,
                      .columns = contents_.columns,
                      .chunk_rows = options_.chunk_rows,
                      .between = options_.between,
                      .bytes_read = bytes_read_},
                     plan, threads);
  }
  [[nodiscard]] Frame read_unchanged(const mpi::Communicator& comm,
                                     const std::function<Frame()>& work) const override {
    const QuietHdf5 quiet;
    return shared_.read(comm, work);
  }

 private:
  std::unique_ptr<files::InputFile> opened_;  // the same file that HDF5 has open
  SharedTable shared_;                        // refers to `opened_`
  std::string path_;
  Hdf5Options options_;
  Handle file_;
  Hdf5Contents contents_;
  std::atomic<std::int64_t> bytes_read_ = 0;
};

}  // namespace

std::unique_ptr<TableReader> open_hdf5(const Workers& workers, const std::string& path,
                                       const Hdf5Options& options) {
  const mpi::Communicator& comm = workers.comm;
  const QuietHdf5 quiet;
  std::unique_ptr<files::InputFile> opened;
  Handle file;
  together(comm, [&] { opened = std::make_unique<files::InputFile>(path); });
  const SharedTable shared(comm, *opened, options.between);
  Hdf5Contents contents = shared.read(comm, [&] {
    Hdf5Contents mine;
    together(comm, [&] {
      file = open_hdf5_file(*opened);
      mine = contents_of(file.get(), path);
    });
    return mine;
  });
  return std::make_unique<Hdf5Table>(std::move(opened), shared, options, std::move(file),
                                     std::move(contents));
}

}  // namespace TESSERA_NAMESPACE::gam
