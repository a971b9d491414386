// SPDX-License-Identifier: Apache-2.0
#include "gam/data/source/table_reader.hpp"

#include <fmt/format.h>

#include <utility>

namespace TESSERA_NAMESPACE::gam {

Frame TableReader::read(const Workers& workers, const FrameRequest& request, Range rows) {
  return read_unchanged(workers.comm, [&] {
    ReadPlan planned = plan(request, {});
    planned.set_places([this](std::int64_t row_number) { return place(row_number); });
    return read_frame(workers, std::move(planned), rows, this->rows(),
                      [this](const ReadPlan& plan, int threads) { return scan(plan, threads); },
                      {kept_bytes(), [this] { let_go_of_kept(); }});
  });
}

std::string TableReader::place(std::int64_t row_number) const {
  return fmt::format("{}, {} {}", name(), row_word(), row_number);
}

}  // namespace TESSERA_NAMESPACE::gam
