// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/family_of_row.hpp"
#include "gam/rows/tables.hpp"

#include <cmath>

/// What is computed of one row, by the same source on the host and in a kernel.
namespace tessera::gam {

/// What a variable's value gives to a numeric component: `standard` has the part's centre and factor.
inline double numeric_part(const double* standard, double x) {
  return (x - standard[0]) * standard[1];
}

/// Where a value of a margin's variable falls.
struct Located {
  int slot;   ///< cell + 1; 0 and cells + 1 are the continuations
  int place;  ///< first of four neighbouring raw places
  double t;
};

inline Located locate(const MarginTable& margin, const double* numbers, double x) {
  if (margin.cyclic && (x < margin.begin || x > margin.end)) {
    const double period = margin.end - margin.begin;
    x -= period * floor((x - margin.begin) / period);
  }
  int slot;
  if (margin.uniform) {
    const double u = (x - margin.begin) * margin.inverse_step;
    const double last = margin.cells;
    // Truncation is the floor here, since nothing below -1 is left; a NaN goes to slot 0.
    slot = static_cast<int>((u > -1 ? (u < last ? u : last) : -1) + 1);
  } else {
    // The number of breaks that are not above x.
    const double* breaks = numbers + margin.breaks;
    int low = 0;
    int high = margin.cells + 1;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (breaks[middle] <= x) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    slot = low;
  }
  const int cell = slot < 1 ? 0 : slot > margin.cells ? margin.cells - 1 : slot - 1;
  return {slot, cell * margin.stride,
          (x - numbers[margin.origins + slot]) * numbers[margin.inverse_widths + slot]};
}

/// The four values of a margin at a located point.
inline void local_values(const MarginTable& margin, const double* numbers, const Located& at,
                         double* values) {
  const double* c = numbers + margin.cubics + 16 * at.slot;
  for (int a = 0; a < 4; ++a) values[a] = ((c[12 + a] * at.t + c[8 + a]) * at.t + c[4 + a]) * at.t + c[a];
}

/// The Kronecker product of `count` values and four more, whose index varies fastest, in place.
inline void expand_by_four(double* values, int count, const double* four) {
  for (int k = count - 1; k >= 0; --k) {
    const double value = values[k];
    for (int j = 3; j >= 0; --j) values[4 * k + j] = value * four[j];
  }
}

/// What one row gives to a pass: its weight, its working residual, and four scalars: w r^2, deviance, 1 if
/// the row is bad, and nothing (moments: prior weight, weighted response; deviance: prior (y - mu)^2 in the
/// first place and sqrt(prior) (y - mu) in the last).
struct RowOutcome {
  double weight;
  double residual;
  double scalars[row_scalar_count];
};

/// The functions of one of mgcv's families, as `row_outcome` asks for them.
struct BuiltInFunctions {
  Family family;

  [[nodiscard]] double level(double y, double offset) const {
    return family == Family::gaussian ? y - offset : y;
  }
  [[nodiscard]] double first_predictor(double y, double prior) const {
    const double mean = initial_mean(family, y, prior);
    switch (family) {
      case Family::gaussian: return mean;
      case Family::binomial: return log(mean / (1 - mean));
      default: return log(mean);
    }
  }
  [[nodiscard]] double mean(double eta) const { return inverse_link(family, eta); }
  [[nodiscard]] RowStep step(double y, double eta, double prior) const {
    return row_step(family, y, eta, prior);
  }
};

/// The same for a family of the user's own, whose four functions are members of `Own`.
template <class Own>
struct CustomFunctions {
  Own own;

  [[nodiscard]] double level(double y, double) const { return y; }
  /// Such a fit does not begin at the rows' own means: the rows that ask are bad.
  [[nodiscard]] double first_predictor(double, double) const { return sqrt(-1.0); }
  [[nodiscard]] double mean(double eta) const { return own.inverse_link(eta); }
  [[nodiscard]] RowStep step(double y, double eta, double prior) const {
    const double mu = own.inverse_link(eta);
    const double slope = own.derivative(eta);
    return {prior * slope * slope / own.variance(mu), (y - mu) / slope, prior * own.deviance(y, mu)};
  }
};

/// `eta` includes `offset`. A row without finite numbers is bad, and gives nothing else.
template <class Functions>
inline RowOutcome row_outcome(PassKind kind, const Functions& family, double y, double eta, double offset,
                              double prior) {
  if (kind == PassKind::moments) return {1, 1, {prior, prior * family.level(y, offset), 0, 0}};
  double shift = 0;
  if (kind == PassKind::start) {
    const double first = family.first_predictor(y, prior);
    // eta is a sum of zeros here, unless a variable is not finite.
    eta = first + 0 * eta;
    shift = first - offset;
  }
  const RowStep step = family.step(y, eta, prior);
  const double residual = shift + step.residual;
  const double square = step.weight * residual * residual;
  // A difference with itself is 0 for finite numbers alone, and the square is one only if its factors
  // are. The predictor is asked too: an inverse link's clamp would make a number of a NaN.
  if (!(eta - eta == 0 && square - square == 0 && step.deviance - step.deviance == 0)) {
    return {0, 0, {0, 0, 1, 0}};
  }
  if (kind == PassKind::deviance) {
    const double difference = sqrt(prior) * (y - family.mean(eta));
    return {step.weight, residual, {difference * difference, step.deviance, 0, difference}};
  }
  return {step.weight, residual, {square, step.deviance, 0, 0}};
}

}  // namespace tessera::gam
