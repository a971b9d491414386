// SPDX-License-Identifier: Apache-2.0
#include "gam/data/arrow/arrow_type.hpp"

#include "gam/data/arrow/arrow_batches.hpp"

#include <tessera/error.hpp>
#include <tessera/printable.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {
namespace {

struct Format {
  std::string_view format;
  ArrowType type;
};
using Kind = ArrowType::Kind;
constexpr Format formats[] = {{"b", {Kind::boolean, 0}},
                              {"c", {Kind::integer, 1}},
                              {"C", {Kind::unsigned_integer, 1}},
                              {"s", {Kind::integer, 2}},
                              {"S", {Kind::unsigned_integer, 2}},
                              {"i", {Kind::integer, 4}},
                              {"I", {Kind::unsigned_integer, 4}},
                              {"l", {Kind::integer, 8}},
                              {"L", {Kind::unsigned_integer, 8}},
                              {"f", {Kind::real, 4}},
                              {"g", {Kind::real, 8}},
                              {"u", {Kind::text, 4}},
                              {"U", {Kind::text, 8}},
                              {"vu", {Kind::text_view, 16}},
                              {"tdD", {Kind::integer, 4}}};
/// Followed by a time zone, which affects only the display.
constexpr Format timestamps[] = {{"tss:", {Kind::integer, 8, 1}},
                                 {"tsm:", {Kind::integer, 8, 1e3}},
                                 {"tsu:", {Kind::integer, 8, 1e6}},
                                 {"tsn:", {Kind::integer, 8, 1e9}}};

}  // namespace

ArrowType arrow_type(const ArrowSchema& schema, const std::string& what) {
  if (schema.format == nullptr)
    refuse_arrow(ErrorCode::input, fmt::format("{} has no format in the schema", what));
  const std::string_view format = schema.format;
  if (const auto* const found = std::ranges::find(formats, format, &Format::format);
      found != std::end(formats))
    return found->type;
  const auto* const found =
      std::ranges::find_if(timestamps, [&](const Format& one) { return format.starts_with(one.format); });
  if (found == std::end(timestamps))
    refuse_arrow(ErrorCode::input,
                 fmt::format("{} has values of the format '{}', which are neither numbers nor texts: cast "
                             "them, or leave the column out",
                             what, printable(format)));
  return found->type;
}

}  // namespace TESSERA_NAMESPACE::gam
