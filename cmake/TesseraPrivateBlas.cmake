# SPDX-License-Identifier: Apache-2.0
# tessera_private_blas: the BLAS and LAPACK of the shared libtessera_gam. Where there is a static OpenBLAS with kernels
# for every processor (DYNAMIC_ARCH), the library has a copy of it, whose symbols the version script hides: BLAS of a
# host program, its threads and its settings are unaffected, and a model has the same bits in any of them. The
# serial OpenBLAS is preferred: another starts threads, which are ended at once. TESSERA_PRIVATE_BLAS says whether it is
# a copy.
include(CheckFunctionExists)
include(CMakePushCheckState)
set(TESSERA_PRIVATE_BLAS OFF)
set(reason "")
if(TESSERA_ENABLE_PRIVATE_BLAS STREQUAL "AUTO" AND (DEFINED CACHE{BLAS_LIBRARIES} OR DEFINED CACHE{BLA_VENDOR}))
  set(reason "BLAS_LIBRARIES or BLA_VENDOR names the one to link")
elseif(TESSERA_ENABLE_PRIVATE_BLAS)
  find_library(TESSERA_STATIC_OPENBLAS NAMES libopenblas.a PATH_SUFFIXES openblas-serial openblas-pthread)
  find_library(TESSERA_STATIC_LAPACKE NAMES liblapacke.a)
  # For LAPACK's Fortran code; by the file's own name, since a compiler's need not be installed.
  find_library(TESSERA_LIBGFORTRAN NAMES gfortran libgfortran.so.5)
  mark_as_advanced(TESSERA_STATIC_OPENBLAS TESSERA_STATIC_LAPACKE TESSERA_LIBGFORTRAN)
  set(libraries "")
  foreach(library IN ITEMS TESSERA_STATIC_LAPACKE TESSERA_STATIC_OPENBLAS TESSERA_LIBGFORTRAN)
    if(${library})
      list(APPEND libraries ${${library}})
    endif()
  endforeach()
  list(APPEND libraries Threads::Threads m)
  if(TESSERA_STATIC_OPENBLAS)
    cmake_push_check_state(RESET)
    set(CMAKE_REQUIRED_LIBRARIES ${libraries})
    check_function_exists(LAPACKE_dsyevd TESSERA_PRIVATE_BLAS_HAS_LAPACKE)
    check_function_exists(gotoblas_dynamic_init TESSERA_PRIVATE_BLAS_HAS_ALL_KERNELS)
    cmake_pop_check_state()
    if(TESSERA_PRIVATE_BLAS_HAS_LAPACKE AND TESSERA_PRIVATE_BLAS_HAS_ALL_KERNELS)
      set(TESSERA_PRIVATE_BLAS ON)
    else()
      set(reason "${TESSERA_STATIC_OPENBLAS} does not link with LAPACKE, or is built for only one processor")
    endif()
  else()
    set(reason "there is no libopenblas.a")
  endif()
else()
  set(reason "TESSERA_ENABLE_PRIVATE_BLAS=OFF")
endif()

add_library(tessera_private_blas INTERFACE)
if(TESSERA_PRIVATE_BLAS)
  message(STATUS "libtessera_gam has a private copy of ${TESSERA_STATIC_OPENBLAS}")
  # A weak reference of the library loads no member of an archive: the host's function would be called.
  target_link_options(tessera_private_blas INTERFACE LINKER:--undefined=openblas_set_num_threads
    LINKER:--undefined=openblas_get_parallel LINKER:--undefined=tessera_private_blas_begins
    LINKER:--undefined=openblas_get_corename
    LINKER:--wrap=blas_memory_alloc LINKER:--wrap=blas_memory_free LINKER:--wrap=getenv)
  add_library(tessera_private_blas_threads STATIC ${PROJECT_SOURCE_DIR}/src/gam/linalg/private_blas.cpp)
  target_include_directories(tessera_private_blas_threads PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(tessera_private_blas_threads PRIVATE tessera_compile_options)
  target_link_libraries(tessera_private_blas INTERFACE ${libraries} tessera_private_blas_threads)
elseif(TESSERA_ENABLE_PRIVATE_BLAS STREQUAL "ON")
  message(FATAL_ERROR "TESSERA_ENABLE_PRIVATE_BLAS=ON: ${reason}: install libopenblas-serial-dev and liblapacke-dev, or name the archive by TESSERA_STATIC_OPENBLAS")
else()
  message(STATUS "libtessera_gam is linked with the BLAS of the system, which a host program may share: ${reason}")
  target_link_libraries(tessera_private_blas INTERFACE tessera_lapack)
endif()
