# SPDX-License-Identifier: Apache-2.0
# tessera_check_language(LANGUAGE): check_language, but after finding no compiler it searches again the next time, as
# find_program does: one may have been installed since. A compiler or NOTFOUND that the user has given is kept.
include(CheckLanguage)
macro(tessera_check_language language)
  get_property(type CACHE CMAKE_${language}_COMPILER PROPERTY TYPE)
  if(type STREQUAL "FILEPATH" AND NOT CMAKE_${language}_COMPILER)
    unset(CMAKE_${language}_COMPILER CACHE)
  endif()
  check_language(${language})
endmacro()
