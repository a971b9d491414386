# SPDX-License-Identifier: Apache-2.0
# Sets TESSERA_SOURCE_TIME, such as 2026-01-31T12:00:00Z, the date in installed files, for reproducible builds. It is
# $SOURCE_DATE_EPOCH; otherwise the time of the commit or, without git, of CMakeLists.txt.
set(source_time_given "$ENV{SOURCE_DATE_EPOCH}")
set(source_time "${source_time_given}")
if(source_time STREQUAL "" AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(COMMAND git log -1 --format=%ct WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE source_time OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
endif()
if(source_time STREQUAL "")
  file(TIMESTAMP ${PROJECT_SOURCE_DIR}/CMakeLists.txt source_time %s UTC)
endif()
# string(TIMESTAMP) formats only the current time, which this variable overrides.
set(ENV{SOURCE_DATE_EPOCH} ${source_time})
string(TIMESTAMP TESSERA_SOURCE_TIME "%Y-%m-%dT%H:%M:%SZ" UTC)
if(source_time_given STREQUAL "")
  unset(ENV{SOURCE_DATE_EPOCH})
endif()
