// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <initializer_list>
#include <string>

namespace TESSERA_NAMESPACE::gam {

/// A file that an option of the command line makes.
struct WrittenFile {
  std::string option;
  std::string path;  ///< empty: the option is not given
};

/// The files that have others beside them, whose names begin with theirs; empty: there is none.
struct FilesBeside {
  std::string model{};       ///< its covariances
  std::string checkpoint{};  ///< what docs/site.md lists, and is written by `Checkpoint`
};

/// Throws `Error(usage)` if a file that is written is one that is `read`, or that another option writes,
/// under whatever name; none of them need exist. So for a name that a file beside the model or the checkpoint
/// may have, whether that is there or not.
void refuse_to_overwrite(std::initializer_list<WrittenFile> written, std::initializer_list<std::string> read,
                         const FilesBeside& beside = {});

}  // namespace TESSERA_NAMESPACE::gam
