// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tessera::info {

/// A table of text under headings: columns of numbers are right-aligned, others left-aligned.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> headings);

  /// One cell for each heading.
  void add(std::vector<std::string> cells);

  /// A line of headings and a line per row, indented by two spaces, without trailing blanks.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;  // the headings first
};

}  // namespace tessera::info
