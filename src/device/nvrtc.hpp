// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// The part of NVRTC's binary interface that Tessera uses. It is declared here to build without CUDA headers,
// and loaded at run time to run without NVRTC. Values follow the NVRTC reference, and are the same in CUDA 12
// and 13.
namespace tessera::nvrtc {

using Program = void*;

enum class Status : int {
  success = 0,
  compilation = 6,
};

struct Api {
  const char* (*error_string)(Status);
  Status (*version)(int* major, int* minor);
  Status (*supported_count)(int*);
  Status (*supported)(int*);  ///< sets the supported targets in ascending order, 90 for sm_90
  Status (*create)(Program*, const char* source, const char* name, int headers, const char* const* texts,
                   const char* const* names);
  Status (*destroy)(Program*);
  Status (*compile)(Program, int options, const char* const*);
  Status (*cubin_size)(Program, std::size_t*);
  Status (*cubin)(Program, char*);
  Status (*ptx_size)(Program, std::size_t*);
  Status (*ptx)(Program, char*);
  Status (*log_size)(Program, std::size_t*);
  Status (*log)(Program, char*);
};

}  // namespace tessera::nvrtc
