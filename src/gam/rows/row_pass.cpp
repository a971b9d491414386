// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/row_pass.hpp"

#include "base/at.hpp"
#include "gam/rows/columns.hpp"
#include "gam/rows/device_pass.hpp"
#include "gam/rows/host_pass.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/real_devices.hpp"

#include <algorithm>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

}  // namespace

struct RowPass::State {
  State(Job& the_job, Plan the_plan, Rows the_rows)
      : job(the_job),
        plan(std::move(the_plan)),
        rows(std::move(the_rows)),
        layout(*rows.design, rows.family.parameter_count(), rows.pairs.get(), &rows.series,
               rows.family.several() != nullptr),
        host(rows, layout),
        device(rows, layout, plan.block(), rows.on_devices ? rows.on_devices : make_device_table(job)) {}

  /// Compiles the kernels once. On failure, the tiles fail later, and the job falls back to the CPU.
  void compile() {
    if (compiled || !begins_on_real_devices(job, plan)) return;
    const RowModules& modules = device.modules();
    (void)job.compile(modules.terms);
    (void)job.compile(modules.family);
    (void)job.compile(modules.products);
    if (modules.crossproduct) (void)job.compile(*modules.crossproduct);
    compiled = true;
  }

  std::vector<double> reduce(PassKind kind, std::span<const double> raw_coef) {
    compile();
    const std::int64_t first = rows.frame->rows.begin;
    return job.reduce(
        plan, layout.width(kind),
        [&](Tile& tile, ReproducibleSum& sum) { device.add(kind, raw_coef, tile, sum); },
        [&](const HostTile& tile, std::span<double> partial) {
          host.add(kind, raw_coef, at(tile.range.begin - first), at(tile.range.end - first), partial);
        });
  }

  Job& job;
  Plan plan;
  Rows rows;
  RowLayout layout;
  HostRows host;
  DeviceRows device;
  bool compiled = false;
};

RowPass::RowPass(Job& job, Plan plan, Rows rows)
    : state_(std::make_unique<State>(job, std::move(plan), std::move(rows))) {}

RowPass::~RowPass() = default;

RawMoments RowPass::moments() {
  return state_->layout.moments(state_->reduce(PassKind::moments, {}));
}

RawSums RowPass::start() {
  const std::vector<double> zeros(at(state_->rows.design->raw_size));
  return state_->layout.sums(state_->reduce(PassKind::start, zeros));
}

RawSums RowPass::step(std::span<const double> raw_coef) {
  return state_->layout.sums(state_->reduce(PassKind::step, raw_coef));
}

RawDeviance RowPass::deviance(std::span<const double> raw_coef) {
  return RowLayout::deviance(state_->reduce(PassKind::deviance, raw_coef));
}

RawGoodness RowPass::goodness(std::span<const double> raw_coef, std::vector<double> null) {
  state_->rows.null_predictors = std::move(null);
  return RowLayout::goodness(state_->reduce(PassKind::deviance, raw_coef));
}

RawLikelihood RowPass::likelihood(std::span<const double> raw_coef) {
  return state_->layout.likelihood(state_->reduce(PassKind::parameters, raw_coef));
}

void RowPass::set_parameters(std::vector<double> parameters) {
  state_->rows.family = state_->rows.family.at(std::move(parameters));
}

void RowPass::read_every(int stride) {
  state_->host.read_every(stride);
}

std::int64_t RowPass::bytes_per_pass() const {
  return column_bytes_per_row(state_->rows) * state_->rows.frame->file_rows / state_->host.stride();
}

}  // namespace TESSERA_NAMESPACE::gam
