// SPDX-License-Identifier: Apache-2.0
#include "predictions_file.hpp"

#include "files/output_stream.hpp"
#include "gam/table/row_pieces.hpp"

#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "files/standard_error.hpp"

namespace tessera::gam {
namespace {

/// Rows whose text travels to rank 0 at once: some megabytes.
constexpr std::int64_t rows_per_piece = 1 << 17;
/// For the watchdog's messages.
constexpr const char* writing = "the writing of the predictions";

void append_number(std::string& text, double value) {
  if (std::isnan(value)) {
    text += "NA";
  } else {
    fmt::format_to(std::back_inserter(text), "{:.17g}", value);
  }
}

/// Local rows [begin, end), a line each.
std::string lines_of(const Predictions& predictions, bool standard_errors, std::int64_t begin,
                     std::int64_t end) {
  std::string text;
  for (std::int64_t i = begin; i < end; ++i) {
    append_number(text, predictions.fit[static_cast<std::size_t>(i)]);
    if (standard_errors) {
      text += ',';
      append_number(text, predictions.standard_errors[static_cast<std::size_t>(i)]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace

PredictionsFile::PredictionsFile(const mpi::Communicator& comm, bool standard_errors,
                                 files::OutputStream* out)
    : comm_(comm), standard_errors_(standard_errors), out_(out) {
  const mpi::Purpose purpose(comm_, writing);
  together(comm_, [&] {
    if (comm_.rank() == 0) out_->write(standard_errors_ ? "fit,se\n" : "fit\n");
  });
}

void PredictionsFile::add(const Predictions& predictions) {
  const mpi::Purpose purpose(comm_, writing);
  write_in_row_order(
      comm_, predictions.plan, rows_per_piece,
      [&](Range rows) { return lines_of(predictions, standard_errors_, rows.begin, rows.end); },
      [&](std::string_view text) { out_->write(text); });
}

void PredictionsFile::commit() {
  const mpi::Purpose purpose(comm_, writing);
  together(comm_, [&] {
    if (comm_.rank() != 0) return;
    if (const std::string problem = out_->commit(); !problem.empty())
      files::say_line({"tessera-fit: ", problem});
  });
}

}  // namespace tessera::gam
