// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/errors.hpp"
#include "gam/data/source/table_reader.hpp"

#include <memory>
#include <string>
#include <string_view>

#include "files/input_file.hpp"

/// A table format is a type with static functions, such as `Hdf5Format`; the concept lists them.
namespace TESSERA_NAMESPACE::gam {

template <class F>
concept TableFormat = requires(const files::InputFile& file, const Workers& workers, const std::string& path,
                               const OpenOptions& options) {
  // bool: whether a file that is not empty has this format, from its raw bytes
  {+F::recognises(file)};
  // *Collective.* Opens a reader; throws the same `Error(input)` on every rank
  {std::unique_ptr<TableReader>(F::open(workers, path, options))};
};

/// The available formats: `TableFormats`, in list.hpp.
template <TableFormat... F>
struct TableFormatList {};

/// Throws `Error(usage)` for an option that only text files have. `kind`: the file's format.
inline void refuse_text_options(const std::string& path, std::string_view kind, const TableOptions& options) {
  const TableOptions none;
  const std::string_view given = options.sep != none.sep           ? "sep"
                                 : options.dec != none.dec         ? "dec"
                                 : options.comment != none.comment ? "comment"
                                 : options.header != none.header   ? "header"
                                 : options.skip != none.skip       ? "skip"
                                                                   : "";
  if (!given.empty())
    throw base::usage_error("{}: is {}, but the option '{}' is only for text files: leave the option out",
                            path, kind, given);
}

[[nodiscard]] inline bool has_signature(const files::InputFile& file, std::int64_t offset,
                                        std::string_view signature) {
  std::string found(signature.size(), '\0');
  found.resize(file.read_at(offset, found));
  return found == signature;
}

}  // namespace TESSERA_NAMESPACE::gam
