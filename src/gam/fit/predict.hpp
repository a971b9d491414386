// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/progress.hpp"
#include "gam/model/model.hpp"
#include "gam/table/frame.hpp"

#include <tessera/job/job.hpp>

#include <string>

namespace tessera::gam {

struct PredictOptions {
  bool response = false;  ///< on the scale of the response; else of the linear predictor
  bool standard_errors = false;
  TableOptions table;  ///< how the fields of the table are read
  std::string out;     ///< a CSV file; empty: standard output of rank 0
};

/// Predicts every row of a table: columns `fit` and, if asked for, `se`, one line a row in the order of the
/// table, NA where a value is missing. A standard error is that of the posterior mean; on the response
/// scale it is multiplied by |dmu/deta|.
///
/// A row with a level that the fit has not seen is NA too, but for factors of random effects alone: such a
/// row is predicted without that effect, as mgcv does. Rank 0 says so on standard error, a line a factor.
///
/// *Collective.* Runs on the host's threads of every rank; each rank reads its own rows and rank 0 writes.
/// Throws the same `tessera::Error` on every rank: a missing column, a text where the model has numbers.
void predict_file(tessera::Job& job, const Model& model, const std::string& data,
                  const PredictOptions& options, Progress& progress);

}  // namespace tessera::gam
