# SPDX-License-Identifier: Apache-2.0
# Fails if clang-format 14 would change a source file of ROOT.
set(version "")
if(CLANG_FORMAT)
  execute_process(COMMAND ${CLANG_FORMAT} --version OUTPUT_VARIABLE version)
endif()
if(NOT version MATCHES "version 14\\.")
  message("SKIPPED: clang-format 14 is not installed")
  return()
endif()

foreach(folder IN ITEMS apps examples include src tests)
  file(GLOB_RECURSE found ${ROOT}/${folder}/*.hpp ${ROOT}/${folder}/*.cpp ${ROOT}/${folder}/*.cuh
    ${ROOT}/${folder}/*.cu)
  list(APPEND sources ${found})
endforeach()
execute_process(COMMAND ${CLANG_FORMAT} --dry-run --Werror ${sources} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "clang-format would change the files named above: run clang-format -i on them")
endif()
