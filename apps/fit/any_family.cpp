// SPDX-License-Identifier: Apache-2.0
#include "any_family.hpp"

#include "output.hpp"

#include <tessera/error.hpp>

namespace tessera::fit {

AnyFamily chosen_family(const std::string& text) {
  if (text.starts_with('@')) {
    const std::string path = text.substr(1);
    return AnyFamily(parse_custom_family(read_file(path), path));
  }
  if (const auto known = parse_family(text)) return *known;
  throw Error(ErrorCode::usage, "--family: " + text +
                                    " is not gaussian, binomial, poisson or gamma: write @FILE for a family "
                                    "of your own");
}

}  // namespace tessera::fit
