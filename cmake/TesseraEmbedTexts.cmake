# SPDX-License-Identifier: Apache-2.0
# tessera_embed_texts(target function HEADER header FILES name=path...)
#
# Adds a generated source to `target` that defines `function` (such as ns::texts), declared in `header`. The function
# returns the names and contents of the files as std::vector<tessera::NamedHeader>.
function(tessera_embed_texts target function)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "HEADER" "FILES")
  string(MAKE_C_IDENTIFIER ${function} name)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  set(script ${PROJECT_SOURCE_DIR}/cmake/write_embedded_texts.cmake)
  list(TRANSFORM arg_FILES REPLACE "^[^=]*=" "" OUTPUT_VARIABLE paths)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${output}" "-DFUNCTION=${function}" "-DHEADER=${arg_HEADER}"
      "-DFILES=${arg_FILES}" -P ${script}
    DEPENDS ${paths} ${script} COMMENT "Embedding the texts of ${function}" VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
