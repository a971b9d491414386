// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>

namespace tessera::gam {

/// A file that an option of the command line makes.
struct WrittenFile {
  std::string option;
  std::string path;  ///< empty: the option is not given
};

/// Throws `Error(usage)` if a file that is written is one that is `read`, or that another option writes,
/// under whatever name; none of them need exist. So for a name that the covariance of `model` may have, which
/// is one of them: a fit to `model` replaces and removes those.
void refuse_to_overwrite(std::initializer_list<WrittenFile> written, std::initializer_list<std::string> read,
                         const std::string& model = {});

}  // namespace tessera::gam
