// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/data/frame/workers.hpp"
#include "support/errors.hpp"

#include <tessera/error.hpp>
#include <tessera/mpi/communicator.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {

inline mpi::Communicator world() {
#if TESSERA_HAVE_MPI
  return mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
#else
  return mpi::Communicator::serial();
#endif
}

class OverRanks : public ::testing::Test {
 protected:
  const mpi::Communicator comm = world();
};

/// Workers on all ranks, with three threads on this rank.
inline Workers crew(const mpi::Communicator& comm) {
  static HostTeam team(3);
  return {comm, team};
}

/// *Collective.* RAII: a temporary file with the same path on every rank.
class SharedFile {
 public:
  SharedFile(const mpi::Communicator& comm, const std::string& name) : comm_(comm) {
    std::string path;
    if (comm.rank() == 0) {
      std::string pattern = (std::filesystem::temp_directory_path() / "tessera-test-XXXXXX").string();
      if (::mkdtemp(pattern.data()) != nullptr) path = pattern + "/" + name;
    }
    path_ = comm.broadcast_text(path, 0);
  }
  SharedFile(const mpi::Communicator& comm, const std::string& name, std::string_view content)
      : SharedFile(comm, name) {
    write(content);
  }
  ~SharedFile() {
    comm_.barrier();
    if (comm_.rank() == 0) std::filesystem::remove_all(std::filesystem::path(path_).parent_path());
  }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

  void write(std::string_view content) const {
    comm_.barrier();
    if (comm_.rank() == 0) std::ofstream(path_, std::ios::binary).write(content.data(), std::ssize(content));
    comm_.barrier();
  }

 private:
  const mpi::Communicator& comm_;
  std::string path_;
};

/// This rank's rows in an uneven division: some ranks have few rows or none.
inline Range uneven_share(const mpi::Communicator& comm, std::int64_t rows, std::uint64_t seed) {
  const auto cut = [&](int rank) -> std::int64_t {
    if (rank == 0) return 0;
    if (rank == comm.size()) return rows;
    const auto jitter = static_cast<std::int64_t>((seed * 2654435761U + 7919U * rank) % 97);
    return std::min(rows, rows * (rank - 1) / comm.size() + rows * jitter / (97 * comm.size()));
  };
  return {cut(comm.rank()), cut(comm.rank() + 1)};
}

/// *Collective.* Every cell of the job's frame as text, one line per row, with "!" before incomplete rows.
/// Equal on all ranks.
inline std::string put_together(const mpi::Communicator& comm, const Frame& frame) {
  std::string mine;
  for (std::size_t i = 0; i < frame.complete.size(); ++i) {
    mine += frame.complete[i] != 0 ? "" : "!";
    for (const Variable& variable : frame.variables) {
      char number[40];
      if (variable.factor) {
        mine += variable.codes[i] < 0 ? "<NA>" : variable.levels[static_cast<std::size_t>(variable.codes[i])];
      } else {
        std::snprintf(number, sizeof number, "%.17g", variable.numbers[i]);
        mine += std::isnan(variable.numbers[i]) ? "NA" : number;
      }
      mine += "|";
    }
    mine += "\n";
  }
  std::string all;
  for (const std::string& part : comm.allgather_text(mine)) all += part;
  return all;
}

inline FrameRequest request(const std::vector<std::string>& variables) {
  FrameRequest result;
  for (const std::string& text : variables) result.variables.push_back(parse_expression(text));
  return result;
}

/// *Collective.* The message of the error of `work`, which must be equal on all ranks.
inline std::string common_fault(const mpi::Communicator& comm, const std::function<void()>& work,
                                ErrorCode code = ErrorCode::input) {
  const std::string message = error_if_any(code, work).value_or("no error");
  for (const std::string& other : comm.allgather_text(message)) EXPECT_EQ(other, message);
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message;
}

}  // namespace TESSERA_NAMESPACE::gam::testing
