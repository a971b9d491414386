// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/fit.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {

/// Prints the progress of a fit: on a terminal one line that is rewritten, in a batch log lines with times.
/// Writes only on the rank where it is `loud`.
class Progress final : public FitObserver {
 public:
  /// `stream`: standard error in the programs, because standard output is for results.
  Progress(bool loud, std::FILE* stream);
  ~Progress() override;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// The current activity. On a terminal it replaces the previous one.
  void now(std::string_view text) override;
  /// A line that stays.
  void note(std::string_view text) override;
  /// Why the first line that could not be written was dropped; empty: none was.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

 private:
  void write(std::string_view text);
  void clear_line();

  bool loud_;
  bool terminal_;
  bool line_open_ = false;
  std::string problem_;
  std::FILE* stream_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace TESSERA_NAMESPACE::gam
