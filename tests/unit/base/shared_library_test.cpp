// SPDX-License-Identifier: Apache-2.0
#include "base/shared_library.hpp"

#include <gtest/gtest.h>

namespace tessera::base {
namespace {

using Opening = SharedLibrary::Opening;

TEST(SharedLibrary, FindsFunctionsOfTheLibraryAndNoOthers) {
  const SharedLibrary library("libc.so.6");
  ASSERT_TRUE(library.is_open()) << library.why_not();
  EXPECT_NE(library.file().find("libc.so.6"), std::string::npos);
  int (*absolute)(int) = nullptr;
  ASSERT_TRUE(library.find(absolute, "abs"));
  EXPECT_EQ(absolute(-3), 3);
  EXPECT_FALSE(library.find(absolute, "tessera_has_no_such_function"));
  EXPECT_EQ(absolute, nullptr);
}

TEST(SharedLibrary, SaysWhyItIsNotOpen) {
  for (const Opening opening : {Opening::closed_later, Opening::kept_open, Opening::if_loaded}) {
    const SharedLibrary library("libtessera_is_not_there.so.7", opening);
    EXPECT_FALSE(library.is_open());
    EXPECT_NE(library.why_not().find("libtessera_is_not_there.so.7"), std::string::npos);
    EXPECT_EQ(library.file(), "");
    EXPECT_EQ(library.address_of("abs"), nullptr);
  }
}

TEST(SharedLibrary, StaysOpenForAsLongAsItIsAskedTo) {
  const auto is_loaded = [] { return SharedLibrary(TESSERA_SOME_LIBRARY, Opening::if_loaded).is_open(); };
  ASSERT_FALSE(is_loaded());
  {
    SharedLibrary library;
    library = SharedLibrary(TESSERA_SOME_LIBRARY);
    EXPECT_TRUE(is_loaded());
  }
  EXPECT_FALSE(is_loaded());
  EXPECT_TRUE(SharedLibrary(TESSERA_SOME_LIBRARY, Opening::kept_open).is_open());
  EXPECT_TRUE(is_loaded());
}

}  // namespace
}  // namespace tessera::base
