// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/fit.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {

/// Prints the progress of a fit: on a terminal as one line that is rewritten, in a batch log as lines with
/// times. Prints only on the rank where `loud` is true.
class Progress final : public FitObserver {
 public:
  /// `stream`: programs use standard error, because standard output is for results.
  Progress(bool loud, std::FILE* stream);
  ~Progress() override;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Prints the current activity. On a terminal it replaces the previous activity.
  void now(std::string_view text) override;
  void note(std::string_view text) override;
  /// Why the first lost line could not be written; empty: no line was lost.
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
