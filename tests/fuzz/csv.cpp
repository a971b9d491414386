// SPDX-License-Identifier: Apache-2.0
// Tables in CSV give the same content or the same error for any division of bytes and rows.
#include "csv_reading.hpp"
#include "fuzz_target.hpp"
#include "memory_source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera::fuzz;
  std::string_view input = text_of(data, size);
  // The first line has two letters for the cuts and one for the buffer, so that an input is readable text.
  CsvDivision whole;
  const std::vector<std::int64_t> cuts = take_cuts(input, whole);
  const auto bytes = static_cast<std::int64_t>(input.size());

  for (const bool text : {false, true}) {
    whole.text = text;
    MemorySource source(input);
    const CsvReading reading = read_alike(source, bytes, whole, cuts);
    CsvDivision parts = whole;
    parts.threads = 3;
    parts.cuts = {cuts.front()};
    parts.buffer_bytes = 4096;
    require(read_csv(source, bytes, parts) == reading, "two parts are read as one:", reading.fault);
  }
  return 0;
}
