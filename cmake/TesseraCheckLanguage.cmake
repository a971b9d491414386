# SPDX-License-Identifier: Apache-2.0
# tessera_check_language(LANGUAGE): like check_language, but repeats a failed search in each configuration. Keeps a
# compiler or NOTFOUND that the user has set.
include(CheckLanguage)
macro(tessera_check_language language)
  get_property(type CACHE CMAKE_${language}_COMPILER PROPERTY TYPE)
  if(type STREQUAL "FILEPATH" AND NOT CMAKE_${language}_COMPILER)
    unset(CMAKE_${language}_COMPILER CACHE)
  endif()
  check_language(${language})
endmacro()
