# SPDX-License-Identifier: Apache-2.0
# Finds NCCL, for sums and broadcasts between GPUs. Include after TesseraCuda. Sets TESSERA_NCCL (not cached). Only the
# header is needed, because the library is opened at run time.
set(TESSERA_NCCL OFF)
if(TESSERA_ENABLE_NCCL AND (TESSERA_CUDA OR NOT TESSERA_ENABLE_NCCL STREQUAL "AUTO"))
  if(NOT TESSERA_CUDA)
    message(FATAL_ERROR "TESSERA_ENABLE_NCCL=ON needs CUDA: set TESSERA_ENABLE_CUDA=ON, or NCCL to AUTO")
  endif()
  find_path(TESSERA_NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS}
    DOC "Where nccl.h is, of NCCL 2.14 or later")
  if(TESSERA_NCCL_INCLUDE_DIR)
    set(TESSERA_NCCL ON)
  elseif(NOT TESSERA_ENABLE_NCCL STREQUAL "AUTO")
    message(FATAL_ERROR "TESSERA_ENABLE_NCCL=ON needs nccl.h: set TESSERA_NCCL_INCLUDE_DIR to its folder")
  endif()
endif()
message(STATUS "Tessera: NCCL ${TESSERA_NCCL}")
