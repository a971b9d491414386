# SPDX-License-Identifier: Apache-2.0

gam_object <- function(model, json, data, frame, call, control) {
  structure(list(model = data, coefficients = stats::setNames(.Call(C_value, model, "coefficients"), vapply(json$coefficients, `[[`, "", "name")),
                 formula = frame$formula,
                 family = frame$family, call = call, control = control, handle = model, json = json, frame = frame), class = "tessera")
}
