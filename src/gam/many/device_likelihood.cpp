// SPDX-License-Identifier: Apache-2.0
#include "gam/many/device_likelihood.hpp"

#include "base/at.hpp"
#include "base/math/elementary.hpp"
#include "gam/many/request_queue.hpp"
#include "gam/rows/device_memory.hpp"

#include <tessera/device/backend.hpp>
#include <tessera/memory/pinned.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <numeric>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

/// Responses and their partial sums take at most a device's memory budget divided by this number.
constexpr int responses_share = 2;

struct LikelihoodKernels {
  explicit LikelihoodKernels(const Module& module)
      : gather(module.kernel("gather_inputs")),
        sum(module.kernel("sum_rows")),
        add_chunks(module.kernel("add_chunks")) {}
  KernelView gather;
  KernelView sum;
  KernelView add_chunks;
};

constexpr double penalty_at_limit = 1e300;

/// Memory of one response's fit: on the host (pinned and mapped), and on the device.
struct ResponseMemory {
  double* host_values;  ///< response by slot; then, if given, its own weights and offsets by slot
  double* host_input;
  double* host_output;
  double* values;  ///< device copy of `host_values`
  double* input;   ///< `mapped_input`, or its device copy
  double* sums;
  // Device addresses of `host_input` and `host_output`.
  double* mapped_input;
  double* mapped_output;
  /// Bytes of each part of `host_values` still to be copied to the device.
  std::array<std::size_t, 3> to_copy{};
};

/// A waiting fiber's request for a pass over the rows.
struct WaitingPass {
  LikelihoodRequest request;
  ResponseMemory* memory;
};

using Queue = RequestQueue<WaitingPass>;

/// Sums of successive responses, computed on the device. Each object is used by one fiber.
class DeviceSums final : public LikelihoodSums {
 public:
  /// All arguments must outlive this object. `shared` has the weights and the offset of the design.
  DeviceSums(const SharedDesign& design, const LikelihoodLayout& layout, const LikelihoodResponse& shared,
             ResponseMemory& memory, Queue& queue)
      : design_(design), layout_(layout), shared_(shared), memory_(memory), queue_(queue) {}

  void for_each(std::size_t count, FunctionRef<void(std::size_t)> work) override {
    queue_.for_each(count, work);
  }
  void set_response(std::span<const double> y, std::span<const double> weights,
                    std::span<const double> offset) override;
  void score_and_gram(const LikelihoodPoint& point, const std::vector<double>& b, std::vector<double>& score,
                      std::vector<double>& gram) override;
  [[nodiscard]] LossDerivatives loss(const LikelihoodPoint& point, std::vector<double>& by_tau) override;
  [[nodiscard]] std::optional<SettledCoefficients> settle(const LikelihoodPoint& point,
                                                          const std::vector<double>& penalty,
                                                          double tolerance, std::vector<double>& b,
                                                          std::vector<double>& score,
                                                          std::vector<double>& gram,
                                                          std::vector<double>& by_tau) override;
  void weight_derivatives(const LikelihoodPoint& point, const std::vector<double>& inverse,
                          const std::vector<std::vector<double>>& first, bool with_tau,
                          WeightSums& to) override;
  [[nodiscard]] PearsonSums expected_gram(const LikelihoodPoint& point, std::vector<double>& gram) override;
  [[nodiscard]] double null_loss(ManyFamily family, double theta, double level) override;

 private:
  /// Stores a response's own weights or offsets.
  void set_own(std::size_t part, std::span<const double> values, const double*& on_device) {
    const std::size_t begin = part * design_.slots();
    std::ranges::copy(values, memory_.host_values + begin);
    memory_.to_copy[part] = values.size_bytes();
    on_device = memory_.values + begin;
  }
  /// Request for a pass over groups [first, last) at the coefficients in the groups' inputs.
  [[nodiscard]] LikelihoodRequest pass_over(LikelihoodPass pass, ManyFamily family, double theta,
                                            std::size_t first, std::size_t last) const {
    const LikelihoodGroup& last_group = layout_.groups[last - 1];
    return {
        .response = response_,
        .host_input = memory_.mapped_input,
        .input = memory_.input,
        .first_input = layout_.groups[first].first_input,
        .end_input = last_group.first_input + likelihood_inputs(pass, last_group.columns, layout_.parameters),
        .sums = memory_.sums,
        .output = memory_.mapped_output,
        .theta = theta,
        .log_theta = base::log(theta),
        .level = 0,
        .tolerance = 0,
        .pass = pass,
        .first_group = static_cast<int>(first),
        .end_group = static_cast<int>(last),
        .is_poisson = family == ManyFamily::poisson ? 1 : 0,
        .with_tau = 0};
  }
  [[nodiscard]] LikelihoodRequest pass_over(LikelihoodPass pass, const LikelihoodPoint& point) const {
    return pass_over(pass, point.family, point.theta, point.active.first_group(), point.active.last_group());
  }
  void wait_for(const LikelihoodRequest& request) {
    WaitingPass waiting{.request = request, .memory = &memory_};
    queue_.wait_for(waiting);
  }
  /// Calls `use(places, sums)` for each active group; `places`: positions among the active columns.
  template <class Use>
  void for_each_group(const ActiveColumns& active, const Use& use) const {
    std::vector<int> places;
    for (std::size_t g = active.first_group(); g < active.last_group(); ++g) {
      if (active.is_absent(g)) continue;
      places.clear();
      for (const int column : design_.groups[g].columns) places.push_back(active.place(column));
      use(places, memory_.host_output + layout_.output_begins[g]);
    }
  }
  static void take_vector(const std::vector<int>& places, const double* sums, std::vector<double>& to) {
    for (std::size_t a = 0; a < places.size(); ++a) {
      if (places[a] >= 0) to[at(places[a])] += sums[a];
    }
  }
  static void take_matrix(const ActiveColumns& active, const std::vector<int>& places, const double* sums,
                          std::vector<double>& to) {
    std::size_t i = 0;
    for (std::size_t a = 0; a < places.size(); ++a) {
      for (std::size_t b = a; b < places.size(); ++b, ++i) {
        if (places[a] >= 0 && places[b] >= 0)
          to[place_in_packed(active.size(), places[a], places[b])] += sums[i];
      }
    }
  }
  static constexpr int coefficients = -1;
  /// Writes the coefficients, or their derivatives by a parameter, to the groups' inputs.
  void put_vector(const ActiveColumns& active, const std::vector<double>& values, int parameter) {
    for (std::size_t g = active.first_group(); g < active.last_group(); ++g) {
      const LikelihoodGroup& group = layout_.groups[g];
      const int begin = parameter == coefficients
                            ? 0
                            : group.columns + packed_size(group.columns) + parameter * group.columns;
      double* to = memory_.host_input + group.first_input + begin;
      for (const int column : design_.groups[g].columns) {
        const int place = active.place(column);
        *to++ = place < 0 ? 0 : values[at(place)];
      }
    }
  }
  /// Writes a packed matrix to the groups' inputs. Inactive columns get `other` on the diagonal.
  void put_matrix(const ActiveColumns& active, const std::vector<double>& packed, double other) {
    for (std::size_t g = active.first_group(); g < active.last_group(); ++g) {
      const std::vector<int>& columns = design_.groups[g].columns;
      double* to = memory_.host_input + layout_.groups[g].first_input + columns.size();
      for (std::size_t a = 0; a < columns.size(); ++a) {
        const int i = active.place(columns[a]);
        for (std::size_t b = a; b < columns.size(); ++b) {
          const int j = active.place(columns[b]);
          *to++ = i >= 0 && j >= 0 ? packed[place_in_packed(active.size(), i, j)] : a == b ? other : 0;
        }
      }
    }
  }
  /// Reads the sums of `score_and_gram`.
  static void take_score_and_gram(const ActiveColumns& active, const std::vector<int>& places,
                                  const double* sums, std::vector<double>& score, std::vector<double>& gram) {
    take_matrix(active, places, sums, gram);
    take_vector(places, sums + packed_size(static_cast<int>(places.size())), score);
  }
  static void take_loss(const std::vector<int>& places, const double* sums, LossDerivatives& loss,
                        std::vector<double>& by_tau) {
    loss.value += sums[0];
    loss.by_tau -= sums[1];
    loss.by_tau_twice -= sums[2];
    take_vector(places, sums + 3, by_tau);
  }

  const SharedDesign& design_;
  const LikelihoodLayout& layout_;
  LikelihoodResponse shared_;
  LikelihoodResponse response_{};
  ResponseMemory& memory_;
  Queue& queue_;
};

void DeviceSums::set_response(std::span<const double> y, std::span<const double> weights,
                              std::span<const double> offset) {
  const std::size_t slots = design_.slots();
  response_ = shared_;
  const bool has_own_weights = weights.data() != design_.weight.data();
  const auto is_missing = [&](std::size_t slot) {
    return has_own_weights && weights[slot] == 0 && design_.weight[slot] != 0;
  };
  constexpr double most_count = 65534;
  auto* const counts = reinterpret_cast<unsigned short*>(memory_.host_values);
  bool are_counts = true;
  for (std::size_t slot = 0; slot < slots; ++slot) {
    const auto count = static_cast<int>(std::min(std::max(y[slot], 0.0), most_count));
    counts[slot] = static_cast<unsigned short>(count);
    are_counts &= count == y[slot];
  }
  if (are_counts) {
    for (std::size_t slot = 0; has_own_weights && slot < slots; ++slot) {
      if (is_missing(slot)) counts[slot] = static_cast<unsigned short>(most_count + 1);
    }
    response_.counts = reinterpret_cast<const unsigned short*>(memory_.values);
    memory_.to_copy = {slots * sizeof(unsigned short)};
  } else {
    for (std::size_t slot = 0; slot < slots; ++slot)
      memory_.host_values[slot] = is_missing(slot) ? std::numeric_limits<double>::quiet_NaN() : y[slot];
    response_.y = memory_.values;
    memory_.to_copy = {slots * sizeof(double)};
  }
  for (std::size_t slot = 0; has_own_weights && slot < slots; ++slot) {
    if (weights[slot] == 0 || weights[slot] == design_.weight[slot]) continue;
    set_own(1, weights, response_.weights);
    break;
  }
  if (offset.data() != design_.offset.data()) set_own(2, offset, response_.offset);
}

void DeviceSums::score_and_gram(const LikelihoodPoint& point, const std::vector<double>& b,
                                std::vector<double>& score, std::vector<double>& gram) {
  put_vector(point.active, b, coefficients);
  wait_for(pass_over(LikelihoodPass::score_and_gram, point));
  score.assign(b.size(), 0);
  gram.assign(at(packed_size(point.active.size())), 0);
  for_each_group(point.active, [&](const std::vector<int>& places, const double* sums) {
    take_score_and_gram(point.active, places, sums, score, gram);
  });
}

LossDerivatives DeviceSums::loss(const LikelihoodPoint& point, std::vector<double>& by_tau) {
  wait_for(pass_over(LikelihoodPass::loss, point));
  by_tau.assign(at(point.active.size()), 0);
  LossDerivatives total;
  for_each_group(point.active, [&](const std::vector<int>& places, const double* sums) {
    take_loss(places, sums, total, by_tau);
  });
  return total;
}

std::optional<SettledCoefficients> DeviceSums::settle(const LikelihoodPoint& point,
                                                      const std::vector<double>& penalty, double tolerance,
                                                      std::vector<double>& b, std::vector<double>& score,
                                                      std::vector<double>& gram,
                                                      std::vector<double>& by_tau) {
  const ActiveColumns& active = point.active;
  if (active.size() == 0 || !layout_.can_settle(active.first_group(), active.last_group())) return {};
  put_vector(active, b, coefficients);
  put_matrix(active, penalty, penalty_at_limit);
  LikelihoodRequest request = pass_over(LikelihoodPass::settle, point);
  request.tolerance = tolerance;
  wait_for(request);
  SettledCoefficients found{};
  score.assign(b.size(), 0);
  gram.assign(penalty.size(), 0);
  by_tau.assign(b.size(), 0);
  b.assign(b.size(), 0);
  for_each_group(active, [&](const std::vector<int>& places, const double* sums) {
    const std::size_t columns = places.size();
    take_score_and_gram(active, places, sums, score, gram);
    const double* const coefs = sums + packed_size(static_cast<int>(columns)) + columns;
    take_vector(places, coefs, b);
    found.decrement = coefs[columns];
    take_loss(places, coefs + columns + 1, found.loss, by_tau);
  });
  found.is_settled = !std::isnan(found.decrement);
  // Later passes read the coefficients from the input.
  put_vector(active, b, coefficients);
  return found;
}

void DeviceSums::weight_derivatives(const LikelihoodPoint& point, const std::vector<double>& inverse,
                                    const std::vector<std::vector<double>>& first, bool with_tau,
                                    WeightSums& to) {
  const ActiveColumns& active = point.active;
  const std::size_t m = first.size();
  // In kernels tau is always the last parameter.
  const auto slot_of = [&](std::size_t j) { return with_tau && j + 1 == m ? at(layout_.parameters - 1) : j; };
  put_matrix(active, inverse, 0);
  const std::vector<double> zeros(at(active.size()));
  for (int slot = 0; slot < layout_.parameters; ++slot) put_vector(active, zeros, slot);
  for (std::size_t j = 0; j < m; ++j) put_vector(active, first[j], static_cast<int>(slot_of(j)));
  LikelihoodRequest request = pass_over(LikelihoodPass::weight_derivatives, point);
  request.with_tau = with_tau ? 1 : 0;
  wait_for(request);

  to.set_zero(m, active.size());
  const auto all = at(layout_.parameters);
  for_each_group(active, [&](const std::vector<int>& places, const double* sums) {
    const auto elements = at(packed_size(static_cast<int>(places.size())));
    const double* const pairs = sums + all * elements;
    const double* const vectors = pairs + all * all;
    for (std::size_t j = 0; j < m; ++j) {
      take_matrix(active, places, sums + slot_of(j) * elements, to.grams[j]);
      for (std::size_t k = j; k < m; ++k)
        to.leverage_sums(static_cast<int>(j), static_cast<int>(k)) += pairs[slot_of(j) * all + slot_of(k)];
    }
    take_vector(places, vectors, to.leverage_slope);
    if (with_tau) take_vector(places, vectors + places.size(), to.score_by_tau_twice);
  });
}

PearsonSums DeviceSums::expected_gram(const LikelihoodPoint& point, std::vector<double>& gram) {
  wait_for(pass_over(LikelihoodPass::expected_gram, point));
  gram.assign(at(packed_size(point.active.size())), 0);
  double pearson = 0;
  for_each_group(point.active, [&](const std::vector<int>& places, const double* sums) {
    take_matrix(point.active, places, sums, gram);
    pearson += sums[packed_size(static_cast<int>(places.size()))];
  });
  return {.squares = pearson};
}

double DeviceSums::null_loss(ManyFamily family, double theta, double level) {
  double loss = 0;
  const auto at = [&](double at_level) {
    LikelihoodRequest request =
        pass_over(LikelihoodPass::null_model, family, theta, 0, design_.groups.size());
    request.level = at_level;
    wait_for(request);
    NullDerivatives total;
    loss = 0;
    for (std::size_t g = 0; g < design_.groups.size(); ++g) {
      const double* const sums = memory_.host_output + layout_.output_begins[g];
      total.score += sums[0];
      total.weight += sums[1];
      loss += sums[2];
    }
    return total;
  };
  (void)at(find_null_level(level, at));
  return loss;
}

}  // namespace

/// The requests of a batch. Double-buffered: one batch is computed while the next is written.
struct RequestMemory {
  PinnedBuffer<LikelihoodRequest> host;
  Buffer<LikelihoodRequest> device;
  PinnedBuffer<LikelihoodBlock> host_blocks;
  Buffer<LikelihoodBlock> device_blocks;
  std::optional<Event> served;
};

/// State of a device between passes.
struct DeviceLikelihood::OnDevice {
  LikelihoodBatch design{};  ///< kernel arguments except requests and blocks
  LikelihoodResponse shared{};
  std::vector<Buffer<double>> numbers;
  Buffer<LikelihoodGroup> groups;
  Buffer<LikelihoodChunk> chunks;
  std::array<Buffer<long long>, 2> begins;

  std::vector<ResponseMemory> responses;
  std::vector<FiberPool> fibers;  ///< idle fibers of each host thread
  PinnedBuffer<double> host_numbers;
  Buffer<double> device_numbers;
  std::array<RequestMemory, 2> requests;

  void load(const SharedDesign& shared_design, const LikelihoodLayout& layout, const Tile& tile);
  /// Allocates memory for `count` concurrent responses, or for as many as the budget allows.
  void reserve(std::size_t count, const SharedDesign& shared_design, std::size_t parts,
               const LikelihoodLayout& layout, const Tile& tile, const DeviceContext& context);
  /// Enqueues the computation of a batch on the stream.
  void serve(const Queue::Batch& batch, RequestMemory& memory, std::size_t slots,
             const LikelihoodLayout& layout, const LikelihoodKernels& kernels, const Tile& tile);
};

void DeviceLikelihood::OnDevice::load(const SharedDesign& shared_design, const LikelihoodLayout& layout,
                                      const Tile& tile) {
  if (groups) return;
  const auto keep = [&](const std::vector<double>& values) {
    return numbers.emplace_back(kept(values, tile)).data();
  };
  std::vector<LikelihoodGroup> with_rows = layout.groups;
  for (std::size_t g = 0; g < with_rows.size(); ++g) with_rows[g].x = keep(shared_design.groups[g].x);
  shared.weights = keep(shared_design.weight);
  shared.offset = keep(shared_design.offset);
  groups = kept(with_rows, tile);
  chunks = kept(layout.chunks, tile);
  begins = {kept(layout.partial_begins, tile), kept(layout.output_begins, tile)};
  design = {groups.data(), chunks.data(), begins[0].data(), begins[1].data(), nullptr, nullptr};
}

void DeviceLikelihood::OnDevice::reserve(std::size_t count, const SharedDesign& shared_design,
                                         std::size_t parts, const LikelihoodLayout& layout, const Tile& tile,
                                         const DeviceContext& context) {
  const std::size_t values = shared_design.slots() * parts;
  const auto inputs = at(layout.inputs);
  // Tiled groups read their inputs too often to leave them in mapped host memory.
  const std::size_t copied_inputs = layout.has_tiles ? inputs : 0;
  const auto on_host = values + inputs + at(layout.outputs());
  const auto on_device = values + copied_inputs + at(layout.partials());
  const auto budget = at(tile.memory_budget_bytes() / responses_share);
  count = std::clamp<std::size_t>(budget / (on_device * sizeof(double)), 1, count);
  if (count <= responses.size()) return;
  responses.clear();
  host_numbers = PinnedBuffer<double>(count * on_host, context);
  device_numbers = tile.buffers().take<double>(count * on_device, tile.stream());
  for (RequestMemory& memory : requests) {
    const std::size_t most = count * shared_design.components.size();
    memory.host = PinnedBuffer<LikelihoodRequest>(most, context);
    memory.device = tile.buffers().take<LikelihoodRequest>(most, tile.stream());
    memory.host_blocks = PinnedBuffer<LikelihoodBlock>(count * at(layout.blocks), context);
    memory.device_blocks = tile.buffers().take<LikelihoodBlock>(count * at(layout.blocks), tile.stream());
    memory.served.emplace(context);
  }
  void* mapped = nullptr;
  check(cudaHostGetDevicePointer(&mapped, host_numbers.data(), 0), "cudaHostGetDevicePointer");
  for (std::size_t i = 0; i < count; ++i) {
    double* const host = host_numbers.data() + i * on_host;
    double* const from_device = static_cast<double*>(mapped) + i * on_host;
    double* const device = device_numbers.data() + i * on_device;
    double* const mapped_input = from_device + values;
    responses.push_back({.host_values = host,
                         .host_input = host + values,
                         .host_output = host + values + inputs,
                         .values = device,
                         .input = layout.has_tiles ? device + values : mapped_input,
                         .sums = device + values + copied_inputs,
                         .mapped_input = mapped_input,
                         .mapped_output = mapped_input + inputs});
  }
}

void DeviceLikelihood::OnDevice::serve(const Queue::Batch& batch, RequestMemory& memory, std::size_t slots,
                                       const LikelihoodLayout& layout, const LikelihoodKernels& kernels,
                                       const Tile& tile) {
  std::array<std::size_t, likelihood_passes> of_pass{};
  int most_groups = 0;
  int most_inputs = 0;
  for (const Queue::Waiting& waiting : batch) {
    const LikelihoodRequest& request = waiting.request->request;
    ++of_pass[static_cast<std::size_t>(request.pass)];
    most_groups = std::max(most_groups, request.end_group - request.first_group);
    most_inputs = std::max(most_inputs, request.end_input - request.first_input);
    ResponseMemory& response = *waiting.request->memory;
    for (std::size_t part = 0; part < response.to_copy.size(); ++part) {
      const std::size_t bytes = std::exchange(response.to_copy[part], 0);
      if (bytes > 0)
        check(cudaMemcpyAsync(response.values + part * slots, response.host_values + part * slots, bytes,
                              cudaMemcpyHostToDevice, stream_of(tile)),
              "copy of a response to the device");
    }
  }
  // Counting sort of the requests by pass.
  std::exclusive_scan(of_pass.begin(), of_pass.end(), of_pass.begin(), std::size_t{0});
  for (const Queue::Waiting& waiting : batch) {
    const LikelihoodRequest& request = waiting.request->request;
    memory.host.data()[of_pass[static_cast<std::size_t>(request.pass)]++] = request;
  }
  std::size_t blocks = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const LikelihoodRequest& request = memory.host.data()[i];
    const int end_chunk = layout.groups[at(request.end_group - 1)].end_chunk;
    for (int chunk = layout.groups[at(request.first_group)].first_chunk; chunk < end_chunk; ++chunk) {
      const int columns = layout.groups[at(layout.chunks[at(chunk)].group)].columns;
      const int parts = request.pass == LikelihoodPass::null_model ? 1 : likelihood_parts(columns);
      for (int part = 0; part < parts; ++part)
        memory.host_blocks.data()[blocks++] = {static_cast<int>(i), chunk, part};
    }
  }
  upload(memory.device.data(), memory.host.data(), batch.size(), tile);
  upload(memory.device_blocks.data(), memory.host_blocks.data(), blocks, tile);

  const StreamView stream = tile.stream();
  constexpr tessera::Extent block{likelihood_threads};
  const auto count = static_cast<unsigned>(batch.size());
  LikelihoodBatch all = design;
  all.requests = memory.device.data();
  all.blocks = memory.device_blocks.data();
  if (layout.has_tiles && most_inputs > 0)
    launch(kernels.gather, {blocks_for(most_inputs), count}, block, 0, stream, all);
  launch(kernels.sum, {static_cast<unsigned>(blocks)}, block, 0, stream, all);
  if (layout.has_split_groups)
    launch(kernels.add_chunks, {static_cast<unsigned>(most_groups), count}, block, 0, stream, all);
  memory.served->record(stream);
}

DeviceLikelihood::DeviceLikelihood(const SharedDesign& design, ManyFamily family, bool own_rows)
    : design_(design),
      layout_(design),
      source_(likelihood_kernel_source(layout_, family)),
      parts_(own_rows ? ResponseMemory{}.to_copy.size() : 1) {}
DeviceLikelihood::~DeviceLikelihood() = default;

DeviceLikelihood::OnDevice& DeviceLikelihood::on_device(int index) {
  const std::scoped_lock lock(mutex_);
  auto& slot = devices_[index];
  if (!slot) slot = std::make_unique<OnDevice>();
  return *slot;
}

void DeviceLikelihood::run(Tile& tile, std::size_t threads, std::size_t responses,
                           FunctionRef<void(std::unique_ptr<LikelihoodSums>)> fit) {
  const auto backend = probe_backend_with_compile(source_.name, [&](const BackendContext& context) {
    return LikelihoodKernels(context.modules->load(source_, context.capability));
  });
  OnDevice& on = on_device(tile.device_index());
  on.load(design_, layout_, tile);
  on.reserve(responses, design_, parts_, layout_, tile, *backend.context.device);

  const std::size_t count = std::min(responses, on.responses.size());
  Queue queue(count, design_.components.size());
  std::mutex mutex;
  std::exception_ptr fault;
  const auto keep_fault = [&] {
    const std::scoped_lock lock(mutex);
    if (!fault) fault = std::current_exception();
    queue.close();
  };
  const auto fit_with = [&](std::size_t response) {
    try {
      fit(std::make_unique<DeviceSums>(design_, layout_, on.shared, on.responses[response], queue));
    } catch (const Queue::Closed&) {
      // The thread that closed the queue reports the error.
    } catch (...) {
      keep_fault();
    }
  };
  {
    std::vector<std::jthread> workers;
    const std::size_t worker_count = std::min(threads, count);
    on.fibers.resize(std::max(on.fibers.size(), worker_count));
    for (std::size_t i = 0; i < worker_count; ++i) {
      const std::size_t begin = count * i / worker_count;
      const std::size_t own = count * (i + 1) / worker_count - begin;
      try {
        workers.emplace_back([&, i, begin, own] {
          try {
            queue.run(on.fibers[i], own, [&](std::size_t j) { fit_with(begin + j); });
          } catch (...) {
            // Out of memory for fibers: no fit of this thread has begun.
            keep_fault();
            queue.expect_fewer(own);
          }
        });
      } catch (const std::system_error&) {
        // Thread limit reached: continue with the threads that have started.
        if (workers.empty()) throw;
        queue.expect_fewer(own);
      }
    }
    // Computes one batch while collecting the next.
    Queue::Batch computed;
    Queue::Batch next;
    try {
      for (std::size_t slot = 0;; computed = std::exchange(next, {})) {
        next = computed.empty() ? queue.next() : queue.next_if_ready();
        if (next.empty() && computed.empty()) break;
        const std::size_t slot_of_computed = slot;
        if (!next.empty()) {
          slot = 1 - slot;
          on.serve(next, on.requests[slot], design_.slots(), layout_, *backend.built, tile);
        }
        if (!computed.empty()) {
          on.requests[slot_of_computed].served->synchronize();
          queue.finish(computed);
        }
        if (tile.stopping()) queue.close();
      }
    } catch (...) {
      keep_fault();
      queue.finish(computed);
      queue.finish(next);
    }
  }
  if (fault) std::rethrow_exception(fault);
}

}  // namespace TESSERA_NAMESPACE::gam
