# SPDX-License-Identifier: Apache-2.0
# Installs THIRD-PARTY-NOTICES, with the licences of code that is compiled in, and tessera.spdx.json, a bill of
# materials (SPDX 2.3) with checksums of the installed files. Both describe the dependencies found in this
# configuration. For reproducible builds, neither contains the current time, or a path or name of this machine.
set(sbom_parts "")
set(sbom_relations "")
set(sbom_notices "")

# part(NAME name ID id RELATION spdx_relationship LICENSE spdx [VERSION version] [URL url] [NOTICE name.txt] [STATIC_NOTICE name.txt])
# RELATION goes from Tessera to the part or, if it ends with _OF, from the part to Tessera. STATIC_NOTICE replaces
# NOTICE for STATIC_LINK.
macro(part)
  cmake_parse_arguments(part "" "NAME;ID;RELATION;LICENSE;VERSION;URL;NOTICE;STATIC_NOTICE" "" ${ARGN})
  set(part_json "\"name\": \"${part_NAME}\", \"SPDXID\": \"SPDXRef-${part_ID}\"")
  if(part_VERSION)
    string(APPEND part_json ", \"versionInfo\": \"${part_VERSION}\"")
  endif()
  if(NOT part_URL)
    set(part_URL NOASSERTION)
  endif()
  string(APPEND part_json ", \"downloadLocation\": \"${part_URL}\", \"filesAnalyzed\": false"
    ", \"licenseConcluded\": \"${part_LICENSE}\", \"licenseDeclared\": \"${part_LICENSE}\", \"copyrightText\": \"NOASSERTION\"")
  list(APPEND sbom_parts "    {${part_json}}")
  set(part_ends "SPDXRef-tessera" "${part_RELATION}" "SPDXRef-${part_ID}")
  if(part_RELATION MATCHES "_OF$")
    list(REVERSE part_ends)
  endif()
  list(GET part_ends 0 part_from)
  list(GET part_ends 2 part_to)
  list(APPEND sbom_relations "    {\"spdxElementId\": \"${part_from}\", \"relationshipType\": \"${part_RELATION}\", \"relatedSpdxElement\": \"${part_to}\"}")
  set(part_text "")
  if(part_RELATION STREQUAL "STATIC_LINK" AND part_STATIC_NOTICE)
    set(part_NOTICE ${part_STATIC_NOTICE})
  endif()
  if(part_NOTICE)
    file(READ ${PROJECT_SOURCE_DIR}/cmake/notices/${part_NOTICE} part_text)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/notices/${part_NOTICE})
  elseif(part_RELATION STREQUAL "STATIC_LINK")
    set(part_text "Linked statically in this build: its own package has the text of its licence.\n")
  endif()
  if(part_text)
    string(REPEAT "=" 80 part_line)
    string(STRIP "${part_NAME} ${part_VERSION}" part_title)
    string(APPEND sbom_notices "${part_line}\n${part_title} (${part_LICENSE})\n${part_URL}\n\n${part_text}\n")
  endif()
endmacro()

# linkage(variable library...): sets `variable` to STATIC_LINK or DYNAMIC_LINK, for an imported target or library files.
function(linkage variable)
  set(type "")
  if(TARGET "${ARGN}")
    get_target_property(type ${ARGN} TYPE)
  endif()
  set(${variable} DYNAMIC_LINK PARENT_SCOPE)
  if(type MATCHES "^(STATIC|INTERFACE)_LIBRARY$" OR "${ARGN}" MATCHES "[.]a(;|$)")
    set(${variable} STATIC_LINK PARENT_SCOPE)
  endif()
endfunction()

# Name and version of the MPI implementation, from mpi.h.
if(TESSERA_ENABLE_MPI)
  set(mpi_name MPI)
  set(mpi_version "")
  set(mpi_license NOASSERTION)
  foreach(folder IN LISTS MPI_C_INCLUDE_DIRS)
    if(EXISTS ${folder}/mpi.h AND NOT mpi_version)
      file(STRINGS ${folder}/mpi.h lines REGEX "^#define (OMPI_(MAJOR|MINOR|RELEASE)_VERSION|MPICH_VERSION) ")
      string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
      if(lines MATCHES "OMPI_")
        set(mpi_name "Open MPI")
        set(mpi_license BSD-3-Clause)
        string(REPLACE ";" "." mpi_version "${numbers}")
      elseif(lines MATCHES "MPICH_VERSION \"([^\"]+)\"")
        set(mpi_name MPICH)
        set(mpi_version ${CMAKE_MATCH_1})
      endif()
    endif()
  endforeach()
  linkage(kind ${MPI_C_LIBRARIES})
  part(NAME ${mpi_name} ID mpi RELATION ${kind} VERSION ${mpi_version} LICENSE ${mpi_license})
  linkage(kind ${hwloc_LINK_LIBRARIES})
  part(NAME hwloc ID hwloc RELATION ${kind} VERSION ${hwloc_VERSION} LICENSE BSD-3-Clause URL https://www.open-mpi.org/projects/hwloc/)
endif()

if(TESSERA_ENABLE_APPS)
  # Sets the version variables, which are otherwise set only in the scope of subdirectories.
  foreach(package IN ITEMS CLI11 nlohmann_json fmt tomlplusplus ZLIB)
    find_package(${package} QUIET REQUIRED)
  endforeach()
  find_package(Boost QUIET REQUIRED CONFIG)
  find_package(Eigen3 QUIET REQUIRED NO_MODULE)
  part(NAME CLI11 ID cli11 RELATION STATIC_LINK VERSION ${CLI11_VERSION} LICENSE BSD-3-Clause
    URL https://github.com/CLIUtils/CLI11 NOTICE CLI11.txt)
  part(NAME "JSON for Modern C++" ID nlohmann-json RELATION STATIC_LINK VERSION ${nlohmann_json_VERSION} LICENSE MIT
    URL https://github.com/nlohmann/json NOTICE nlohmann-json.txt)
  part(NAME Boost.Math ID boost-math RELATION STATIC_LINK VERSION ${Boost_VERSION} LICENSE BSL-1.0
    URL https://github.com/boostorg/math NOTICE boost.txt)
  part(NAME Eigen ID eigen RELATION STATIC_LINK VERSION ${Eigen3_VERSION} LICENSE MPL-2.0
    URL https://eigen.tuxfamily.org NOTICE eigen.txt)
  # Templates of fmt and toml++ are compiled in, so both need notices even if linked dynamically.
  linkage(kind fmt::fmt)
  part(NAME fmt ID fmt RELATION ${kind} VERSION ${fmt_VERSION} LICENSE MIT URL https://github.com/fmtlib/fmt NOTICE fmt.txt)
  linkage(kind tomlplusplus::tomlplusplus)
  part(NAME toml++ ID tomlplusplus RELATION ${kind} VERSION ${tomlplusplus_VERSION} LICENSE MIT
    URL https://github.com/marzer/tomlplusplus NOTICE tomlplusplus.txt)
  linkage(kind ${ZLIB_LIBRARIES})
  part(NAME zlib ID zlib RELATION ${kind} VERSION ${ZLIB_VERSION_STRING} LICENSE Zlib URL https://zlib.net
    STATIC_NOTICE zlib.txt)
  if(TESSERA_LIBDEFLATE)
    linkage(kind ${libdeflate_LINK_LIBRARIES})
    part(NAME libdeflate ID libdeflate RELATION ${kind} VERSION ${libdeflate_VERSION} LICENSE MIT
      URL https://github.com/ebiggers/libdeflate STATIC_NOTICE libdeflate.txt)
  endif()
  if("zstd" IN_LIST TESSERA_PACKINGS)
    linkage(kind ${zstd_LINK_LIBRARIES})
    part(NAME zstd ID zstd RELATION ${kind} VERSION ${zstd_VERSION} LICENSE BSD-3-Clause URL https://github.com/facebook/zstd)
  endif()
  if("xz" IN_LIST TESSERA_PACKINGS)
    linkage(kind ${lzma_LINK_LIBRARIES})
    part(NAME liblzma ID liblzma RELATION ${kind} VERSION ${lzma_VERSION} LICENSE NOASSERTION URL https://tukaani.org/xz)
  endif()
  if("bzip2" IN_LIST TESSERA_PACKINGS)
    linkage(kind ${BZIP2_LIBRARIES})
    part(NAME bzip2 ID bzip2 RELATION ${kind} VERSION ${BZIP2_VERSION_STRING} LICENSE bzip2-1.0.6 URL https://sourceware.org/bzip2)
  endif()
  if(TESSERA_ENABLE_HDF5)
    find_package(HDF5 QUIET REQUIRED COMPONENTS C)
    list(FILTER HDF5_C_LIBRARIES INCLUDE REGEX "hdf5")
    linkage(kind ${HDF5_C_LIBRARIES})
    part(NAME HDF5 ID hdf5 RELATION ${kind} VERSION ${HDF5_VERSION} LICENSE BSD-3-Clause URL https://www.hdfgroup.org/solutions/hdf5/)
  endif()
endif()
if(TARGET tessera_gam)
  part(NAME "Apache Arrow, of the plugin for Parquet" ID arrow RELATION OPTIONAL_DEPENDENCY_OF LICENSE Apache-2.0
    URL https://arrow.apache.org)
endif()
if(TESSERA_CUDA)
  part(NAME "CUDA Runtime" ID cudart RELATION STATIC_LINK VERSION ${CUDAToolkit_VERSION} LICENSE LicenseRef-NVIDIA-CUDA
    URL https://developer.nvidia.com/cuda-toolkit NOTICE cudart.txt)
  part(NAME "CUDA Toolkit: NVRTC and cuBLASLt" ID cuda-libraries RELATION OPTIONAL_DEPENDENCY_OF LICENSE LicenseRef-NVIDIA-CUDA
    URL https://developer.nvidia.com/cuda-toolkit)
  part(NAME "NVIDIA driver: libcuda and NVML" ID nvidia-driver RELATION OPTIONAL_DEPENDENCY_OF LICENSE NOASSERTION)
endif()
if(TESSERA_NCCL)
  part(NAME NCCL ID nccl RELATION OPTIONAL_DEPENDENCY_OF LICENSE BSD-3-Clause URL https://github.com/NVIDIA/nccl)
endif()
# Data of the examples.
part(NAME "Tables of the gallery, in the public domain: their README has the sources" ID gallery RELATION CONTAINS
  LICENSE NOASSERTION)
part(NAME "Diamonds, a table of ggplot2" ID diamonds RELATION CONTAINS LICENSE MIT
  URL https://github.com/tidyverse/ggplot2 NOTICE ggplot2.txt)
set(SBOM_LICENSES "")
if(TESSERA_CUDA)
  set(SBOM_LICENSES "{\"licenseId\": \"LicenseRef-NVIDIA-CUDA\", \"name\": \"NVIDIA Software License Agreement and CUDA Supplement\", \"extractedText\": \"https://docs.nvidia.com/cuda/eula/\"}")
endif()
part(NAME "${CMAKE_CXX_COMPILER_ID} C++ compiler" ID compiler RELATION BUILD_TOOL_OF VERSION ${CMAKE_CXX_COMPILER_VERSION}
  LICENSE NOASSERTION)

string(CONFIGURE [[What is installed with Tessera @PROJECT_VERSION@ has these works of others in it: compiled in, or as a file
(the table). They are under the licences below; Tessera itself is under the Apache License 2.0. What the programs are
linked with when they start is not a part of them: tessera.spdx.json names it.

The C++ standard library's templates are compiled in under the exception that their licence makes for that.

]] notices_head @ONLY)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/cmake/THIRD-PARTY-NOTICES CONTENT "${notices_head}${sbom_notices}" @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/THIRD-PARTY-NOTICES DESTINATION ${CMAKE_INSTALL_DOCDIR})

# tessera.spdx.json is written at the end of an installation, when all installed files are known.
list(JOIN sbom_parts ",\n" SBOM_PARTS)
list(JOIN sbom_relations ",\n" SBOM_RELATIONS)
cmake_path(SET SBOM_FILE NORMALIZE ${CMAKE_INSTALL_DOCDIR}/tessera.spdx.json)
set(SBOM_CREATED ${TESSERA_SOURCE_TIME})
configure_file(${PROJECT_SOURCE_DIR}/cmake/write_sbom.cmake.in ${PROJECT_BINARY_DIR}/cmake/write_sbom.cmake @ONLY)
install(SCRIPT ${PROJECT_BINARY_DIR}/cmake/write_sbom.cmake)
