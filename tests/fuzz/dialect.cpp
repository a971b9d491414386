// SPDX-License-Identifier: Apache-2.0
// Text files of any dialect, given or found, have the same content or the same error for any division of
// bytes and rows; and what commas can read is read with commas.
#include "csv_reading.hpp"
#include "fuzz_target.hpp"
#include "memory_source.hpp"

#include <array>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera::fuzz;
  std::string_view input = text_of(data, size);
  // The first line has a letter for each option, two for the cuts and one for the buffer.
  constexpr std::array separators{"", "", ",", ";", "tab", "|", " "};
  constexpr std::array marks{"", "", ".", ","};
  CsvDivision whole;
  whole.options.sep = separators[take_byte(input) % separators.size()];
  whole.options.dec = marks[take_byte(input) % marks.size()];
  whole.options.comment = take_byte(input) % 3 == 0 ? "#" : "";
  whole.options.header = take_byte(input) % 3 != 0;
  whole.options.skip = take_byte(input) % 3;
  const std::vector<std::int64_t> cuts = take_cuts(input, whole);
  const auto bytes = static_cast<std::int64_t>(input.size());

  MemorySource source(input);
  const CsvReading reading = read_alike(source, bytes, whole, cuts);
  if (!whole.options.sep.empty() || whole.options.dec == ",") return 0;
  whole.options.sep = ",";
  const CsvReading by_commas = read_csv(source, bytes, whole);
  require(!by_commas.fault.empty() || by_commas.columns.size() < 2 || by_commas == reading,
          "what commas can read is read with commas");
  return 0;
}
