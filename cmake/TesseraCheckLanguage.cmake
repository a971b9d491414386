# SPDX-License-Identifier: Apache-2.0
# tessera_check_language(LANGUAGE): check_language, but like find_program it searches again in each configuration until
# it finds a compiler. A compiler or NOTFOUND that the user has set is kept.
include(CheckLanguage)
macro(tessera_check_language language)
  get_property(type CACHE CMAKE_${language}_COMPILER PROPERTY TYPE)
  if(type STREQUAL "FILEPATH" AND NOT CMAKE_${language}_COMPILER)
    unset(CMAKE_${language}_COMPILER CACHE)
  endif()
  check_language(${language})
endmacro()
