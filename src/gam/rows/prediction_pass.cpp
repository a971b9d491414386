// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/prediction_pass.hpp"

#include "base/at.hpp"
#include "gam/rows/device_prediction.hpp"
#include "gam/rows/host_prediction.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/real_devices.hpp"
#include "gam/rows/variance_form.hpp"

#include <tessera/job/together.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace tessera::gam {
namespace {

using base::at;

/// Shared by host and device predictions.
struct Prepared {
  Prepared(const Job& job, const Rows& rows, const Posterior& posterior)
      : layout(*rows.design, rows.family.parameter_count(), rows.pairs.get()),
        raw_coef(rows.design->raw_coefficients(posterior.coef)) {
    if (!posterior.covariance.empty()) form = variance_form(*rows.design, layout, posterior.covariance);
    host.emplace(rows, layout, raw_coef, form, posterior.response);
    device.emplace(rows, layout, raw_coef, form, posterior.response, make_device_table(job));
  }

  RowLayout layout;
  std::vector<double> raw_coef;
  std::vector<double> form;
  std::optional<HostPrediction> host;
  std::optional<DevicePrediction> device;
};

}  // namespace

std::vector<Prediction> predict_rows(Job& job, const Plan& plan, const Rows& rows,
                                     const Posterior& posterior) {
  std::optional<Prepared> prepared;
  together(job.comm(), [&] { prepared.emplace(job, rows, posterior); });
  // A failure is not checked here: the tiles then fail, and the job falls back with the reason.
  if (begins_on_real_devices(job, plan)) (void)job.compile(prepared->device->source());

  const std::int64_t first = rows.frame->rows.begin;
  using Complete = std::span<const std::uint8_t>;
  return job.map<Prediction>(
      plan, Complete(rows.frame->complete),
      [&](Tile& tile, Complete, std::span<Prediction> out) { prepared->device->predict(tile, out); },
      [&](const HostTile& tile, Complete, std::span<Prediction> out) {
        prepared->host->predict(at(tile.range.begin - first), at(tile.range.end - first), out);
      },
      prepared->device->bytes_per_row());
}

}  // namespace tessera::gam
