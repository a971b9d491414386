// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <initializer_list>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

struct WrittenFile {
  std::string option;
  std::string path;  ///< empty: the option is not given
};

/// Outputs that have companion files, whose names are the output's name with a suffix. Empty: no such output.
struct CompanionFiles {
  std::string model{};       ///< a model, with its covariance files
  std::string checkpoint{};  ///< a checkpoint, with the files that docs/site.md lists
};

/// Throws `Error(usage)` if an output is the same file as an input (`read`) or as another output, also
/// through links, or if a file has the name of a possible companion of the model or checkpoint. The files
/// need not exist.
void refuse_to_overwrite(std::initializer_list<WrittenFile> written, const std::vector<std::string>& read,
                         const CompanionFiles& beside = {});

}  // namespace TESSERA_NAMESPACE::gam
