// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/prediction_pass.hpp"

#include "base/at.hpp"
#include "gam/rows/device_prediction.hpp"
#include "gam/rows/host_prediction.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/real_devices.hpp"
#include "gam/rows/variance_form.hpp"

#include <tessera/job/device_turn.hpp>
#include <tessera/job/together.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

template <class Element>
constexpr Element missing_element{};
template <>
constexpr double missing_element<double> = std::numeric_limits<double>::quiet_NaN();

struct PreparedHost {
  PreparedHost(const Rows& rows, const Posterior& posterior, std::size_t parameters = 0,
               const LevelPairs* pairs = nullptr)
      : layout(*rows.design, parameters, pairs), raw_coef(rows.design->raw_coefficients(posterior.coef)) {
    if (!posterior.covariance.empty()) form = variance_form(*rows.design, layout, posterior.covariance);
    host.emplace(rows, layout, raw_coef, form, posterior);
  }

  RowLayout layout;
  std::vector<double> raw_coef;
  std::vector<double> form;
  std::optional<HostPrediction> host;
};

struct Prepared : PreparedHost {
  Prepared(const Job& job, const Rows& rows, const Posterior& posterior)
      : PreparedHost(rows, posterior, rows.family.parameter_count(), rows.pairs.get()) {
    device.emplace(rows, layout, raw_coef, form, posterior.response, make_device_table(job));
  }

  std::optional<DevicePrediction> device;
};

/// Calls `evaluate(begin, end, out)`, then `take(begin, out)`, for ranges of rows; `columns` numbers per row.
template <class Element, class Evaluate, class Take>
void for_each_piece(Job& job, const Plan& plan, const Rows& rows, std::size_t columns,
                    const Evaluate& evaluate, const Take& take) {
  constexpr std::size_t elements_of_piece = std::size_t{1} << 17;
  const std::size_t at_once = std::max<std::size_t>(chunk_rows, elements_of_piece / columns);
  const std::int64_t first = rows.frame->rows.begin;
  using Complete = std::span<const std::uint8_t>;
  // `take` gets the results; the map's own output is unused.
  (void)job.map<std::uint8_t>(plan, Complete(rows.frame->complete), host_only,
                              [&](const HostTile& tile, Complete, std::span<std::uint8_t>) {
                                const std::size_t end = at(tile.range.end - first);
                                for (std::size_t begin = at(tile.range.begin - first); begin < end;
                                     begin += at_once) {
                                  const std::size_t size = std::min(at_once, end - begin);
                                  std::vector<Element> out(size * columns, missing_element<Element>);
                                  evaluate(begin, begin + size, out);
                                  take(begin, out);
                                }
                              });
}

}  // namespace

TermColumns columns_by_predictor(const Design& design, int predictors) {
  TermColumns columns{.count = predictors, .are_predictors = true};
  for (const RawTerm& term : design.terms)
    columns.of_raw.insert(columns.of_raw.end(), at(term.raw_size), term.predictor);
  return columns;
}

std::vector<Prediction> predict_rows(Job& job, const Plan& plan, const Rows& rows,
                                     const Posterior& posterior) {
  const DeviceTurn turn(job);  // held until the device memory is freed
  std::optional<Prepared> prepared;
  together(job.comm(), [&] { prepared.emplace(job, rows, posterior); });
  // If compilation fails, the tiles fail, and the job falls back to the CPU with the reason.
  if (begins_on_real_devices(job, plan)) prepared->device->compile(job);

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

void predict_terms(Job& job, const Plan& plan, const Rows& rows, const Posterior& posterior,
                   FunctionRef<void(std::size_t, std::span<const Prediction>)> take) {
  std::optional<PreparedHost> prepared;
  together(job.comm(), [&] { prepared.emplace(rows, posterior); });
  for_each_piece<Prediction>(
      job, plan, rows, at(posterior.terms.columns()),
      [&](std::size_t begin, std::size_t end, std::span<Prediction> out) {
        prepared->host->predict(begin, end, out);
      },
      take);
}

void predictors_at(Job& job, const Plan& plan, const Rows& rows, const Matrix& coefs,
                   FunctionRef<void(std::size_t, std::span<const double>)> take) {
  std::optional<RowLayout> layout;
  std::optional<HostPredictors> host;
  together(job.comm(), [&] {
    layout.emplace(*rows.design);
    host.emplace(rows, *layout, coefs);
  });
  for_each_piece<double>(
      job, plan, rows, at(coefs.cols()),
      [&](std::size_t begin, std::size_t end, std::span<double> out) { host->evaluate(begin, end, out); },
      take);
}

void design_rows(Job& job, const Plan& plan, const Rows& rows,
                 FunctionRef<void(std::size_t, std::span<const double>)> take) {
  std::optional<RowLayout> layout;
  std::optional<HostDesignRows> host;
  together(job.comm(), [&] {
    layout.emplace(*rows.design);
    host.emplace(rows, *layout);
  });
  for_each_piece<double>(
      job, plan, rows, at(rows.design->coef_size),
      [&](std::size_t begin, std::size_t end, std::span<double> out) { host->evaluate(begin, end, out); },
      take);
}

}  // namespace TESSERA_NAMESPACE::gam
