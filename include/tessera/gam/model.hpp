// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

struct FittedModel;

/// A fitted model: all that predicting, summarising and plotting need, and no row of the data. An immutable
/// value, cheap to copy; a move is a copy. Any thread may read it.
///
/// After a fit rank 0 has the complete model. On other ranks the members marked *every rank* have the same
/// bits as on rank 0, and the remaining fields are empty. A model read from a file is complete.
class TESSERA_EXPORT Model {
 public:
  Model(const Model&) = default;
  Model& operator=(const Model&) = default;
  ~Model() = default;

  [[nodiscard]] const std::string& formula() const noexcept;  ///< its text; *every rank*
  [[nodiscard]] std::int64_t rows() const noexcept;           ///< complete ones: n; *every rank*
  /// False if the iteration did not converge; the model then holds its last state. *Every rank.*
  [[nodiscard]] bool converged() const noexcept;
  /// Why there is no finite estimate, as for separated groups; empty: there is one. *Every rank.*
  [[nodiscard]] const std::string& no_estimate() const noexcept;
  /// Why the iteration ended before it reached the estimate, which exists, and what may help; empty if it
  /// reached it. *Every rank.*
  [[nodiscard]] const std::string& why_not_converged() const noexcept;
  [[nodiscard]] int iterations() const noexcept;              ///< *every rank*
  [[nodiscard]] const std::string& verdict() const noexcept;  ///< where it was computed; *every rank*
  [[nodiscard]] std::vector<std::string> coefficient_names()
      const;  ///< "(Intercept)", "s(x).1"; *every rank*
  [[nodiscard]] std::span<const double> coefficients() const noexcept;  ///< *every rank*
  /// Posterior covariance of the coefficients, p x p, column by column, in the units of the data. Empty if a
  /// random effect has more coefficients than are tested (`FitOptions::largest_tested_effect`): of such
  /// effects, which may have 10^5 levels, only the diagonal and the pairs of levels that occur in rows are
  /// stored.
  [[nodiscard]] std::span<const double> covariance() const noexcept;
  /// One element of it, indexed from 0; NaN if it is not stored. Throws `Error(usage)` for an index out of
  /// range.
  [[nodiscard]] double covariance(int i, int j) const;
  [[nodiscard]] double scale() const noexcept;     ///< phi, estimated or 1; *every rank*
  [[nodiscard]] double deviance() const noexcept;  ///< *every rank*
  [[nodiscard]] double edf() const noexcept;       ///< total effective degrees of freedom; *every rank*

  /// From the engine's representation; not a public type.
  explicit Model(std::shared_ptr<const FittedModel> fitted) : fitted_(std::move(fitted)) {}
  [[nodiscard]] const FittedModel& fitted() const noexcept { return *fitted_; }

 private:
  std::shared_ptr<const FittedModel> fitted_;
};

/// Writes a complete model to a file, atomically: JSON, and for a model of more than 512 coefficients the
/// covariance in a file beside it. Numbers read back to the same bits. Returns the checksum of the file,
/// which identifies it in a run report. Not collective: rank 0 calls it, within `together`. Throws
/// `Error(input)` if a file cannot be written: an existing file is left unchanged, unless the message says
/// that the model is written but may not survive a power failure.
TESSERA_EXPORT std::string save_model(const Model& model, const std::string& path);

/// Reads and validates a model, which anyone may have written. Not collective. Throws `Error(input)`, with
/// the field, for a file that cannot be read, is damaged, or is no model of a supported version.
[[nodiscard]] TESSERA_EXPORT Model load_model(const std::string& path);

}  // namespace TESSERA_NAMESPACE::gam
