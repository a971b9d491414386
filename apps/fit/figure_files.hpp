// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/report.hpp>

#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The files of a report's figures: NAME.svg, NAME.csv, NAME-points.csv, and figures.csv, which lists them.
class FigureFiles {
 public:
  /// `folder` is created if it is not there. Throws `Error(input)` for one that cannot be, and for a file of
  /// these names in it that was not written by this class, or was changed since: figures.csv has checksums.
  FigureFiles(std::string folder, std::span<const ReportFigure> figures);

  /// In the folder, the list last.
  [[nodiscard]] std::vector<std::string> paths() const;
  /// Writes each whole or not at all. After an `Error(input)` files that were there remain, those written so
  /// far among them, and new ones are removed.
  void write() const;

 private:
  struct File {
    std::string name;
    std::string text;
  };
  [[nodiscard]] std::string path_of(const File& file) const { return folder_ + '/' + file.name; }
  void refuse_others() const;

  std::string folder_;
  std::vector<File> files_;  ///< the list last
};

}  // namespace TESSERA_NAMESPACE::gam
