// SPDX-License-Identifier: Apache-2.0
#include "gam/family/family.hpp"

#include "gam/family/row_step.hpp"
#include "gam/family/visit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <type_traits>

namespace TESSERA_NAMESPACE::gam {
namespace {

template <class... F>
std::vector<std::string_view> names_of(FamilyList<F...> /*list*/) {
  return {F::name...};
}

/// Calls `use(typed family, index)` for each parameter and constant.
template <class T, class Use>
std::vector<T> of_each_value(const Family& family, const Use& use) {
  return visit(family, [&](const auto& one) {
    using F = std::decay_t<decltype(one)>;
    std::vector<T> all;
    if constexpr (ValuedFamily<F>) {
      for (int i = 0; i < value_count_of(one); ++i) all.push_back(use(one, i));
    }
    return all;
  });
}

template <class F>
constexpr int shown_count_of([[maybe_unused]] const F& family) {
  if constexpr (CountedFamily<F>) {
    return family.classes() - 1;
  } else {
    return F::shown_count;
  }
}

}  // namespace

std::string_view Family::name() const {
  return visit(*this, [](const auto& family) -> std::string_view { return family.name; });
}

bool Family::may_have(std::size_t values) const {
  return visit(*this, [&](const auto& family) {
    using F = std::decay_t<decltype(family)>;
    if constexpr (CountedFamily<F>) return values > 1 && values <= parameter_count_of<F>();
    return values == parameters_.size();
  });
}

Family Family::at(std::vector<double> parameters) const {
  if (!may_have(parameters.size()))
    throw std::invalid_argument(fmt::format("{} has {} parameters", name(), parameters_.size()));
  Family family = *this;
  family.parameters_ = std::move(parameters);
  return family;
}

std::size_t Family::parameter_count() const {
  return visit(*this,
               [](const auto& family) { return static_cast<std::size_t>(parameter_count_of(family)); });
}

bool Family::estimates(std::size_t index) const {
  return visit(*this, [&](const auto& family) {
    using F = std::decay_t<decltype(family)>;
    return index < static_cast<std::size_t>(parameter_count_of(family)) &&
           (estimated_ || index >= static_cast<std::size_t>(theta_count_of<F>())) &&
           !(CountedFamily<F> && index == 0);
  });
}

bool Family::moves(std::size_t index, bool with_intercept) const {
  return estimates(index) || (index == 0 && with_intercept && estimated_ && has_classes());
}

bool Family::estimates_parameters() const {
  const std::size_t count = parameter_count();
  return count > 0 && estimates(count - 1);
}

Family Family::estimated(bool estimated) const {
  if (parameter_count() == 0) throw std::invalid_argument(std::string(name()) + " has no parameter");
  Family family = *this;
  family.estimated_ = estimated;
  return family;
}

std::vector<std::string> Family::parameter_names() const {
  return of_each_value<std::string>(*this, [](const auto& family, int i) {
    std::string name = family.parameter_name(i);
    if constexpr (CountedFamily<std::decay_t<decltype(family)>>) name += std::to_string(i + 1);
    return name;
  });
}

bool Family::parameters_are_valid() const {
  return std::ranges::all_of(working_parameters(), [](double value) { return std::isfinite(value); });
}

std::vector<double> Family::working_parameters() const {
  return of_each_value<double>(
      *this, [](const auto& family, int i) { return family.working(i, family.parameter(i)); });
}

Family Family::at_working(std::span<const double> working) const {
  Family out = *this;
  for (std::size_t i = 0; i < parameter_count(); ++i) {
    if (!moves(i, true)) continue;
    // A working parameter may be relative to the preceding parameters.
    out.parameters_[i] = visit(out, [&](const auto& family) {
      double value = 0;
      if constexpr (ParametricFamily<std::decay_t<decltype(family)>>) {
        const int index = static_cast<int>(i);
        double inside = working[i];
        value = family.parameter_at(index, inside);
        // If rounding makes the parameter invalid, shrinks the working parameter until it is valid.
        while (std::isfinite(inside) && !std::isfinite(family.working(index, value)))
          value = family.parameter_at(index, inside *= 0.95);
      }
      return value;
    });
  }
  return out;
}

std::string_view Family::at_limit() const {
  return visit(*this, [](const auto& family) -> std::string_view {
    if constexpr (ParametricFamily<std::decay_t<decltype(family)>>) {
      return family.at_limit;
    } else {
      return {};
    }
  });
}

std::string Family::text() const {
  if (several_) return several_->text;
  std::vector<std::string> arguments = visit(*this, [&](const auto& family) {
    using F = std::decay_t<decltype(family)>;
    std::vector<std::string> all;
    if constexpr (ValuedFamily<F>) {
      std::vector<double> theta(
          parameters_.begin(),
          parameters_.begin() + std::min(theta_count_of<F>(), parameter_count_of(family)));
      if constexpr (CountedFamily<F>) {
        theta.pop_back();
        for (std::size_t i = 0; i < theta.size(); ++i) theta[i] = family.theta(static_cast<int>(i) + 1);
      }
      if constexpr (requires { F::theta_is_working; }) {
        if (estimated_) theta.clear();
        for (std::size_t i = 0; i < theta.size(); ++i)
          theta[i] = family.working(static_cast<int>(i), theta[i]);
      } else if (estimated_) {
        std::ranges::transform(theta, theta.begin(), std::negate());
      }
      if (theta.size() == 1) all.push_back(fmt::format("theta={}", theta[0]));
      if (theta.size() > 1) all.push_back(fmt::format("theta=c({})", fmt::join(theta, ", ")));
      for (int i = parameter_count_of(family); i < value_count_of(family); ++i) {
        const double value = family.parameter(i);
        if (std::isnan(value)) continue;  // the fit chooses this constant
        if constexpr (requires { F::choices; }) {
          all.push_back(fmt::format("{}=\"{}\"", F::parameter_name(i), F::choices[static_cast<int>(value)]));
        } else {
          all.push_back(fmt::format("{}={}", F::parameter_name(i), value));
        }
      }
    }
    return all;
  });
  if (link_ > 0) arguments.push_back(fmt::format("{}", link_name()));
  return arguments.empty() ? std::string(name()) : fmt::format("{}({})", name(), fmt::join(arguments, ", "));
}

std::string Family::title() const {
  return visit(*this, [&](const auto& family) -> std::string {
    using F = std::decay_t<decltype(family)>;
    if constexpr (requires { F::title[0]; }) {
      std::vector<std::string> values;
      for (int i = 0; i < shown_count_of(family); ++i) {
        double value = family.parameter(i);
        if constexpr (requires { family.shown(0); }) value = family.shown(i);
        // Three decimals, like R's paste() of round(theta, 3).
        if (i < parameter_count_of(family) && std::abs(value) < 1e12) value = std::round(value * 1000) / 1000;
        values.push_back(std::isinf(value) ? "Inf" : fmt::format("{:.15g}", value));
      }
      return fmt::format("{}{})", F::title, fmt::join(values, ","));
    } else {
      return std::string(family.name);
    }
  });
}

std::string Family::link_name() const {
  if (several_) return fmt::format("{}", fmt::join(several_->links(), " "));
  return custom() != nullptr ? custom()->link_name
                             : std::string(link_names().at(static_cast<std::size_t>(link_)));
}

std::vector<std::string_view> Family::link_names() const {
  return visit(*this, [](const auto& family) {
    std::vector<std::string_view> names;
    if constexpr (BuiltInFamily<std::decay_t<decltype(family)>>) {
      for (const Link link : family.links) names.emplace_back(gam::link_names[static_cast<int>(link)]);
    }
    return names;
  });
}

std::optional<Family> Family::linked(std::string_view name) const {
  const std::vector<std::string_view> names = link_names();
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  Family family = *this;
  family.link_ = static_cast<int>(found - names.begin());
  return family;
}

bool Family::has_two_sides() const {
  return custom() == nullptr && !several_ && link_name() == "inverse" && !response_fault(-1);
}

int Family::classes() const {
  return visit(*this, [](const auto& family) {
    if constexpr (requires { family.classes(); }) return family.classes();
    return family.two_levels ? 2 : 0;
  });
}

int Family::first_class() const {
  return visit(*this, [](const auto& family) {
    if constexpr (requires { family.first_class; }) return family.first_class;
    return 0;
  });
}

std::vector<std::string> Family::outputs(std::span<const std::string> levels) const {
  if (several_) return several_->outputs(levels);
  return has_classes() ? class_suffixes(first_class(), classes(), levels) : std::vector<std::string>{""};
}

bool Family::has_outputs() const {
  return several_ || has_classes() || visit(*this, [](const auto& family) {
           return requires {
             family.respond(0.0);
           };
         });
}

void Family::respond(std::span<const double> eta, std::span<double> values,
                     std::span<double> jacobian) const {
  if (several_) return several_->respond(eta, values, jacobian);
  visit(*this, [&](const auto& family) {
    if constexpr (requires { family.probability(1, 0.0); }) {
      for (std::size_t c = 0; c < values.size(); ++c) {
        const auto [value, slope] = family.probability(family.first_class + static_cast<int>(c), eta[0]);
        values[c] = value;
        if (!jacobian.empty()) jacobian[c] = slope;
      }
    } else if constexpr (requires { family.respond(0.0); }) {
      const auto [value, slope] = family.respond(eta[0]);
      values[0] = value;
      if (!jacobian.empty()) jacobian[0] = slope;
    }
  });
}

double Family::fitted(double eta) const {
  return visit(*this, [&](const auto& family) {
    if constexpr (requires { family.respond(eta); }) {
      return family.respond(eta).value;
    } else {
      return family.mean(eta);
    }
  });
}

Family Family::on_side(int side) const {
  Family family = *this;
  family.side_ = side;
  return family;
}

PredictorRange Family::predictors() const {
  // An end is -1, 0 or 1: each link maps means of 0 and 1 to one of these or to infinity.
  const auto valid = [&](double eta) {
    const double y = side_ < 0 ? -0.5 : 0.5;
    return std::isfinite(deviance(y, mean(eta), 1));
  };
  PredictorRange range;
  if (custom() != nullptr || several_) return range;
  for (const double end : {1.0, 0.0, -1.0}) {
    if (!valid(-2) && valid(end + 0.5)) range.lower = end;
  }
  for (const double end : {-1.0, 0.0, 1.0}) {
    if (!valid(2) && valid(end - 0.5)) range.upper = end;
  }
  return range;
}

std::string_view Family::residuals() const {
  return visit(*this, [](const auto& family) -> std::string_view { return family.residuals; });
}

bool Family::may_be_correlated() const {
  return visit(*this,
               [&](const auto& family) { return !several_ && !StepFamily<std::decay_t<decltype(family)>>; });
}

bool Family::scale_is_known() const {
  return visit(*this, [](const auto& family) { return family.scale_is_known; });
}

std::optional<double> Family::scale() const {
  return visit(*this, [](const auto& family) -> std::optional<double> {
    if constexpr (requires { family.scale(); }) {
      return family.scale();
    } else {
      return family.scale_is_known ? std::optional(1.0) : std::nullopt;
    }
  });
}

bool Family::linear() const {
  return visit(*this, [](const auto& family) { return family.linear; });
}

Start Family::start() const {
  return visit(*this, [](const auto& family) { return family.start; });
}

Limits Family::limits() const {
  return visit(*this, [](const auto& family) { return family.limits; });
}

bool Family::is_censored() const {
  return visit(*this, [](const auto& family) { return is_censored_family<std::decay_t<decltype(family)>>; });
}

bool Family::two_levels() const {
  return visit(*this, [](const auto& family) { return family.two_levels; });
}

double Family::mean(double eta) const {
  return visit(*this, [&](const auto& family) { return family.mean(eta); });
}

double Family::derivative(double eta) const {
  return visit(*this, [&](const auto& family) { return family.derivative(eta); });
}

double Family::working_weight(Response y, double eta, double prior) const {
  return visit(*this, [&](const auto& family) {
    if constexpr (StepFamily<std::decay_t<decltype(family)>>) {
      return row_step(family, y, eta, prior).weight;
    } else {
      return family.weight(prior, family.mean(eta), family.derivative(eta));
    }
  });
}

double Family::working_residual(Response y, double eta) const {
  return visit(*this, [&](const auto& family) {
    if constexpr (StepFamily<std::decay_t<decltype(family)>>) {
      return row_step(family, y, eta, 1).residual;
    } else {
      return (y - family.mean(eta)) / family.derivative(eta);
    }
  });
}

double Family::response_residual(Response y, double mu) const {
  return visit(*this, [&](const auto& family) -> double {
    if constexpr (requires { family.class_at(mu); }) {
      return y - family.class_at(mu);
    } else if constexpr (requires { family.respond(mu); }) {
      return y - family.respond(mu).value;
    } else {
      return y - mu;
    }
  });
}

double Family::least_maximum() const {
  return visit(*this, [](const auto& family) {
    if constexpr (requires { family.least_maximum; }) {
      return family.least_maximum;
    } else {
      return -std::numeric_limits<double>::infinity();
    }
  });
}

double Family::residual_side(Response y, double mu) const {
  return visit(*this, [&](const auto& family) {
    if constexpr (requires { family.residual_side(y, mu); }) {
      return family.residual_side(y, mu);
    } else {
      return y - mu;
    }
  });
}

double Family::deviance(Response y, double mu, double prior) const {
  return visit(*this, [&](const auto& family) {
    double deviance = family.deviance(y, mu, prior);
    if constexpr (requires { family.saturated_mean(y); })
      deviance -= family.deviance(y, family.saturated_mean(y), prior);
    return deviance;
  });
}

double Family::variance(double mu) const {
  return visit(*this, [&](const auto& family) {
    if constexpr (requires { family.mean_step(mu, mu); } || StepFamily<std::decay_t<decltype(family)>>) {
      return std::numeric_limits<double>::quiet_NaN();
    } else if constexpr (requires { family.variance(mu); }) {
      return family.variance(mu);
    } else {
      const double slope = family.derivative(family.link(mu));
      return slope * slope / family.weight(1, mu, slope);
    }
  });
}

bool Family::deviance_lacks_saturated() const {
  return visit(*this, [](const auto& family) {
    return requires {
      family.saturated_mean(0.0);
    };
  });
}

bool Family::null_is_likeliest() const {
  return visit(*this, [](const auto& family) {
    return requires {
      family.null_is_likeliest;
    };
  });
}

std::optional<double> Family::predictor(double mean) const {
  return visit(*this, [&](const auto& family) -> std::optional<double> {
    if constexpr (BuiltInFamily<std::decay_t<decltype(family)>>) {
      const double eta = family.link(mean);
      return std::isnan(eta) ? std::nullopt : std::optional(eta);
    } else {
      return predictor_of(family, mean);
    }
  });
}

std::optional<std::string_view> Family::response_fault(Response y) const {
  if (!std::isfinite(y)) return "must be finite";
  const char* fault = visit(*this, [&](const auto& family) { return family.response_fault(y); });
  return fault == nullptr ? std::nullopt : std::optional<std::string_view>(fault);
}

double Family::minus_two_log_likelihood(Response y, double mu, double weight, double scale) const {
  if (!(weight > 0)) return 0;
  return visit(*this,
               [&](const auto& family) { return family.minus_two_log_likelihood(y, mu, weight, scale); });
}

bool Family::likelihood_rounds(double y, double weight) const {
  return visit(*this, [&](const auto& family) { return family.likelihood_rounds(y, weight); });
}

std::size_t Family::first_fault(std::span<const double> responses) const {
  return visit(*this, [&](const auto& family) {
    const auto fault = std::ranges::find_if(
        responses, [&](double y) { return !std::isfinite(y) || family.response_fault(y) != nullptr; });
    return static_cast<std::size_t>(fault - responses.begin());
  });
}

std::optional<double> Family::constant_saturated(double scale) const {
  return visit(*this, [&](const auto& family) -> std::optional<double> {
    if constexpr (requires { family.deviance_is_whole; })
      return 0;
    else if constexpr (requires { family.saturated_is_constant; })
      return family.minus_two_log_likelihood(0, saturated_mean(family, 0), 1, scale);
    else
      return std::nullopt;
  });
}

double Family::aic_scale(double deviance, double rows, double scale) const {
  return visit(*this, [&](const auto& family) { return family.aic_scale(deviance, rows, scale); });
}

double Family::aic_misfit(double deviance, [[maybe_unused]] double weights, double scale) const {
  return visit(*this, [&](const auto& family) {
    if constexpr (requires { family.aic_misfit(weights); }) {
      return family.aic_misfit(weights);
    } else {
      return deviance / scale;
    }
  });
}

std::string Family::device_source() const {
  if (const CustomFamily* family = custom())
    return family_device_source(*family) + "constexpr OwnFamily family_of(const double*) { return {}; }\n";
  if (several_) return several_->device_source();
  return fmt::format(
      "constexpr auto family_of(const double* parameters) {{\n"
      "  return family_at<{}, {}, {}>(BuiltInFamilies{{}}, parameters, {});\n}}\n",
      index_, link_, side_, parameters_.size());
}

int Family::index_of(std::string_view name) {
  const auto names = names_of(BuiltInFamilies{});
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw std::invalid_argument(std::string(name) + " is not in the list of families");
  return static_cast<int>(found - names.begin());
}

std::string Family::toml() const {
  if (custom_) return to_toml(*custom_);
  return several_ ? several_->toml() : std::string();
}

bool Family::needs_calibration() const {
  return name() == Elf::name && (std::isnan(parameters()[Elf::at_lsig]) || parameters()[Elf::at_co] == 0);
}

std::string Family::full_text() const {
  std::string own = toml();
  return own.empty() ? text() : own;
}

}  // namespace TESSERA_NAMESPACE::gam
