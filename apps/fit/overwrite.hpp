// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <initializer_list>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// An output file of the command line.
struct WrittenFile {
  std::string option;
  std::string path;  ///< empty: the option is not given
};

/// Outputs with companion files, which have the output's name and a suffix; empty: no such output.
struct FilesBeside {
  std::string model{};       ///< companions: its covariances
  std::string checkpoint{};  ///< companions: the files of `Checkpoint` that docs/site.md lists
};

/// Throws `Error(usage)` if an output is the same file as an input (`read`) or as another output, under
/// whatever names, or if a file has a name that a companion of the model or the checkpoint could have. The
/// files need not exist.
void refuse_to_overwrite(std::initializer_list<WrittenFile> written, const std::vector<std::string>& read,
                         const FilesBeside& beside = {});

}  // namespace TESSERA_NAMESPACE::gam
