# SPDX-License-Identifier: Apache-2.0
# TESSERA_SOURCE_TIME, such as 2026-01-31T12:00:00Z, is the date in installed files, for reproducible builds:
# $SOURCE_DATE_EPOCH; otherwise the time of the commit or, in an archive, of its files.
set(source_time_given "$ENV{SOURCE_DATE_EPOCH}")
set(source_time "${source_time_given}")
if(source_time STREQUAL "" AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(COMMAND git log -1 --format=%ct WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE source_time OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
endif()
if(source_time STREQUAL "")
  file(TIMESTAMP ${PROJECT_SOURCE_DIR}/CMakeLists.txt source_time %s UTC)
endif()
# CMake writes only the current time, which this variable replaces.
set(ENV{SOURCE_DATE_EPOCH} ${source_time})
string(TIMESTAMP TESSERA_SOURCE_TIME "%Y-%m-%dT%H:%M:%SZ" UTC)
if(source_time_given STREQUAL "")
  unset(ENV{SOURCE_DATE_EPOCH})
endif()
