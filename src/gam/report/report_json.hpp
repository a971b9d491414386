// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/anova.hpp>
#include <tessera/gam/model.hpp>

#include <nlohmann/json.hpp>
#include <string>

/// Reports as JSON. NaN and infinities are written as null.
namespace TESSERA_NAMESPACE::gam {

using ReportJson = nlohmann::ordered_json;

[[nodiscard]] ReportJson facts_json(const Model& model, const ModelFigures& figures);
[[nodiscard]] ReportJson test_json(const TermTest& test);

/// The JSON as ASCII text with a final newline; numbers read back to the same bits.
[[nodiscard]] std::string json_text(const ReportJson& json);

}  // namespace TESSERA_NAMESPACE::gam
