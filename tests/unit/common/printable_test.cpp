// SPDX-License-Identifier: Apache-2.0
// Untrusted text is escaped before it reaches a terminal.
#include <gtest/gtest.h>

#include <string>
#include <tessera/printable.hpp>

#include "files/standard_error.hpp"
#include "files/standard_output.hpp"

namespace tessera {
namespace {

TEST(Printable, KeepsTextsOfEachLanguage) {
  for (const std::string text :
       {"", "y ~ s(x)", "M\xC3\xBCnchen", "\xE4\xB8\xAD\xE6\x96\x87 \xF0\x9F\x98\x80",
        "\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D", "back\\slash", "\xC2\xA0\xEF\xBF\xBD"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable(text, Lines::many), text);
  }
}

TEST(Printable, EscapesWhatATerminalTakesForACommand) {
  EXPECT_EQ(printable("a\x1b]52;c;QUFB\x07z"), "a\\x1b]52;c;QUFB\\x07z");
  EXPECT_EQ(printable(std::string("a\0b\t\r\x7f", 6)), "a\\x00b\\x09\\x0d\\x7f");
  EXPECT_EQ(printable("one\ntwo"), "one\\x0atwo");
  EXPECT_EQ(printable("one\ntwo\r", Lines::many), "one\ntwo\\x0d");
  // U+0080, U+009B and U+009F; U+00A0 is a blank.
  EXPECT_EQ(printable("\xC2\x80\xC2\x9B\xC2\x9F\xC2\xA0"), "\\u0080\\u009b\\u009f\xC2\xA0");
}

TEST(Printable, EscapesWhatTurnsATextRound) {
  EXPECT_EQ(printable("\xE2\x80\xA9\xE2\x80\xAA\xE2\x80\xAE\xE2\x80\xAF"),
            "\\u2029\\u202a\\u202e\xE2\x80\xAF");
  EXPECT_EQ(printable("\xE2\x81\xA5\xE2\x81\xA6\xE2\x81\xA9\xE2\x81\xAA"),
            "\xE2\x81\xA5\\u2066\\u2069\xE2\x81\xAA");
}

TEST(Printable, EscapesBytesThatAreNoCharacters) {
  EXPECT_EQ(printable("M\xFCnchen"), "M\\xfcnchen");
  EXPECT_EQ(printable("\x9b"
                      "2J\xC3"),
            "\\x9b2J\\xc3");
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80");  // half of a pair
  EXPECT_EQ(printable("\xC0\x9B"), "\\xc0\\x9b");           // too long
}

/// The bytes that are written to a file.
template <class Write>
std::string written(Write write) {
  std::FILE* const file = std::tmpfile();
  write(file);
  std::rewind(file);
  std::string text(1000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

TEST(Printable, IsWhatTheProgramsSay) {
  EXPECT_EQ(written([](std::FILE* log) { files::say("one \x1b\ntwo\n", log); }), "one \\x1b\ntwo\n");
  EXPECT_EQ(written([](std::FILE* log) {
              files::say_line({"one ", "\x1b\ntwo"}, log);
            }),
            "one \\x1b\\x0atwo\n");
  ::testing::internal::CaptureStdout();
  files::write_output("M\xFC\n\x1b\n");
  files::flush_output();
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "M\\xfc\n\\x1b\n");
}

TEST(Printable, ANulByteEndsNoMessageOfAnError) {
  const std::string text("a\0b\0", 4);
  EXPECT_STREQ(Error(ErrorCode::input, "the text '" + text + "' is no number").what(),
               "the text 'a\\x00b\\x00' is no number");
}

}  // namespace
}  // namespace tessera
