// SPDX-License-Identifier: Apache-2.0
#include "gam/many/elements_by_response.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/data/table_source.hpp"
#include "gam/many/sparse_responses.hpp"

#include <tessera/job/job.hpp>
#include <tessera/job/together.hpp>

#include <algorithm>
#include <utility>

#include "files/scratch_memory.hpp"

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

/// Up to this size in bytes, each rank sorts all elements in its own memory.
constexpr std::int64_t usual_memory = std::int64_t{64} << 20;
/// Elements read at a time.
constexpr std::int64_t elements_at_once = std::int64_t{1} << 22;

template <class Work>
void for_each_share(HostTeam& team, std::int64_t responses, const Work& work) {
  const std::int64_t share = (responses - 1) / team.size() + 1;
  team.for_each_block({0, responses}, share, [&](int /*thread*/, Range some) { work(some); });
}

}  // namespace

void ElementsByResponse::count(Job& job, const StoredElements& matrix, std::int64_t first,
                               std::int64_t last) {
  next_.assign(at(matrix.responses), 0);
  for (std::int64_t begin = first; begin < last; begin += elements_at_once) {
    stop_if_asked(job.options().stop);
    const auto some =
        matrix.indices->read(job.host_team(), {begin, std::min(begin + elements_at_once, last)});
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (!(some[i] >= 0 && some[i] < static_cast<double>(matrix.responses)))
        throw base::input_error(
            "{}: the index {} of element {} is outside of the matrix: give indices below {}", matrix.name,
            some[i], begin + static_cast<std::int64_t>(i) + 1, matrix.responses);
    }
    for_each_share(job.host_team(), matrix.responses, [&](Range own) {
      for (const double index : some) {
        const auto response = static_cast<std::int64_t>(index);
        if (response >= own.begin && response < own.end) ++next_[at(response)];
      }
    });
  }
}

void ElementsByResponse::place(Job& job, const StoredElements& matrix, std::int64_t first,
                               std::int64_t last) {
  std::vector<std::int32_t> row_of;
  auto row = std::ranges::upper_bound(matrix.begins, first) - matrix.begins.begin() - 1;
  for (std::int64_t begin = first; begin < last; begin += elements_at_once) {
    stop_if_asked(job.options().stop);
    const Range some{begin, std::min(begin + elements_at_once, last)};
    const std::vector<double> indices = matrix.indices->read(job.host_team(), some);
    const std::vector<double> values = matrix.data->read(job.host_team(), some);
    row_of.resize(indices.size());
    for (std::size_t i = 0; i < row_of.size(); ++i) {
      while (begin + static_cast<std::int64_t>(i) >= matrix.begins[at(row) + 1]) ++row;
      row_of[i] = static_cast<std::int32_t>(row);
    }
    for_each_share(job.host_team(), matrix.responses, [&](Range own) {
      for (std::size_t i = 0; i < indices.size(); ++i) {
        const auto response = static_cast<std::int64_t>(indices[i]);
        if (response < own.begin || response >= own.end) continue;
        const std::int64_t to = next_[at(response)]++;
        rows_[to] = row_of[i];
        if (floats_ != nullptr)
          floats_[to] = static_cast<float>(values[i]);
        else
          doubles_[to] = values[i];
      }
    });
  }
}

ElementsByResponse::ElementsByResponse(Job& job, const StoredElements& matrix, const MemoryOptions& memory) {
  const bool as_floats = matrix.data->is_exact_in_float();
  const std::int64_t elements = matrix.begins.back();
  // Values precede rows because of their larger alignment.
  const std::int64_t value_bytes =
      elements * static_cast<std::int64_t>(as_floats ? sizeof(float) : sizeof(double));
  const auto bytes = at(value_bytes + elements * static_cast<std::int64_t>(sizeof(std::int32_t)));
  const bool in_memory = static_cast<std::int64_t>(bytes) <=
                         (memory.node_bytes ? *memory.node_bytes / job.comm().size() : usual_memory);
  // The ranks that share the sort.
  const mpi::Communicator node = in_memory
                                     ? mpi::Communicator::serial()
                                     : job.comm().split(job.inventory().ranks()[at(job.comm().rank())].node);
  const std::int64_t first = elements * node.rank() / node.size();
  const std::int64_t last = elements * (node.rank() + 1) / node.size();
  together(job.comm(), [&] { count(job, matrix, first, last); });
  // Element counts by rank, then by response.
  const std::vector<std::int64_t> counts = node.allgatherv(std::span<const std::int64_t>(next_));
  begins_.assign(1, 0);
  for (std::int64_t response = 0; response < matrix.responses; ++response) {
    std::int64_t end = begins_.back();
    for (int rank = 0; rank < node.size(); ++rank) {
      if (rank == node.rank()) next_[at(response)] = end;
      end += counts[at(rank * matrix.responses + response)];
    }
    begins_.push_back(end);
  }
  std::byte* all = nullptr;
  if (in_memory) {
    memory_.resize(bytes);
    all = memory_.data();
  } else {
    together(job.comm(), [&] {
      if (node.rank() == 0)
        file_ = files::NodeScratch(memory.scratch.empty() ? files::default_scratch_folder() : memory.scratch,
                                   bytes);
    });
    const std::string path = node.broadcast_text(file_.path(), 0);
    together(job.comm(), [&] {
      if (node.rank() != 0) file_ = files::NodeScratch::open(path, bytes);
    });
    file_.forget_name();
    all = static_cast<std::byte*>(file_.data());
  }
  if (as_floats)
    floats_ = reinterpret_cast<float*>(all);
  else
    doubles_ = reinterpret_cast<double*>(all);
  rows_ = reinterpret_cast<std::int32_t*>(all + value_bytes);
  together(job.comm(), [&] { place(job, matrix, first, last); });
  next_.clear();
}

}  // namespace TESSERA_NAMESPACE::gam
