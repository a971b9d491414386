// SPDX-License-Identifier: Apache-2.0
// Untrusted JSON files are read with a check of every field.
#include "files/json_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <tessera/error.hpp>

#include "files/input_file.hpp"
#include "support/errors.hpp"
#include "temporary_folder.hpp"

namespace tessera::files {
namespace {

namespace fs = std::filesystem;

JsonFile parsed(std::string_view text) {
  return JsonFile::parsed(text, "a.json", "a test");
}

/// The error of reading a text; nothing if there is none.
std::string fault(const std::function<void()>& read) {
  return error_if_any(ErrorCode::input, read).value_or("");
}
std::string fault_of(std::string_view text, const std::function<void(const JsonField&)>& take = {}) {
  return fault([&] {
    const JsonFile file = parsed(text);
    if (take) take(file.root());
  });
}

TEST(JsonFile, GivesWhatIsThere) {
  const JsonFile file =
      parsed(R"({"a": [1, -2, 0.1, null], "t": "x", "b": true, "n": null, "big": 9223372036854775807})");
  const JsonField root = file.root();
  EXPECT_EQ(root.at("a").size(), 4U);
  EXPECT_EQ(root.at("a").elements()[1].whole(-2, 5), -2);
  EXPECT_EQ(root.at("a").elements()[2].number(), 0.1);
  EXPECT_TRUE(std::isnan(root.at("a").numbers_or_nan()[3]));
  EXPECT_EQ(root.at("t").text(), "x");
  EXPECT_TRUE(root.at("b").truth());
  EXPECT_FALSE(root.find("n").has_value());
  EXPECT_FALSE(root.find("absent").has_value());
  EXPECT_EQ(root.at("big").whole<std::int64_t>(), 9223372036854775807);
  EXPECT_EQ(file.checksum(),
            files::checksum_of(R"({"a": [1, -2, 0.1, null], "t": "x", "b": true, "n": null, )"
                               R"("big": 9223372036854775807})"));
}

TEST(JsonFile, NamesTheFieldThatIsNotWhatItMustBe) {
  const std::string text = R"({"a": {"b": [1, {"c": -1}, "t", 1e300, 18446744073709551615]}, "one": [1]})";
  const auto element = [](std::size_t i) {
    return [i](const JsonField& root) -> JsonField { return root.at("a").at("b").elements()[i]; };
  };
  EXPECT_EQ(fault_of(text, [&](const JsonField& r) { (void)element(1)(r).at("c").whole(); }),
            "a.json: is damaged: a.b[1].c: is -1, not a whole number from 0 to 2147483647");
  EXPECT_EQ(fault_of(text, [&](const JsonField& r) { (void)element(0)(r).index_below(1); }),
            "a.json: is damaged: a.b[0]: is 1, not a whole number from 0 to 0");
  EXPECT_EQ(fault_of(text, [&](const JsonField& r) { (void)element(0)(r).index_below(0); }),
            "a.json: is damaged: a.b[0]: must not be an index, because the list is empty");
  EXPECT_EQ(fault_of(text, [&](const JsonField& r) { (void)element(2)(r).number(); }),
            "a.json: is damaged: a.b[2]: is text, not a number");
  for (const std::size_t i : {std::size_t{3}, std::size_t{4}})
    EXPECT_NE(fault_of(text, [&](const JsonField& r) { (void)element(i)(r).whole<std::int64_t>(); })
                  .find("not a whole number"),
              std::string::npos);
  EXPECT_EQ(fault_of(text, [](const JsonField& r) { (void)r.at("z"); }),
            "a.json: is damaged: the field 'z' is missing");
  EXPECT_EQ(fault_of(text, [](const JsonField& r) { (void)r.at("a").at("b").at("c"); }),
            "a.json: is damaged: a.b: is a list, not an object");
  EXPECT_EQ(fault_of(text, [](const JsonField& r) { (void)r.at("one").numbers(2); }),
            "a.json: is damaged: one: has 1 elements, but needs 2");
  EXPECT_EQ(fault_of(text, [](const JsonField& r) { (void)r.at("a").numbers(); }),
            "a.json: is damaged: a: is an object, not a list");
  EXPECT_EQ(fault_of("[]", [](const JsonField& r) { (void)r.find("a"); }),
            "a.json: is damaged: is a list, not an object");
}

TEST(JsonFile, RefusesWhatIsNoJsonWithTheByte) {
  EXPECT_EQ(fault_of(R"({"a": 1,)"), "a.json: is not a test: it is not valid JSON at byte 9");
  EXPECT_EQ(fault_of(""), "a.json: is not a test: it is not valid JSON at byte 1");
  EXPECT_EQ(fault_of("[1e999]"), "a.json: is not a test: it is not valid JSON at byte 6");
  EXPECT_EQ(fault_of("[1] [2]"), "a.json: is not a test: it is not valid JSON at byte 5");
  using namespace std::string_literals;
  EXPECT_EQ(fault_of("[1]\0"s), "a.json: is not a test: it is not valid JSON at byte 4");
  EXPECT_EQ(fault_of("[1] \0garbage"s), "a.json: is not a test: it is not valid JSON at byte 5");
  EXPECT_EQ(fault_of("[\"a\0b\"]"s), "a.json: is not a test: it is not valid JSON at byte 4");
  EXPECT_EQ(fault_of("\0"s), "a.json: is not a test: it is not valid JSON at byte 1");
  EXPECT_EQ(fault_of("[1] \n\t\r\n"), "");
  EXPECT_EQ(fault_of(R"({"a": 1, "a": 2})"),
            R"(a.json: is not a test: it has the field "a" twice in one object)");
  EXPECT_EQ(fault_of(R"({"\u001b]": 1, "\u001b]": 2})"),
            R"(a.json: is not a test: it has the field "\u001b]" twice in one object)");
  EXPECT_EQ(fault_of(std::string(65, '[') + std::string(65, ']')),
            "a.json: is not a test: it is nested more than 64 levels deep");
  EXPECT_EQ(fault_of(std::string(64, '[') + std::string(64, ']')), "");
  EXPECT_NE(fault_of(std::string(std::size_t{1} << 22, '[')), "");
}

class ReadText : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const char* name) const { return (folder_ / name).string(); }
  TemporaryFolder folder_;
};

TEST_F(ReadText, TakesTheWholeOfARegularFile) {
  const std::string text(200'000, 'x');
  std::ofstream(path("a")) << text;
  EXPECT_EQ(files::read_text(path("a"), 200'000), text);
  EXPECT_EQ(fault([&] { (void)files::read_text(path("a"), 199'999); }),
            path("a") + ": cannot be read: the file has more than 199999 bytes");
  EXPECT_FALSE(files::read_text("/proc/self/status", 1 << 20).empty());
}

TEST_F(ReadText, RefusesWhatHasNoEndAtOnce) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string& name : {std::string("/dev/zero"), std::string("/dev/null"), path("pipe")})
    EXPECT_EQ(fault([&] { (void)files::read_text(name, 1 << 20); }),
              name + ": cannot be read: it is not a regular file");
  EXPECT_EQ(fault([&] { (void)files::read_text(folder_.path().string(), 1 << 20); }),
            folder_.path().string() + ": cannot be read: it is a directory");
  // A file that claims a terabyte, without using disk space.
  std::ofstream(path("hole")) << "{";
  if (::truncate(path("hole").c_str(), off_t{1} << 40) != 0) GTEST_SKIP() << "no files with holes here";
  EXPECT_NE(fault([&] { const JsonFile file(path("hole"), "a test"); }).find("the file has more than"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera::files
