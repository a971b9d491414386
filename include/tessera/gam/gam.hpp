// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Generalized additive models: the component `gam` of the package.

#include <tessera/gam/anova.hpp>
#include <tessera/gam/arrow.hpp>
#include <tessera/gam/check.hpp>
#include <tessera/gam/columns.hpp>
#include <tessera/gam/convert.hpp>
#include <tessera/gam/curves.hpp>
#include <tessera/gam/family.hpp>
#include <tessera/gam/fit.hpp>
#include <tessera/gam/fit_response.hpp>
#include <tessera/gam/formula.hpp>
#include <tessera/gam/many.hpp>
#include <tessera/gam/matrix.hpp>
#include <tessera/gam/model.hpp>
#include <tessera/gam/options.hpp>
#include <tessera/gam/output.hpp>
#include <tessera/gam/posterior.hpp>
#include <tessera/gam/predict.hpp>
#include <tessera/gam/predictions_file.hpp>
#include <tessera/gam/quantiles.hpp>
#include <tessera/gam/report.hpp>
#include <tessera/gam/residuals.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/gam/terms.hpp>
