// SPDX-License-Identifier: Apache-2.0
#include "predictions_file.hpp"

#include "files/output_file.hpp"

#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/standard_output.hpp"

namespace tessera::gam {
namespace {

/// Rows whose text travels to rank 0 at once: some megabytes.
constexpr std::int64_t rows_per_piece = 1 << 17;

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

void emit(files::OutputFile* file, std::string_view text) {
  if (file != nullptr) {
    file->write(text);
  } else {
    files::write_data(text);
  }
}

}  // namespace

void write_predictions(const mpi::Communicator& comm, const Predictions& predictions, bool standard_errors,
                       files::OutputFile* file) {
  const mpi::Purpose purpose(comm, "the writing of the predictions");
  const bool root = comm.rank() == 0;
  together(comm, [&] {
    if (root) emit(file, standard_errors ? "fit,se\n" : "fit\n");
  });
  for (int rank = 0; rank < comm.size(); ++rank) {
    const std::int64_t rows = predictions.plan.range_of(rank).size();
    for (std::int64_t begin = 0; begin < rows; begin += rows_per_piece) {
      std::string text;
      if (rank == comm.rank())
        text = lines_of(predictions, standard_errors, begin, std::min(rows, begin + rows_per_piece));
      std::vector<std::size_t> counts(static_cast<std::size_t>(comm.size()), 0);
      counts[0] = text.size();
      const auto arrived = comm.alltoallv(std::span<const char>(text), counts);
      together(comm, [&] {
        if (root) emit(file, {arrived.data(), arrived.size()});
      });
    }
  }
  together(comm, [&] {
    if (!root) return;
    if (file != nullptr)
      file->commit();
    else
      files::flush_output();
  });
}

}  // namespace tessera::gam
