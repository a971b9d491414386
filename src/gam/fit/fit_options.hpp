// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/family.hpp"
#include "gam/table/frame.hpp"

#include <tessera/job/stop_request.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "files/input_file.hpp"

namespace tessera::gam {

struct FitOptions {
  Family family;
  std::string weights;                               ///< column of prior weights; empty: none
  std::map<std::string, std::vector<double>> knots;  ///< supplied limits or knots, by variable
  TableOptions table;                                ///< how the fields of the table are read
  std::int64_t block_rows = 8192;                    ///< rows in which the order of additions is fixed
  bool residuals = true;     ///< keep the residuals of a sample of the rows in the model, for a report
  double tolerance = 1e-12;  ///< stop when |change of deviance| < tolerance (0.1 + |deviance|), and when
  /// the whole step left is below this part of the linear predictor and its standard error, in the norm of
  /// the working weights
  double step_tolerance = 1e-9;
  int max_iterations = 200;
};

class FitCheckpoint;

/// What a fit may be given beside its data, the same on every rank; null: it does without.
struct FitControl {
  FitCheckpoint* checkpoint = nullptr;   ///< keeps its state after every iteration, and knows where to begin
  tessera::StopRequest* stop = nullptr;  ///< that of the job: looked after outside passes too
  /// What rank 0 takes for the table, with which the states of `checkpoint` go: another is refused. The same
  /// on every rank, whether it is null.
  const files::FileState* table = nullptr;
};

}  // namespace tessera::gam
