// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/formula/formula.hpp"
#include "gam/model/model.hpp"
#include "gam/rows/row_pass.hpp"
#include "gam/table/frame/frame.hpp"
#include "gam/table/table_source.hpp"

#include <tessera/gam/fit.hpp>
#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>

#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The rows that a model was fitted to, read again from its table, and the model as passes over them have it.
class ModelRows {
 public:
  /// *Collective.* `model` is whole on rank 0. `column`: one more column of the table that the frame is to
  /// have; empty: none. Throws the same `Error(input)` on every rank for models of different files, for a
  /// table without a needed column, or whose complete rows or their response are not those of the fit.
  ModelRows(Job& job, const FittedModel& model, const TableSource& source, const MemoryOptions& memory,
            FitObserver& observer, const std::string& column = {});
  ModelRows(const ModelRows&) = delete;
  ModelRows& operator=(const ModelRows&) = delete;

  /// The model with its coefficients on every rank, and without its covariance.
  [[nodiscard]] const FittedModel& model() const { return model_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const Frame& frame() const { return frame_; }
  [[nodiscard]] const FormulaTerms& formula() const { return formula_; }
  /// Of the fit, as far as the rows depend on them.
  [[nodiscard]] const FitOptions& options() const { return options_; }
  /// With response, offsets, prior weights and a design that refers to the frame.
  [[nodiscard]] const Rows& rows() const { return rows_; }
  /// M beta of that design, in the units of the rows.
  [[nodiscard]] std::span<const double> raw_coef() const { return raw_coef_; }

 private:
  void read(Job& job, const TableSource& source, FitObserver& observer, const std::string& column);

  FittedModel model_;
  FitOptions options_;
  FormulaTerms formula_;  ///< with the offset that was given to the fit
  Plan plan_;
  Frame frame_;
  Design design_;
  Rows rows_;
  std::vector<double> raw_coef_;
};

}  // namespace TESSERA_NAMESPACE::gam
