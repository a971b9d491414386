// SPDX-License-Identifier: Apache-2.0
#include "gam/family/any_family.hpp"

#include <tessera/error.hpp>

#include <cstdint>

#include "files/input_file.hpp"

namespace tessera::gam {
namespace {

/// Of a file of a few expressions.
constexpr std::int64_t most_family_bytes = std::int64_t{1} << 20;

}  // namespace

AnyFamily chosen_family(const std::string& text) {
  if (text.starts_with('@')) {
    const std::string path = text.substr(1);
    const std::string toml = files::read_text(path, most_family_bytes);
    try {
      return AnyFamily(parse_custom_family(toml, path));
    } catch (const Error& fault) {
      throw Error(ErrorCode::input, fault.what());  // of a file, and not of the command line
    }
  }
  if (const auto known = parse_family(text)) return *known;
  throw Error(ErrorCode::usage, "--family: " + text +
                                    " is not gaussian, binomial, poisson or gamma: write @FILE for a family "
                                    "of your own");
}

}  // namespace tessera::gam
