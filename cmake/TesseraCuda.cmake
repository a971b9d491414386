# SPDX-License-Identifier: Apache-2.0
# Enables CUDA if wanted and found. Include before any target exists. Sets TESSERA_CUDA (not cached).
set(TESSERA_CUDA OFF)
if(TESSERA_ENABLE_CUDA STREQUAL "AUTO")
  include(TesseraCheckLanguage)
  tessera_check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(TESSERA_CUDA ON)
  endif()
elseif(TESSERA_ENABLE_CUDA)
  set(TESSERA_CUDA ON)
endif()

if(TESSERA_CUDA)
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    # Machine code for data-centre GPUs (8.0, 9.0), and PTX of 9.0 for newer GPUs.
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90 CACHE STRING "CUDA architectures to build for")
  endif()
  enable_language(CUDA)
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12 AND TESSERA_ENABLE_CUDA STREQUAL "AUTO")
    message(STATUS "Tessera: ${CMAKE_CUDA_COMPILER} is version ${CMAKE_CUDA_COMPILER_VERSION}; C++20 needs 12")
    set(TESSERA_CUDA OFF)
  endif()
endif()

if(TESSERA_CUDA)
  find_package(CUDAToolkit 12 REQUIRED)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    # CMake 3.25 does not know that nvcc supports C++20 from version 12 on.
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  # The static runtime opens the driver at run time, so that programs also start without a driver.
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
endif()
message(STATUS "Tessera: CUDA ${TESSERA_CUDA}")
