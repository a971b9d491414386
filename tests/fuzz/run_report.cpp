// SPDX-License-Identifier: Apache-2.0
// Reports of a run, which are exchanged: what is read of one is drawn.
#include "fuzz_target.hpp"
#include "report/run_record.hpp"
#include "unit/fit/well_formed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  static const fuzz::MemoryFile file;
  file.write(fuzz::text_of(data, size));
  fit::RunRecord run;
  if (fuzz::refusal([&] { run = fit::load_run_record(file.path()); }, {ErrorCode::input})) return 0;
  for (const fit::RunRecord::Part& part : run.parts)
    fuzz::require(part.rank >= 0 && part.rank < run.ranks && 0 <= part.begin && part.begin <= part.end &&
                      part.end <= run.rows,
                  "a part is one of a rank, and of rows that there are");
  for (const std::string& page : {fit::plan_svg(run), fit::timeline_svg(run)})
    fuzz::require(fit::testing::xml_fault(page).empty(),
                  "a plot is well-formed:", fit::testing::xml_fault(page));
  return 0;
}
