// SPDX-License-Identifier: Apache-2.0
// Tables in CSV give the same content or the same error for any division of bytes and rows.
#include "csv_reading.hpp"
#include "fuzz_target.hpp"
#include "memory_source.hpp"

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera::fuzz;
  std::string_view input = text_of(data, size);
  // The first line has two letters for the cuts and one for the buffer, so that an input is readable text.
  CsvDivision whole;
  whole.buffer_bytes = 8 + take_byte(input) % 64;
  whole.landmark_bytes = 1 + take_byte(input) % 64;
  const unsigned first = take_byte(input);
  const unsigned second = take_byte(input);
  if (input.starts_with('\n')) input.remove_prefix(1);
  const auto bytes = static_cast<std::int64_t>(input.size());

  for (const bool text : {false, true}) {
    whole.text = text;
    MemorySource source(input);
    const CsvReading reading = read_csv(source, bytes, whole);
    CsvDivision parts = whole;
    parts.cuts = {bytes * (first % 97) / 97, bytes * (second % 97) / 97};
    std::sort(parts.cuts.begin(), parts.cuts.end());
    require(read_csv(source, bytes, parts) == reading, "three parts are read as one:", reading.fault);
    parts.threads = 3;
    require(read_csv(source, bytes, parts) == reading, "threads read what one does:", reading.fault);
    parts.cuts.pop_back();
    parts.buffer_bytes = 4096;
    require(read_csv(source, bytes, parts) == reading, "two parts are read as one:", reading.fault);
  }
  return 0;
}
