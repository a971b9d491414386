// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/data/table_source.hpp"
#include "gam/formula/formula.hpp"
#include "gam/model/model.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/gam/fit.hpp>
#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>

#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The rows of a model's fit, read again, and the model prepared for passes over these rows.
class ModelRows {
 public:
  /// *Collective.* `model` must be complete on rank 0. `column`: another column of the table to read into the
  /// frame; empty: none. Throws the same `Error(input)` on every rank if ranks have models of different
  /// files, if the table lacks a needed column, or if its complete rows or its response differ from the
  /// fit's. Unless neighbouring rows are correlated, the last digits of the response may differ, because
  /// programs write and read decimal numbers differently.
  ModelRows(Job& job, const FittedModel& model, const TableSource& source, const MemoryOptions& memory,
            FitObserver& observer, const std::string& column = {});
  ModelRows(const ModelRows&) = delete;
  ModelRows& operator=(const ModelRows&) = delete;

  /// On every rank, without its covariance.
  [[nodiscard]] const FittedModel& model() const { return model_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const Frame& frame() const { return frame_; }
  [[nodiscard]] const FormulaTerms& formula() const { return formula_; }
  /// The options of the fit that affect its rows.
  [[nodiscard]] const FitOptions& options() const { return options_; }
  /// The design refers to the frame.
  [[nodiscard]] const Rows& rows() const { return rows_; }
  /// Coefficients beta for the design of `rows()`, in the units of the fit.
  [[nodiscard]] std::span<const double> coef() const { return coef_; }
  /// M beta, by raw column.
  [[nodiscard]] std::span<const double> raw_coef() const { return raw_coef_; }

 private:
  void read(Job& job, const TableSource& source, FitObserver& observer, const std::string& column);
  /// *Collective.* Whether the rows have the deviance of the fit, on rank 0; true on other ranks.
  [[nodiscard]] bool has_deviance_of_fit(Job& job, FitObserver& observer) const;

  FittedModel model_;
  FitOptions options_;
  FormulaTerms formula_;  ///< includes the fit's offset option
  Plan plan_;
  Frame frame_;
  Design design_;
  Rows rows_;
  std::vector<double> coef_, raw_coef_;
};

}  // namespace TESSERA_NAMESPACE::gam
