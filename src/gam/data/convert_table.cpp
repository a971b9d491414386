// SPDX-License-Identifier: Apache-2.0
#include "gam/data/convert_table.hpp"

#include "base/errors.hpp"
#include "base/pluralised.hpp"
#include "gam/data/column_batches.hpp"
#include "gam/data/hdf5/hdf5_writer.hpp"
#include "gam/data/row_pieces.hpp"
#include "gam/data/table_source.hpp"

#include <tessera/gam/convert.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

namespace TESSERA_NAMESPACE::gam {
namespace {

// Bytes of a message to rank 0.
constexpr std::size_t bytes_of_piece = std::size_t{1} << 20;

class Converter {
 public:
  Converter(Job& job, const Table& table, const Conversion& conversion, files::OutputFile* to)
      : comm_(job.comm()),
        workers_{job.comm(), job.host_team()},
        conversion_(conversion),
        to_(to),
        source_(source_of(table)),
        table_(open_source(workers_, source_, job.options().stop, {.tell = conversion.tell})),
        plan_(source_.plan ? *source_.plan : Plan::over_hosts(table_->rows(), comm_.size())) {}

  void run() {
    const std::vector<std::string> names = wanted();
    conversion_.tell(fmt::format("{}: {}, {}", source_.name, base::pluralised(table_->rows(), "row"),
                                 base::pluralised(names.size(), "column")));
    read_in_batches(workers_, *table_, plan_.range_of(comm_.rank()),
                    {.names = names, .options = source_.options, .at_once = conversion_.columns_at_once},
                    [&](std::span<const std::string> some, const Frame& frame,
                        std::span<const StrayTexts> /*strays*/) { convert(some, frame); });
  }

 private:
  [[nodiscard]] std::vector<std::string> wanted() const {
    const std::vector<std::string> names = chosen_columns(*table_, conversion_.columns);
    if (conversion_.columns.empty()) tell_left_out(std::ssize(table_->columns()) - std::ssize(names));
    for (const std::string& name : names) {
      const std::string problem = problem_of_hdf5_name(name);
      if (!problem.empty())
        throw base::input_error("{}: the column '{}' {}, or leave it out by naming the other columns",
                                source_.name, name, problem);
    }
    return names;
  }

  void tell_left_out(std::int64_t nameless) const {
    if (nameless > 0)
      conversion_.tell(fmt::format("{} without a name left out", base::pluralised(nameless, "column")));
    constexpr std::size_t most_lines = 20;
    std::size_t told = 0;
    const std::map<std::string, std::string> left_out = table_->left_out();
    for (const auto& [name, why] : left_out) {
      if (told++ == most_lines) {
        conversion_.tell(fmt::format("left out: {} more; name one as a column to see why",
                                     base::pluralised(left_out.size() - most_lines, "object")));
        return;
      }
      conversion_.tell(fmt::format("left out: '{}' {}", name, why));
    }
  }

  void convert(std::span<const std::string> names, const Frame& frame) {
    std::vector<NewColumn> columns;
    for (std::size_t c = 0; c < names.size(); ++c) {
      columns.push_back({names[c], encoding_of(frame.variables[c], frame.columns[c], source_.name)});
      conversion_.tell(to_string(frame.columns[c]));
    }
    std::vector<std::int64_t> places;
    together(comm_, [&] {
      if (to_ != nullptr) places = add_hdf5_columns(*to_, columns, table_->rows());
    });
    places.resize(columns.size());
    for (std::size_t c = 0; c < columns.size(); ++c)
      write(columns[c].encoding, frame.variables[c], places[c]);
  }

  void write(const ColumnEncoding& encoding, const Variable& variable, std::int64_t place) {
    write_in_row_order(
        comm_, plan_,
        static_cast<std::int64_t>(std::max<std::size_t>(1, bytes_of_piece / encoding.value_bytes)),
        [&](Range rows) { return encoding.bytes_of(variable, rows); },
        [&](std::string_view bytes) {
          to_->write_at(place, bytes);
          place += std::ssize(bytes);
        });
  }

  const mpi::Communicator& comm_;
  Workers workers_;
  const Conversion& conversion_;
  files::OutputFile* to_;
  TableSource source_;
  std::unique_ptr<TableReader> table_;
  Plan plan_;
};

}  // namespace

void add_columns_to_hdf5(Job& job, const Table& table, const Conversion& conversion, files::OutputFile* to) {
  Converter(job, table, conversion, to).run();
}

void convert_to_hdf5(Job& job, const Table& table, const Conversion& conversion, files::OutputFile* to) {
  const mpi::Purpose purpose(job.comm(), "the conversion of the table");
  together(job.comm(), [&] {
    if (to != nullptr) begin_hdf5(*to);
  });
  add_columns_to_hdf5(job, table, conversion, to);
  together(job.comm(), [&] {
    if (to == nullptr) return;
    if (const std::string problem = to->commit(); !problem.empty()) conversion.tell(problem);
  });
}

void convert_table(Job& job, const Table& table, const std::string& path,
                   const std::vector<std::string>& columns, FitObserver* observer) {
  std::optional<files::OutputFile> file;
  together(job.comm(), [&] {
    if (job.comm().rank() == 0) file.emplace(path);
  });
  Conversion conversion{.columns = columns};
  if (observer != nullptr) conversion.tell = [observer](std::string_view line) { observer->note(line); };
  convert_to_hdf5(job, table, conversion, file ? &*file : nullptr);
}

}  // namespace TESSERA_NAMESPACE::gam
