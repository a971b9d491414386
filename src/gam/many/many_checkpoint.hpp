// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/fit.hpp>
#include <tessera/job/checkpoint.hpp>
#include <tessera/partition/plan.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The results of many models, batch by batch, in files beside a checkpoint: FILE.batch-N has the results of
/// responses from N on, as numbers, and the checkpoint's state lists the batches with their checksums. Only
/// rank 0 reads and writes. A batch is on disk before the state lists it, so that a kill at any moment loses
/// at most the batch that is computed.
///
/// All members that are marked *Collective* throw the same `Error` on every rank.
class ManyCheckpoint {
 public:
  /// *Collective.* Opens `path` (see `Checkpoint`, whose errors it throws). A state of other hardware is not
  /// used: `hardware` is that of the job.
  ManyCheckpoint(const mpi::Communicator& comm, const std::string& path, const Fingerprint& fingerprint,
                 std::string hardware, std::size_t numbers_of_response, FitObserver& observer);

  /// Whether devices were still in use, by the state.
  [[nodiscard]] bool uses_devices() const noexcept { return uses_devices_; }
  /// The number of responses whose results are in the files: those from 0 on.
  [[nodiscard]] std::int64_t kept() const noexcept { return batches_.empty() ? 0 : batches_.back().end; }
  /// The batches of the files.
  [[nodiscard]] std::vector<Range> batches() const;
  /// *Collective.* The numbers of a batch, the same on every rank. Nothing if its file is missing or damaged:
  /// it and later batches are dropped.
  [[nodiscard]] std::optional<std::vector<double>> read(std::size_t batch);

  /// *Collective.* Adds the batch that follows those of the files. `numbers`: of this rank's responses by the
  /// plan of the batch. A failure to write is a warning, given once, and nothing is kept from then on. Throws
  /// `Error(job_fault)` if a later start of the job has taken over.
  void keep(Range responses, const Plan& plan, std::span<const double> numbers, bool uses_devices);
  /// *Collective.* Drops all batches: they are computed anew.
  void start_over(bool uses_devices);
  /// *Collective.* Removes all files, once the results are safe.
  void remove() noexcept;

 private:
  struct Batch {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::string checksum;
  };

  void read_state(const std::string& state);
  [[nodiscard]] std::string state() const;
  [[nodiscard]] std::string file_of(const Batch& batch) const;
  void remove_file(const Batch& batch) const noexcept;
  void drop(std::size_t first);
  void save();

  const mpi::Communicator& comm_;
  std::string path_;
  std::string hardware_;
  std::size_t numbers_of_response_;
  FitObserver& observer_;
  std::unique_ptr<Checkpoint> checkpoint_;
  bool uses_devices_ = true;
  std::vector<Batch> batches_;
  bool failed_ = false;  ///< a batch could not be written
};

}  // namespace TESSERA_NAMESPACE::gam
