# SPDX-License-Identifier: Apache-2.0
# tessera_type_list(name template item...)
#
# Writes list.hpp of the folder of src that calls it: `some_item` stands for the type SomeItem of some_item.hpp
# there, and `name` is an alias of `template`, of the folder's list_of.hpp, over those types. The header is
# included by the folder's path below src, e.g. "gam/family/list.hpp", from TESSERA_LISTS, a folder of the
# build. The items come back as `name` in the caller's parent.
set(TESSERA_LISTS ${PROJECT_BINARY_DIR}/lists)

function(tessera_type_list name template)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  set(includes "")
  set(types "")
  foreach(item IN LISTS ARGN)
    string(APPEND includes "#include \"${folder}/${item}.hpp\"\n")
    set(type "")
    string(REPLACE "_" ";" words ${item})
    foreach(word IN LISTS words)
      string(SUBSTRING ${word} 0 1 first)
      string(SUBSTRING ${word} 1 -1 rest)
      string(TOUPPER ${first} first)
      string(APPEND type ${first}${rest})
    endforeach()
    list(APPEND types ${type})
  endforeach()
  list(JOIN types ", " types)
  file(CONFIGURE OUTPUT ${TESSERA_LISTS}/${folder}/list.hpp @ONLY NEWLINE_STYLE UNIX CONTENT
"// Written from the list in ${folder}.
#pragma once

${includes}
namespace tessera::gam {
using ${name} = ${template}<${types}>;
}
")
  set(${name} ${ARGN} PARENT_SCOPE)
endfunction()
