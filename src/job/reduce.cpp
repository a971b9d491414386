// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_calls.hpp"
#include "job/state.hpp"
#include "job/sum/block_tree.hpp"

#include <tessera/error.hpp>
#include <tessera/memory/arena.hpp>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <string>

namespace TESSERA_NAMESPACE {
namespace {

template <class Work>
void tell_no_memory(std::size_t width, Work&& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::job_fault, "host memory is too small for sums of " + std::to_string(width) +
                                          " numbers: use fewer threads or numbers");
  }
}

/// One wide sum for all threads, in pieces with a mutex each. Threads start at different pieces to limit
/// contention.
class SharedSum {
 public:
  explicit SharedSum(std::size_t width) : width_(width) {
    ReproducibleSum::require_width(width);
    pieces_ = std::vector<Piece>((width - 1) / piece_width + 1);
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      pieces_[i].sum = ReproducibleSum(std::min(piece_width, width - i * piece_width));
  }

  /// Adds `partial` to the sum, and sets `partial` to zeros. Thread-safe.
  void add_and_clear(std::span<double> partial, int thread, int threads) {
    const std::size_t first = pieces_.size() * static_cast<std::size_t>(thread) /
                              static_cast<std::size_t>(std::max(thread + 1, threads));
    for (std::size_t k = 0; k < pieces_.size(); ++k) {
      const std::size_t i = (first + k) % pieces_.size();
      Piece& piece = pieces_[i];
      const std::lock_guard lock(piece.mutex);
      piece.sum.take(partial.subspan(i * piece_width, piece.sum.width()));
    }
  }
  void prepare_allreduce() {
    for (Piece& piece : pieces_) piece.sum.prepare_allreduce();
  }
  void allreduce(const mpi::Communicator& comm) {
    for (Piece& piece : pieces_) piece.sum.allreduce(comm);
  }
  [[nodiscard]] std::vector<double> values() const {
    std::vector<double> all;
    all.reserve(width_);
    for (const Piece& piece : pieces_) {
      const std::vector<double> own = piece.sum.values();
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }

 private:
  static constexpr std::size_t piece_width = std::size_t{1} << 14;
  struct Piece {
    std::mutex mutex;
    ReproducibleSum sum{0};
  };
  std::vector<Piece> pieces_;
  std::size_t width_;
};

/// *Collective.* Runs `work`, the combination over ranks, after the vote of the pass. `kind` is for messages.
template <class State, class Work>
void combine_ranks(State& state, const char* kind, Work&& work) {
  const std::string what = kind + (" of " + state.pass_name());
  const mpi::Purpose purpose(state.comm, what);
  try {
    work();
  } catch (const std::exception& fault) {
    state.verdict = State::no_verdict(what + ": " + fault.what());
    throw;
  }
}

/// Divides a host tile into blocks.
template <class Work>
void for_each_block(const HostTile& tile, std::int64_t block, Work&& work) {
  for (HostTile one = tile; one.range.begin < tile.range.end; one.range.begin = one.range.end) {
    one.range.end = one.range.begin + std::min(block, tile.range.end - one.range.begin);
    work(one);
  }
}

}  // namespace

const Job::Call& Job::plain_call() {
  static const Call call{.verb = "reduce", .types = "", .signature = 1};
  return call;
}

std::vector<double> Job::reduce(const Plan& plan, std::size_t width,
                                FunctionRef<void(Tile&, ReproducibleSum&)> on_device,
                                FunctionRef<void(const HostTile&, std::span<double>)> on_host,
                                std::int64_t device_bytes_per_unit) {
  return sum_blocks(plan, width, &on_device, on_host, device_bytes_per_unit, plain_call());
}

std::vector<double> Job::reduce(const Plan& plan, std::size_t width, HostOnly,
                                FunctionRef<void(const HostTile&, std::span<double>)> on_host) {
  return sum_blocks(plan, width, nullptr, on_host, 0, plain_call());
}

std::vector<double> Job::sum_blocks(const Plan& plan, std::size_t width,
                                    const FunctionRef<void(Tile&, ReproducibleSum&)>* on_device,
                                    FunctionRef<void(const HostTile&, std::span<double>)> on_host,
                                    std::int64_t device_bytes_per_unit, const Call& call,
                                    std::span<const detail::ArrayAccess> arrays) {
  const int lanes = state().most_lanes(device_bytes_per_unit, arrays);
  const int threads_of_tiles = state().pass_threads.all(lanes);
  std::vector<ReproducibleSum> sums;          // one for each GPU lane of this rank, or for each host thread
  std::optional<SharedSum> shared;            // replaces `sums` in a wide sum on hosts
  std::vector<std::vector<double>> partials;  // sums of the current blocks, by host thread
  const auto begin = [&](int workers, bool all_share) {
    // At least one sum, for the allreduce. Constructed in place, because copying a wide sum could take longer
    // than the pass.
    const auto count = static_cast<std::size_t>(std::max(workers, 1));
    tell_no_memory(width, [&] {
      sums.clear();
      shared.reset();
      if (all_share) {
        shared.emplace(width);
      } else {
        sums.reserve(count);
        while (sums.size() < count) sums.emplace_back(width);
      }
    });
    partials.clear();
    partials.resize(count);
  };
  const auto sum_of = [&](const Tile& tile) -> ReproducibleSum& {
    return sums[static_cast<std::size_t>(state().pass_threads.of_gpu(tile.device_index(), tile.lane()))];
  };
  const auto add_blocks = [&](const HostTile& tile) {
    auto& partial = partials[static_cast<std::size_t>(tile.thread)];
    for_each_block(tile, plan.block(), [&](const HostTile& one) {
      partial.resize(width);
      on_host(one, partial);
      if (shared)
        shared->add_and_clear(partial, tile.thread, tile.threads);
      else
        sums[static_cast<std::size_t>(tile.thread)].take(partial);
    });
  };
  run(plan, {.call = &call,
             .has_functions = (on_device == nullptr || *on_device) && on_host,
             .host_only = on_device == nullptr,
             .local_units = std::nullopt,
             .width = static_cast<std::int64_t>(width),
             .max_blocks = ReproducibleSum::max_summands,
             .device_bytes_per_unit = device_bytes_per_unit,
             .prepare =
                 [&] {
                   const bool on_devices = on_device != nullptr && runs_on_devices(plan);
                   begin(on_devices ? threads_of_tiles : threads(),
                         !on_devices && width >= ReproducibleSum::shared_width);
                 },
             .on_device = [&](Tile& tile) { (*on_device)(tile, sum_of(tile)); },
             .on_host = add_blocks,
             // The pass starts again with the remaining devices or the host threads.
             .restore = [&] { begin(std::max(threads_of_tiles, threads()), false); },
             .finish =
                 [&] {
                   partials = {};
                   for (std::size_t i = 1; i < sums.size(); ++i) sums.front().merge(sums[i]);
                   if (sums.size() > 1) sums.erase(sums.begin() + 1, sums.end());
                   if (comm().size() == 1) return;
                   tell_no_memory(width, [&] {
                     shared ? shared->prepare_allreduce() : sums.front().prepare_allreduce();
                   });
                 },
             .can_move = !arrays.empty(),
             .arrays = arrays});
  combine_ranks(state(), "the sum",
                [&] { shared ? shared->allreduce(comm()) : sums.front().allreduce(comm()); });
  return shared ? shared->values() : sums.front().values();
}

void Job::combine_blocks(const Plan& plan, const detail::BlockReduction& reduction, const Call& call,
                         std::span<const detail::ArrayAccess> arrays, void* result) {
  const std::size_t bytes = reduction.value_bytes;
  const int lanes = state().most_lanes(reduction.device_bytes_per_unit, arrays);
  std::vector<BlockTree> trees;  // one for each GPU lane of this rank, or for each host thread
  const auto begin = [&] {
    trees.assign(static_cast<std::size_t>(std::max(state().pass_threads.all(lanes), threads())),
                 BlockTree(bytes, reduction.combine));
  };
  const auto on_device = [&](Tile& tile) {
    const auto blocks = static_cast<std::size_t>((tile.range().size() - 1) / plan.block() + 1);
    std::vector<std::byte> values(blocks * bytes);
    void* const there = tile.arena().take_bytes(values.size());
    reduction.on_device(tile, there, blocks);
    if (tile.failed() || tile.told_to_stop()) return;
    cuda::copy(values.data(), there, values.size(), tile.stream());
    cuda::synchronize(tile.stream());
    BlockTree& tree =
        trees[static_cast<std::size_t>(state().pass_threads.of_gpu(tile.device_index(), tile.lane()))];
    for (std::size_t i = 0; i < blocks; ++i)
      tree.add(tile.range().begin / plan.block() + static_cast<std::int64_t>(i), &values[i * bytes]);
  };
  const auto on_host = [&](const HostTile& tile) {
    std::vector<std::byte> value(bytes);
    for_each_block(tile, plan.block(), [&](const HostTile& one) {
      std::memcpy(value.data(), reduction.identity, bytes);
      reduction.on_host(one, value.data());
      trees[static_cast<std::size_t>(tile.thread)].add(one.range.begin / plan.block(), value.data());
    });
  };
  std::optional<BlockTree> mine;
  const auto merge = [&] {
    std::vector<std::span<const std::byte>> nodes;
    nodes.reserve(trees.size());
    for (const BlockTree& tree : trees) nodes.push_back(tree.nodes());
    mine.emplace(bytes, reduction.combine).add(nodes);
  };
  run(plan, {.call = &call,
             .has_functions = reduction.has_functions,
             .host_only = reduction.host_only,
             .local_units = std::nullopt,
             .device_bytes_per_unit = reduction.device_bytes_per_unit,
             .prepare = begin,
             .on_device = on_device,
             .on_host = on_host,
             .restore = begin,  // the pass starts again with the remaining devices or the host threads
             .finish = merge,
             .can_move = !arrays.empty(),
             .arrays = arrays});
  combine_ranks(state(), "the reduction", [&] {
    BlockTree all(bytes, reduction.combine);
    const std::vector<std::byte> nodes = comm().allgatherv(mine->nodes());
    const std::span<const std::byte> of_ranks(nodes);
    all.add({&of_ranks, 1});
    if (const void* value = all.value()) std::memcpy(result, value, bytes);
  });
}

}  // namespace TESSERA_NAMESPACE
