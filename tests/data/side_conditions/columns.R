# SPDX-License-Identifier: Apache-2.0
# The numbers of columns of the smooths, by mgcv's rule with another tolerance.
columns <- function(formula, d, times) {
  rule <- get("fixDependence", asNamespace("mgcv"))
  assignInNamespace("fixDependence", function(X1, X2, tol) rule(X1, X2, tol * times), "mgcv")
  on.exit(assignInNamespace("fixDependence", rule, "mgcv"))
  G <- suppressWarnings(gam(as.formula(formula), data = d, fit = FALSE))
  sapply(G$smooth, function(s) s$last.para - s$first.para + 1)
}
