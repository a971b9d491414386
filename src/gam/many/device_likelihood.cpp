// SPDX-License-Identifier: Apache-2.0
#include "gam/many/device_likelihood.hpp"

#include "base/at.hpp"
#include "gam/many/request_queue.hpp"
#include "gam/rows/device_memory.hpp"

#include <tessera/device/backend.hpp>
#include <tessera/memory/pinned.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

/// The share of a device's memory budget that responses and their partial sums may take.
constexpr int responses_share = 2;
constexpr unsigned gather_blocks = 4;

struct Kernels {
  explicit Kernels(const Module& module)
      : gather(module.kernel("gather_inputs")),
        sum{module.kernel("score_and_gram"), module.kernel("expected_gram"), module.kernel("loss"),
            module.kernel("weight_derivatives"), module.kernel("null_model")},
        add_chunks(module.kernel("add_chunks")) {}
  KernelView gather;
  std::array<KernelView, likelihood_passes> sum;  ///< by `LikelihoodPass`
  KernelView add_chunks;
};

/// Memory of one response that is being fitted: on the host, pinned and mapped into the device's addresses,
/// and on the device.
struct ResponseMemory {
  double* host_values;  ///< responses by slot, then weights and offsets of their own
  double* host_input;
  double* host_output;
  double* values;  ///< on the device, as `host_values`
  double* input;
  // The device's addresses of the host's memory.
  double* mapped_input;
  double* mapped_output;
};

/// A pass that a thread waits for.
struct WaitingPass {
  LikelihoodPass pass;
  LikelihoodRequest request;
  /// Bytes of `ResponseMemory::values` to be copied to the device first, by part: responses, weights,
  /// offsets.
  std::array<std::size_t, 3> copies;
  const ResponseMemory* memory;
};

using Queue = RequestQueue<WaitingPass>;

/// The sums of one response after another, for one thread.
class DeviceSums final : public LikelihoodSums {
 public:
  /// All must outlive it. `shared`: weights and offset of the design.
  DeviceSums(const SharedDesign& design, const LikelihoodLayout& layout, const LikelihoodResponse& shared,
             const ResponseMemory& memory, Queue& queue)
      : design_(design), layout_(layout), shared_(shared), memory_(memory), queue_(queue) {
    waiting_.memory = &memory_;
    waiting_.request.host_input = memory_.mapped_input;
    waiting_.request.input = memory_.input;
    waiting_.request.output = memory_.mapped_output;
  }

  void set_response(std::span<const double> y, std::span<const double> weights,
                    std::span<const double> offset) override;
  void score_and_gram(const LikelihoodPoint& point, const std::vector<double>& b, std::vector<double>& score,
                      std::vector<double>& gram) override;
  [[nodiscard]] LossDerivatives loss(const LikelihoodPoint& point, std::vector<double>& by_tau) override;
  void weight_derivatives(const LikelihoodPoint& point, const std::vector<double>& inverse,
                          const std::vector<std::vector<double>>& first, bool with_tau,
                          WeightSums& to) override;
  [[nodiscard]] double expected_gram(const LikelihoodPoint& point, std::vector<double>& gram) override;
  [[nodiscard]] double null_loss(ManyFamily family, double theta, double level) override;

 private:
  /// Copies what a response has of its own.
  void set_own(std::size_t part, std::span<const double> values, const double*& on_device) {
    const std::size_t begin = part * design_.slots();
    std::ranges::copy(values, memory_.host_values + begin);
    waiting_.copies[part] = values.size_bytes();
    on_device = memory_.values + begin;
  }
  /// Computes a pass over groups [first, last) with the coefficients of their last `score_and_gram`, and
  /// waits for it.
  void sum(LikelihoodPass pass, ManyFamily family, double theta, std::size_t first, std::size_t last) {
    LikelihoodRequest& request = waiting_.request;
    waiting_.pass = pass;
    request.theta = theta;
    request.log_theta = std::log(theta);
    request.is_poisson = family == ManyFamily::poisson ? 1 : 0;
    request.first_group = static_cast<int>(first);
    request.end_group = static_cast<int>(last);
    queue_.wait_for(waiting_);
    waiting_.copies = {};
  }
  void sum(LikelihoodPass pass, const LikelihoodPoint& point) {
    sum(pass, point.family, point.theta, point.active.first_group(), point.active.last_group());
  }
  /// Calls `use(sums)` for each group of the columns that is not absent, with the places of its columns.
  template <class Use>
  void for_each_group(LikelihoodPass pass, const ActiveColumns& active, const Use& use) {
    for (std::size_t g = active.first_group(); g < active.last_group(); ++g) {
      if (active.is_absent(g)) continue;
      places_.clear();
      for (const int column : design_.groups[g].columns) places_.push_back(active.place(column));
      use(memory_.host_output + layout_.of(pass).output_begins[g]);
    }
  }
  void take_vector(const double* sums, std::vector<double>& to) const {
    for (std::size_t a = 0; a < places_.size(); ++a) {
      if (places_[a] >= 0) to[at(places_[a])] += sums[a];
    }
  }
  void take_matrix(const ActiveColumns& active, const double* sums, std::vector<double>& to) const {
    std::size_t i = 0;
    for (std::size_t a = 0; a < places_.size(); ++a) {
      for (std::size_t b = a; b < places_.size(); ++b, ++i) {
        if (places_[a] >= 0 && places_[b] >= 0)
          to[place_in_packed(active.size(), places_[a], places_[b])] += sums[i];
      }
    }
  }
  /// Writes the values of all columns of the groups, from those of the active columns, to `all`, which begins
  /// with the first group of the design.
  void put_vector(const ActiveColumns& active, const std::vector<double>& values, double* all) const {
    for (std::size_t g = active.first_group(); g < active.last_group(); ++g) {
      double* to = all + layout_.groups[g].first_coefficient;
      for (const int column : design_.groups[g].columns) {
        const int place = active.place(column);
        *to++ = place < 0 ? 0 : values[at(place)];
      }
    }
  }

  const SharedDesign& design_;
  const LikelihoodLayout& layout_;
  LikelihoodResponse shared_;
  ResponseMemory memory_;
  Queue& queue_;
  WaitingPass waiting_{};
  std::vector<int> places_;
};

void DeviceSums::set_response(std::span<const double> y, std::span<const double> weights,
                              std::span<const double> offset) {
  const std::size_t slots = design_.slots();
  LikelihoodResponse& response = waiting_.request.response;
  response = shared_;
  const auto is_missing = [&](std::size_t slot) { return weights[slot] == 0 && design_.weight[slot] != 0; };
  constexpr double most_count = 65534;
  bool are_counts = true;
  bool has_own_weights = false;
  for (std::size_t slot = 0; slot < slots; ++slot) {
    are_counts = are_counts && y[slot] >= 0 && y[slot] <= most_count && y[slot] == std::floor(y[slot]);
    has_own_weights = has_own_weights || (weights[slot] != design_.weight[slot] && weights[slot] != 0);
  }
  if (are_counts) {
    auto* const to = reinterpret_cast<unsigned short*>(memory_.host_values);
    for (std::size_t slot = 0; slot < slots; ++slot)
      to[slot] = static_cast<unsigned short>(is_missing(slot) ? most_count + 1 : y[slot]);
    response.counts = reinterpret_cast<const unsigned short*>(memory_.values);
    waiting_.copies = {slots * sizeof(unsigned short)};
  } else {
    for (std::size_t slot = 0; slot < slots; ++slot)
      memory_.host_values[slot] = is_missing(slot) ? std::numeric_limits<double>::quiet_NaN() : y[slot];
    response.y = memory_.values;
    waiting_.copies = {slots * sizeof(double)};
  }
  if (has_own_weights) set_own(1, weights, response.weights);
  if (!std::ranges::equal(offset, design_.offset)) set_own(2, offset, response.offset);
}

void DeviceSums::score_and_gram(const LikelihoodPoint& point, const std::vector<double>& b,
                                std::vector<double>& score, std::vector<double>& gram) {
  put_vector(point.active, b, memory_.host_input);
  sum(LikelihoodPass::score_and_gram, point);
  score.assign(b.size(), 0);
  gram.assign(at(packed_size(point.active.size())), 0);
  for_each_group(LikelihoodPass::score_and_gram, point.active, [&](const double* sums) {
    take_matrix(point.active, sums, gram);
    take_vector(sums + packed_size(static_cast<int>(places_.size())), score);
  });
}

LossDerivatives DeviceSums::loss(const LikelihoodPoint& point, std::vector<double>& by_tau) {
  sum(LikelihoodPass::loss, point);
  by_tau.assign(at(point.active.size()), 0);
  LossDerivatives total;
  for_each_group(LikelihoodPass::loss, point.active, [&](const double* sums) {
    total.value += sums[0];
    total.by_tau -= sums[1];
    total.by_tau_twice -= sums[2];
    take_vector(sums + 3, by_tau);
  });
  return total;
}

void DeviceSums::weight_derivatives(const LikelihoodPoint& point, const std::vector<double>& inverse,
                                    const std::vector<std::vector<double>>& first, bool with_tau,
                                    WeightSums& to) {
  const ActiveColumns& active = point.active;
  const std::size_t m = first.size();
  // Tau is the last parameter of the kernels.
  const auto slot_of = [&](std::size_t j) { return with_tau && j + 1 == m ? at(layout_.parameters - 1) : j; };
  double* const inverses = memory_.host_input + layout_.coefficients;
  double* const derivatives = inverses + layout_.elements;
  for (std::size_t g = active.first_group(); g < active.last_group(); ++g) {
    const std::vector<int>& columns = design_.groups[g].columns;
    double* element = inverses + layout_.groups[g].first_element;
    for (std::size_t a = 0; a < columns.size(); ++a) {
      for (std::size_t b = a; b < columns.size(); ++b) {
        const int i = active.place(columns[a]);
        const int j = active.place(columns[b]);
        *element++ = i < 0 || j < 0 ? 0 : inverse[place_in_packed(active.size(), i, j)];
      }
    }
  }
  std::fill_n(derivatives, at(layout_.parameters * layout_.coefficients), 0.0);
  for (std::size_t j = 0; j < m; ++j)
    put_vector(active, first[j], derivatives + slot_of(j) * at(layout_.coefficients));
  waiting_.request.with_tau = with_tau ? 1 : 0;
  sum(LikelihoodPass::weight_derivatives, point);

  to.set_zero(m, active.size());
  const auto all = at(layout_.parameters);
  for_each_group(LikelihoodPass::weight_derivatives, active, [&](const double* sums) {
    const auto elements = at(packed_size(static_cast<int>(places_.size())));
    const double* const pairs = sums + all * elements;
    const double* const vectors = pairs + all * all;
    for (std::size_t j = 0; j < m; ++j) {
      take_matrix(active, sums + slot_of(j) * elements, to.grams[j]);
      for (std::size_t k = j; k < m; ++k)
        to.leverage_sums(static_cast<int>(j), static_cast<int>(k)) += pairs[slot_of(j) * all + slot_of(k)];
    }
    take_vector(vectors, to.leverage_slope);
    if (with_tau) take_vector(vectors + places_.size(), to.score_by_tau_twice);
  });
}

double DeviceSums::expected_gram(const LikelihoodPoint& point, std::vector<double>& gram) {
  sum(LikelihoodPass::expected_gram, point);
  gram.assign(at(packed_size(point.active.size())), 0);
  double pearson = 0;
  for_each_group(LikelihoodPass::expected_gram, point.active, [&](const double* sums) {
    take_matrix(point.active, sums, gram);
    pearson += sums[packed_size(static_cast<int>(places_.size()))];
  });
  return pearson;
}

double DeviceSums::null_loss(ManyFamily family, double theta, double level) {
  double loss = 0;
  const auto at = [&](double at_level) {
    waiting_.request.level = at_level;
    sum(LikelihoodPass::null_model, family, theta, 0, design_.groups.size());
    NullDerivatives total;
    loss = 0;
    const double* sums = memory_.host_output;
    for (std::size_t g = 0; g < design_.groups.size(); ++g, sums += 3) {
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

/// What stays on one device between passes.
struct DeviceLikelihood::OnDevice {
  LikelihoodBatch design{};  ///< without requests
  LikelihoodResponse shared{};
  std::vector<Buffer<double>> numbers;
  Buffer<LikelihoodGroup> groups;
  Buffer<LikelihoodChunk> chunks;
  std::array<LikelihoodBatch, likelihood_passes> passes;  ///< by `LikelihoodPass`, without requests
  std::vector<Buffer<long long>> begins;

  std::vector<ResponseMemory> responses;
  std::vector<FiberStack> stacks;  ///< by response
  PinnedBuffer<double> host_numbers;
  PinnedBuffer<LikelihoodRequest> host_requests;
  Buffer<double> of_responses, partials;
  Buffer<LikelihoodRequest> requests;

  void load(const SharedDesign& shared_design, const LikelihoodLayout& layout, const Tile& tile);
  /// Memory for `count` responses at a time, or as many as the budget allows.
  void reserve(std::size_t count, std::size_t slots, std::size_t parts, const LikelihoodLayout& layout,
               const Tile& tile, const DeviceContext& context);
  void serve(std::span<WaitingPass* const> batch, std::size_t slots, const LikelihoodLayout& layout,
             const Kernels& kernels, const Tile& tile);
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
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const LikelihoodLayout::Pass& pass = layout.passes[i];
    passes[i] = {groups.data(),
                 chunks.data(),
                 nullptr,
                 begins.emplace_back(kept(pass.partial_begins, tile)).data(),
                 begins.emplace_back(kept(pass.output_begins, tile)).data(),
                 pass.partial_begins.back(),
                 nullptr};
  }
}

void DeviceLikelihood::OnDevice::reserve(std::size_t count, std::size_t slots, std::size_t parts,
                                         const LikelihoodLayout& layout, const Tile& tile,
                                         const DeviceContext& context) {
  const std::size_t values = slots * parts;
  const auto inputs = at(layout.inputs());
  const auto outputs = at(layout.outputs());
  const auto sums = at(layout.partials());
  const auto budget = at(tile.memory_budget_bytes() / responses_share);
  count = std::clamp<std::size_t>(budget / ((values + inputs + sums) * sizeof(double)), 1, count);
  if (count <= responses.size()) return;
  responses.clear();
  stacks.clear();
  const std::size_t on_host = values + inputs + outputs;
  const std::size_t on_device = values + inputs;
  host_numbers = PinnedBuffer<double>(count * on_host, context);
  host_requests = PinnedBuffer<LikelihoodRequest>(count, context);
  of_responses = tile.buffers().take<double>(count * on_device, tile.stream());
  partials = tile.buffers().take<double>(count * sums, tile.stream());
  requests = tile.buffers().take<LikelihoodRequest>(count, tile.stream());
  void* mapped = nullptr;
  check(cudaHostGetDevicePointer(&mapped, host_numbers.data(), 0), "cudaHostGetDevicePointer");
  for (std::size_t i = 0; i < count; ++i) {
    double* const host = host_numbers.data() + i * on_host;
    double* const from_device = static_cast<double*>(mapped) + i * on_host;
    double* const device = of_responses.data() + i * on_device;
    stacks.emplace_back();
    responses.push_back({host, host + values, host + values + inputs, device, device + values,
                         from_device + values, from_device + values + inputs});
  }
}

void DeviceLikelihood::OnDevice::serve(std::span<WaitingPass* const> batch, std::size_t slots,
                                       const LikelihoodLayout& layout, const Kernels& kernels,
                                       const Tile& tile) {
  std::array<std::size_t, likelihood_passes> counts{};
  std::array<int, likelihood_passes> most_chunks{};
  std::array<int, likelihood_passes> most_groups{};
  for (const WaitingPass* const waiting : batch) {
    const auto pass = static_cast<std::size_t>(waiting->pass);
    const LikelihoodRequest& request = waiting->request;
    ++counts[pass];
    most_groups[pass] = std::max(most_groups[pass], request.end_group - request.first_group);
    most_chunks[pass] = std::max(most_chunks[pass], layout.groups[at(request.end_group - 1)].end_chunk -
                                                        layout.groups[at(request.first_group)].first_chunk);
    for (std::size_t part = 0; part < waiting->copies.size(); ++part) {
      const std::size_t begin = part * slots;
      if (waiting->copies[part] > 0)
        check(cudaMemcpyAsync(waiting->memory->values + begin, waiting->memory->host_values + begin,
                              waiting->copies[part], cudaMemcpyHostToDevice, stream_of(tile)),
              "copy of a response to the device");
    }
  }
  // Sorted by pass.
  std::array<std::size_t, likelihood_passes> next{};
  for (std::size_t i = 1; i < next.size(); ++i) next[i] = next[i - 1] + counts[i - 1];
  for (const WaitingPass* const waiting : batch)
    host_requests.data()[next[static_cast<std::size_t>(waiting->pass)]++] = waiting->request;
  upload(requests.data(), host_requests.data(), batch.size(), tile);

  const StreamView stream = tile.stream();
  constexpr tessera::Extent block{likelihood_threads};
  const LikelihoodRequest* first = requests.data();
  for (std::size_t i = 0; i < passes.size(); ++i) {
    if (counts[i] == 0) continue;
    const auto pass = static_cast<LikelihoodPass>(i);
    LikelihoodBatch of_pass = passes[i];
    of_pass.requests = first;
    of_pass.sums = partials.data();
    first += counts[i];
    const auto count = static_cast<unsigned>(counts[i]);
    const auto parts = static_cast<unsigned>(layout.parts);
    const auto all_chunks = static_cast<unsigned>(most_chunks[i]);
    if (const int inputs = layout.inputs_of(pass); inputs > 0)
      launch(kernels.gather, {gather_blocks, count}, block, 0, stream, of_pass, inputs);
    if (pass == LikelihoodPass::weight_derivatives)
      launch(kernels.sum[i], {all_chunks, count, static_cast<unsigned>(layout.parameters + 1) * parts}, block,
             0, stream, of_pass, layout.parts);
    else
      launch(kernels.sum[i], {all_chunks, count, pass == LikelihoodPass::null_model ? 1 : parts}, block, 0,
             stream, of_pass);
    launch(kernels.add_chunks, {static_cast<unsigned>(most_groups[i]), count}, block, 0, stream, of_pass);
  }
  check(cudaStreamSynchronize(stream_of(tile)), "pass over the rows of many responses");
}

DeviceLikelihood::DeviceLikelihood(const SharedDesign& design, ManyFamily family, bool own_rows)
    : design_(design),
      layout_(design),
      source_(likelihood_kernel_source(design, family)),
      parts_(own_rows ? WaitingPass{}.copies.size() : 1) {}
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
    return Kernels(context.modules->load(source_, context.capability));
  });
  OnDevice& on = on_device(tile.device_index());
  on.load(design_, layout_, tile);
  on.reserve(responses, design_.slots(), parts_, layout_, tile, *backend.context.device);

  const std::size_t count = std::min(responses, on.responses.size());
  Queue queue(count);
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
      // Whoever closed the queue has the reason.
    } catch (...) {
      keep_fault();
    }
  };
  {
    std::vector<std::jthread> workers;
    const std::size_t worker_count = std::min(threads, count);
    for (std::size_t i = 0; i < worker_count; ++i) {
      const std::size_t begin = count * i / worker_count;
      const std::size_t own = count * (i + 1) / worker_count - begin;
      try {
        workers.emplace_back([&, begin, own] {
          queue.run(std::span(on.stacks).subspan(begin, own), [&](std::size_t j) { fit_with(begin + j); });
        });
      } catch (const std::system_error&) {
        // The system grants fewer threads.
        if (workers.empty()) throw;
        queue.expect_fewer(own);
      }
    }
    for (auto batch = queue.next(); !batch.empty(); batch = queue.next()) {
      if (tile.stopping()) {
        queue.close();
        continue;
      }
      try {
        on.serve(batch, design_.slots(), layout_, *backend.built, tile);
        queue.finish();
      } catch (...) {
        keep_fault();
      }
    }
  }
  if (fault) std::rethrow_exception(fault);
}

}  // namespace TESSERA_NAMESPACE::gam
