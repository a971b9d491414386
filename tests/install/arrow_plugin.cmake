# SPDX-License-Identifier: Apache-2.0
# The one command that builds the plugin for Parquet for an installed Tessera: with a copy of what PREFIX has for it, and
# the pyarrow of PYTHON. The plugin of it passes the tests of TESTS, a program.
cmake_minimum_required(VERSION 3.25)
if(NOT ARROW MATCHES "pyarrow")
  message("SKIPPED: this build has no plugin of a pyarrow")
  return()
endif()
file(REMOVE_RECURSE ${WORK})
foreach(folder IN ITEMS share/tessera/arrow include/tessera/gam)
  cmake_path(GET folder PARENT_PATH parent)
  file(COPY ${PREFIX}/${folder} DESTINATION ${WORK}/${parent})
endforeach()
file(MAKE_DIRECTORY ${WORK}/${LIBDIR})
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env CXX=${CXX} ${CMAKE_COMMAND} -D PYTHON=${PYTHON} -P ${WORK}/share/tessera/arrow/install_plugin.cmake
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env TESSERA_ARROW_PLUGIN=${WORK}/${LIBDIR}/libtessera_arrow.so
    ${TESTS} --gtest_filter=ArrowFiles.HaveColumnsOfEveryType:ArrowFiles.AreWritten
  OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
if(NOT output MATCHES "PASSED  . 2 tests")
  message(FATAL_ERROR "${output}")
endif()
