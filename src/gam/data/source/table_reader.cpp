// SPDX-License-Identifier: Apache-2.0
#include "gam/data/source/table_reader.hpp"

#include "base/errors.hpp"

#include <fmt/format.h>

#include <utility>

namespace TESSERA_NAMESPACE::gam {

Frame TableReader::read(const Workers& workers, const FrameRequest& request, Range rows,
                        std::vector<StrayTexts>* strays) {
  return read_unchanged(workers.comm, [&] {
    ReadPlan planned = plan(request, {});
    planned.set_strays(strays);
    planned.set_places([this](std::int64_t row_number) { return place(row_number); });
    return read_frame(workers, std::move(planned), rows, this->rows(),
                      [this](const ReadPlan& plan, int threads) { return scan(plan, threads); },
                      {kept_bytes(), [this] { let_go_of_kept(); }});
  });
}

ReadPlan TableReader::plan(const FrameRequest& request, std::span<const std::string> more_columns) const {
  const std::map<std::string, std::string> unusable = left_out();
  for (const Expression& variable : request.variables) {
    for (const std::string& column : variable.columns()) {
      auto found = unusable.find(column);
      // For a path into a group of HDF5, the problem of the group.
      if (found == unusable.end()) found = unusable.find(column.substr(0, column.find('/')));
      if (found != unusable.end())
        throw base::input_error("{}: '{}' {}", name(), found->first, found->second);
    }
  }
  std::vector<std::string> names = columns();
  names.insert(names.end(), more_columns.begin(), more_columns.end());
  ReadPlan plan(request, names, name());
  describe(plan);
  return plan;
}

std::string TableReader::place(std::int64_t row_number) const {
  return fmt::format("{}, {} {}", name(), row_word(), row_number);
}

}  // namespace TESSERA_NAMESPACE::gam
