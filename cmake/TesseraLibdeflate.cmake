# SPDX-License-Identifier: Apache-2.0
# Finds libdeflate, which decompresses gzip tables faster than zlib. Needs PkgConfig. Sets TESSERA_LIBDEFLATE (not
# cached), and defines PkgConfig::libdeflate.
set(TESSERA_LIBDEFLATE OFF)
if(TESSERA_ENABLE_LIBDEFLATE AND TESSERA_ENABLE_APPS)
  pkg_check_modules(libdeflate QUIET IMPORTED_TARGET libdeflate>=1.6)
  if(libdeflate_FOUND)
    set(TESSERA_LIBDEFLATE ON)
  elseif(NOT TESSERA_ENABLE_LIBDEFLATE STREQUAL "AUTO")
    message(FATAL_ERROR "TESSERA_ENABLE_LIBDEFLATE=ON needs libdeflate 1.6 or later, which pkg-config does not find")
  endif()
endif()
message(STATUS "Tessera: libdeflate ${TESSERA_LIBDEFLATE}")
