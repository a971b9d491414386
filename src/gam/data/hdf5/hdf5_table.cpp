// SPDX-License-Identifier: Apache-2.0
#include "gam/data/hdf5/hdf5_table.hpp"

#include "gam/data/hdf5/hdf5_columns.hpp"
#include "gam/data/source/shared_input.hpp"

#include <tessera/job/together.hpp>

#include <atomic>
#include <functional>
#include <map>
#include <optional>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

class Hdf5Table final : public TableReader {
 public:
  /// *Collective.*
  Hdf5Table(const Workers& workers, const std::string& path, const Hdf5Options& options)
      : path_(path), options_(options) {
    const QuietHdf5 quiet;
    together(workers.comm, [&] { opened_ = std::make_unique<files::InputFile>(path); });
    shared_.emplace(workers.comm, *opened_, options.between);
    contents_ = shared_->read(workers.comm, [&] {
      Hdf5Contents mine;
      together(workers.comm, [&] {
        file_ = open_hdf5_file(*opened_);
        mine = contents_of(file_.get(), path);
      });
      return mine;
    });
  }

  [[nodiscard]] std::int64_t rows() const override { return contents_.rows; }
  [[nodiscard]] std::vector<std::string> columns() const override { return contents_.columns; }
  [[nodiscard]] std::map<std::string, std::string> left_out() const override { return contents_.unusable; }
  [[nodiscard]] files::FileState opened() const override { return shared_->opened(); }
  [[nodiscard]] std::int64_t bytes_read() const override { return bytes_read_; }

  [[nodiscard]] std::string row_names() const override { return contents_.row_names; }

  [[nodiscard]] std::string name() const override { return path_; }
  [[nodiscard]] std::unique_ptr<RowScan> scan(const ReadPlan& plan, int threads) override {
    return scan_hdf5({.hdf5 = file_.get(),
                      .file = *opened_,
                      .contents = contents_,
                      .chunk_rows = options_.chunk_rows,
                      .between = options_.between,
                      .bytes_read = bytes_read_},
                     plan, threads);
  }
  [[nodiscard]] Frame read_unchanged(const mpi::Communicator& comm,
                                     const std::function<Frame()>& work) const override {
    const QuietHdf5 quiet;
    return shared_->read(comm, work);
  }

 private:
  std::string path_;
  Hdf5Options options_;
  std::unique_ptr<files::InputFile> opened_;
  std::optional<SharedTable> shared_;  // refers to `opened_`
  Handle file_;
  Hdf5Contents contents_;
  std::atomic<std::int64_t> bytes_read_ = 0;
};

}  // namespace

std::unique_ptr<TableReader> open_hdf5(const Workers& workers, const std::string& path,
                                       const Hdf5Options& options) {
  return std::make_unique<Hdf5Table>(workers, path, options);
}

}  // namespace TESSERA_NAMESPACE::gam
