# SPDX-License-Identifier: Apache-2.0
# Fails if the library or a program of ROOT writes to standard output or standard error elsewhere than in the functions
# that escape terminal commands: a name in a table may contain one.
cmake_policy(VERSION 3.25)
set(writers
  src/base/write_printable.hpp    # what escapes
  src/files/standard_error.hpp  # say, say_line
  src/files/standard_output.hpp # write_output, write_data
  apps/common/pages.cpp)          # manual pages and completions, which are the program's own text
# All ways to write to a stream of C or C++, or to the descriptors 1 and 2.
string(CONCAT writes "(^|[^a-z_:])(std::)?(printf|vprintf|fprintf|vfprintf|fputs|fputc|puts|putc|putchar|fwrite|perror|psignal)"
  " *\\(|std::(cout|cerr|clog)|fmt::print|(^|[^a-z_])write *\\( *(1|2|STD[A-Z]*_FILENO|fileno)")

# Files that write escaped text, or data.
set(raw_writers apps/fit/progress.cpp apps/bench/measurement.cpp)

set(found "")
foreach(folder IN ITEMS apps include src)
  file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/${folder}/*.hpp ${ROOT}/${folder}/*.cpp ${ROOT}/${folder}/*.cu)
  foreach(source IN LISTS sources)
    if(source IN_LIST writers)
      continue()
    endif()
    file(STRINGS ${ROOT}/${source} lines REGEX "${writes}")
    if(NOT source IN_LIST raw_writers)
      file(STRINGS ${ROOT}/${source} raw REGEX "(say_raw|write_data) *\\(")
      list(APPEND lines ${raw})
    endif()
    foreach(line IN LISTS lines)
      if(NOT line MATCHES "^ *//")
        string(APPEND found "\n${source}: ${line}")
      endif()
    endforeach()
  endforeach()
endforeach()
if(found)
  message(FATAL_ERROR "written past files::say, files::write_output and mpi::detail::say, which escape what a terminal "
    "would follow:${found}")
endif()
# The allowed writers are found, so the pattern works.
foreach(writer IN LISTS writers)
  file(STRINGS ${ROOT}/${writer} lines REGEX "${writes}")
  if(NOT lines)
    message(FATAL_ERROR "${writer} writes nothing: the list of writers is wrong, or the pattern")
  endif()
endforeach()
