// SPDX-License-Identifier: Apache-2.0
#include <tessera/error.hpp>
#include <tessera/gam/formula.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

std::string located(const FormulaError::Refusal& refusal) {
  return fmt::format("character {}: {}", refusal.position + 1, refusal.message);
}

std::string in_one_line(const std::vector<FormulaError::Refusal>& refusals) {
  std::string all = "formula, ";
  for (const FormulaError::Refusal& refusal : refusals)
    all += (&refusal == refusals.data() ? "" : "; ") + located(refusal);
  return all;
}

}  // namespace

FormulaError::FormulaError(std::vector<Refusal> refusals)
    : Error(ErrorCode::usage, in_one_line(refusals)),
      refusals_(std::make_shared<const std::vector<Refusal>>(std::move(refusals))) {}

std::string FormulaError::in_lines(std::string_view formula) const {
  std::string lines;
  for (const Refusal& refusal : *refusals_) lines += fmt::format("formula, {}\n", located(refusal));
  std::string text = "  ";
  std::string carets = "  ";
  const auto mark = [&](std::size_t position) {
    const bool refused =
        std::ranges::any_of(*refusals_, [&](const Refusal& refusal) { return refusal.position == position; });
    carets += refused ? '^' : ' ';
  };
  for (std::size_t i = 0; i < formula.size(); ++i) {
    const auto byte = static_cast<unsigned char>(formula[i]);
    text += byte < 0x20 || byte == 0x7f ? ' ' : formula[i];
    const bool continues = (byte & 0xc0) == 0x80;  // continuation byte of UTF-8
    if (!continues) mark(i);
  }
  mark(formula.size());
  carets.erase(carets.find_last_of('^') + 1);
  return lines + text + '\n' + carets;
}

}  // namespace TESSERA_NAMESPACE::gam
