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

/// Results of many models, batch by batch, in files beside a checkpoint. FILE.batch-N has the results of
/// responses from N on. The checkpoint's state lists the batches with their checksums. Only rank 0 reads and
/// writes. A batch is on disk before the state lists it. A job killed at any moment therefore loses at most
/// the current batch.
///
/// *Collective* members throw the same `Error` on every rank.
class ManyCheckpoint {
 public:
  /// *Collective.* Opens `path` (see `Checkpoint`, whose errors it throws). A state from hardware other than
  /// `hardware` is not used.
  ManyCheckpoint(const mpi::Communicator& comm, const std::string& path, const Fingerprint& fingerprint,
                 std::string hardware, std::size_t numbers_of_response, FitObserver& observer);

  /// Whether devices were in use when the state was written.
  [[nodiscard]] bool uses_devices() const noexcept { return uses_devices_; }
  /// Number of responses with results. They are the first responses of the fit.
  [[nodiscard]] std::int64_t kept() const noexcept { return batches_.empty() ? 0 : batches_.back().end; }
  [[nodiscard]] std::vector<Range> batches() const;
  /// *Collective.* The numbers of a batch, on every rank. Empty if the file is missing or damaged; this batch
  /// and all later batches are then dropped.
  [[nodiscard]] std::optional<std::vector<double>> read(std::size_t batch);

  /// *Collective.* Writes the next batch. `numbers`: results of this rank's responses in `plan`. On a write
  /// error, warns once and writes no further batches. Throws `Error(job_fault)` if a later start of the job
  /// has taken over the checkpoint.
  void keep(Range responses, const Plan& plan, std::span<const double> numbers, bool uses_devices);
  /// *Collective.* Drops all batches; all responses must be refitted.
  void start_over(bool uses_devices);
  /// *Collective.* Removes all files. The results must be on disk.
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
