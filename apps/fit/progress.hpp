// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/fit.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {

/// Tells a person what a long job is doing: one line that is rewritten on a terminal, plain dated lines
/// in a batch log. Only the rank that it was made `loud` on writes.
class Progress final : public FitObserver {
 public:
  /// `stream` is standard error in the programs, so that standard output stays for results.
  Progress(bool loud, std::FILE* stream);
  ~Progress() override;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// What is being done now. On a terminal it replaces the line before.
  void now(std::string_view text) override;
  /// Something that stays to be read.
  void note(std::string_view text) override;
  /// Why a line could not be written, the first time; empty: all were. Such a line is dropped.
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
