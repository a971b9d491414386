# SPDX-License-Identifier: Apache-2.0
# Script of tessera_embed_texts: writes the source OUTPUT, which defines FUNCTION, from FILES (name=path...).
set(text "// Written by cmake/write_embedded_texts.cmake.\n#include \"${HEADER}\"\n\n")
string(APPEND text "std::vector<tessera::NamedHeader> ${FUNCTION}() {\n  return {\n")
foreach(file IN LISTS FILES)
  string(REGEX MATCH "^([^=]*)=(.*)$" matched "${file}")
  set(name "${CMAKE_MATCH_1}")
  file(READ "${CMAKE_MATCH_2}" content)
  string(APPEND text "{\"${name}\", R\"embedded(${content})embedded\"},\n")
endforeach()
string(APPEND text "  };\n}\n")
file(WRITE "${OUTPUT}" "${text}")
