# SPDX-License-Identifier: Apache-2.0
# Finds Apache Arrow and Parquet, 15 or later: by their CMake packages, otherwise in the pyarrow of
# TESSERA_PYTHON_OF_ARROW (default python3). Sets TESSERA_ARROW (not cached) to version and origin, e.g. "26.0.1
# (pyarrow)", or to OFF, and defines the targets Arrow::arrow_shared and Parquet::parquet_shared.
set(TESSERA_ARROW OFF)
find_package(Arrow QUIET CONFIG)
find_package(Parquet QUIET CONFIG)
if(Arrow_FOUND AND Parquet_FOUND AND Arrow_VERSION VERSION_GREATER_EQUAL 15 AND TARGET Arrow::arrow_shared
    AND TARGET Parquet::parquet_shared)
  set(TESSERA_ARROW "${Arrow_VERSION} (Apache Arrow)")
  return()
endif()
find_program(TESSERA_PYTHON_OF_ARROW python3 DOC "A Python with pyarrow, of which the plugin for Parquet is built")
mark_as_advanced(TESSERA_PYTHON_OF_ARROW)
if(NOT TESSERA_PYTHON_OF_ARROW OR TARGET Arrow::arrow_shared)
  return()
endif()
# pyarrow's libraries have versioned names, without symbolic links such as libarrow.so.
execute_process(COMMAND ${TESSERA_PYTHON_OF_ARROW} -c [[
import glob, os, pyarrow
folder = pyarrow.get_library_dirs()[0]
libraries = [glob.glob(os.path.join(folder, "lib%s.so.*" % name))[0] for name in ("arrow", "parquet")]
print(pyarrow.cpp_version, pyarrow.get_include(), *libraries, sep=";")]]
  RESULT_VARIABLE status OUTPUT_VARIABLE found ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT status EQUAL 0)
  return()
endif()
list(GET found 0 version)
list(GET found 1 include)
if(version VERSION_LESS 15 OR NOT EXISTS ${include}/parquet/arrow/reader.h)
  return()
endif()
set(place 2)
foreach(target IN ITEMS Arrow::arrow_shared Parquet::parquet_shared)
  list(GET found ${place} location)
  cmake_path(GET location FILENAME name)
  add_library(${target} SHARED IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${location} IMPORTED_SONAME ${name}
    INTERFACE_INCLUDE_DIRECTORIES ${include})
  math(EXPR place "${place} + 1")
endforeach()
set(TESSERA_ARROW "${version} (pyarrow)")
