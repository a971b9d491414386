// SPDX-License-Identifier: Apache-2.0
// Untrusted run reports can be drawn.
#include "fuzz_target.hpp"
#include "gam/report/run_record.hpp"
#include "support/well_formed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  static const fuzz::MemoryFile file;
  file.write(fuzz::text_of(data, size));
  gam::RunRecord run;
  if (fuzz::refusal([&] { run = gam::load_run_record(file.path()); }, {ErrorCode::input})) return 0;
  for (const gam::RunRecord::Part& part : run.parts)
    fuzz::require(part.rank >= 0 && part.rank < run.ranks && 0 <= part.begin && part.begin <= part.end &&
                      part.end <= run.rows,
                  "a part is one of a rank, and of rows that there are");
  for (const std::string& page : {gam::plan_svg(run), gam::timeline_svg(run)})
    fuzz::require(gam::testing::xml_fault(page).empty(),
                  "a plot is well-formed:", gam::testing::xml_fault(page));
  return 0;
}
