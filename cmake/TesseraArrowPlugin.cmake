# SPDX-License-Identifier: Apache-2.0
# Builds and installs the plugin for Parquet and Feather files, if Arrow is found. Always installs the plugin's sources,
# for install_plugin.cmake. Sets TESSERA_ARROW (not cached).
set(TESSERA_ARROW OFF)
if(TESSERA_ENABLE_ARROW)
  include(TesseraArrow)
  if(TESSERA_ARROW)
    set(TESSERA_INCLUDE_DIR ${PROJECT_SOURCE_DIR}/include)
    add_subdirectory(src/gam/data/arrow/plugin)
    tessera_harden(tessera_arrow_objects tessera_arrow)
    # Does not install a plugin that is linked with a pyarrow inside this tree, such as that of scripts/run-tests.
    get_target_property(library Arrow::arrow_shared LOCATION)
    cmake_path(IS_PREFIX PROJECT_SOURCE_DIR ${library} is_here)
    if(NOT is_here)
      install(TARGETS tessera_arrow LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    endif()
  elseif(NOT TESSERA_ENABLE_ARROW STREQUAL "AUTO")
    message(FATAL_ERROR "TESSERA_ENABLE_ARROW=ON needs Apache Arrow 15 or later with Parquet, or a Python with pyarrow: set Arrow_DIR and Parquet_DIR, or TESSERA_PYTHON_OF_ARROW")
  endif()
endif()
message(STATUS "Tessera: Arrow ${TESSERA_ARROW}")

set(plugin_dir ${CMAKE_INSTALL_DATADIR}/tessera/arrow)
file(RELATIVE_PATH PREFIX_FROM_PLUGIN /${plugin_dir} /)
configure_file(cmake/install_plugin.cmake.in cmake/install_plugin.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/install_plugin.cmake DESTINATION ${plugin_dir})
install(DIRECTORY src/gam/data/arrow/plugin DESTINATION ${plugin_dir}/gam/data/arrow)
install(FILES cmake/TesseraArrow.cmake DESTINATION ${plugin_dir}/gam/data/arrow/plugin)
