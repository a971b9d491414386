// SPDX-License-Identifier: Apache-2.0
// Untrusted models are summarised and reported, and are the same when written again.
#include "gam/model/model.hpp"

#include "files/input_file.hpp"
#include "files/json_file.hpp"
#include "fuzz_target.hpp"
#include "gam/report/page.hpp"
#include "gam/report/summary.hpp"
#include "support/well_formed.hpp"

namespace {

using namespace tessera;
using fuzz::refusal;
using fuzz::require;

const fuzz::InputFolder& folder() {
  static const fuzz::InputFolder one;
  return one;
}

/// Every checksum in an input is replaced by that of its covariance, so that inputs are not merely refused.
std::string with_checksum(std::string text, std::string_view covariance) {
  constexpr std::string_view mark = "@CRC@";
  const std::string checksum = files::checksum_of(covariance);
  for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos;)
    text.replace(at, mark.size(), checksum);
  return text;
}

std::string text_of_file(const std::string& name) {
  return files::read_text(folder() / name, std::int64_t{1} << 30);
}

/// A model that was read is written as the same file, whatever it was read from.
void check_written(const gam::FittedModel& model, int inline_limit) {
  static_cast<void>(gam::save_model(model, folder() / "first.json", inline_limit));
  const auto refused = refusal(
      [&] {
        const gam::FittedModel again = gam::read_model(folder() / "first.json");
        static_cast<void>(gam::save_model(again, folder() / "second.json", inline_limit));
      },
      {ErrorCode::input});
  require(!refused, "a model that was read is one that can be written:", refused.value_or(""));
  require(text_of_file("first.json") == text_of_file("second.json"),
          "a model that is read and written again is the same");
}

void check_texts(const gam::FittedModel& model) {
  static_cast<void>(gam::summary_text(model));
  static_cast<void>(model.predictive());
  std::string page;
  if (refusal([&] { page = gam::report_page(model, {}).html; }, {ErrorCode::input})) return;
  const std::string fault = gam::testing::xml_fault(page);
  require(fault.empty(), "a report is well-formed:", fault);
}

}  // namespace

/// The text of model.json and, after a zero byte, that of a covariance in a separate file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::text_of(data, size);
  const std::size_t end = std::min(input.find('\0'), input.size());
  const std::string_view covariance = end == input.size() ? std::string_view() : input.substr(end + 1);
  folder().write("model.json", with_checksum(std::string(input.substr(0, end)), covariance));
  for (const char* name : {"model.json.cov", "model.json.cov-00000000"}) folder().write(name, covariance);

  gam::FittedModel model;
  if (refusal([&] { model = gam::read_model(folder() / "model.json"); }, {ErrorCode::input})) return 0;
  check_texts(model);
  check_written(model, covariance.empty() ? 512 : 0);
  return 0;
}
