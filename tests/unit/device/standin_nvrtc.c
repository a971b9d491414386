// SPDX-License-Identifier: Apache-2.0
// NVRTC in the layout of its package: compilations need a second library in the same folder, which it opens
// only by name.
#include <dlfcn.h>
#include <string.h>

static int program;

const char* nvrtcGetErrorString(int status) {
  return status == 7 ? "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE" : "none";
}
int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 97;
  return 0;
}
int nvrtcGetNumSupportedArchs(int* count) {
  *count = 1;
  return 0;
}
int nvrtcGetSupportedArchs(int* known) {
  *known = 90;
  return 0;
}
int nvrtcCreateProgram(void** created, const char* source, const char* name, int headers,
                       const char* const* texts, const char* const* names) {
  (void)source, (void)name, (void)headers, (void)texts, (void)names;
  *created = &program;
  return 0;
}
int nvrtcDestroyProgram(void** created) {
  *created = 0;
  return 0;
}
int nvrtcCompileProgram(void* of, int options, const char* const* option) {
  (void)of, (void)options, (void)option;
  return dlopen("libnvrtc-builtins.so.13.97", RTLD_LAZY) != 0 ? 0 : 7;
}
static int size_of_image(void* of, size_t* size) {
  (void)of;
  *size = 6;
  return 0;
}
static int image(void* of, char* to) {
  (void)of;
  memcpy(to, "image", 6);
  return 0;
}
int nvrtcGetCUBINSize(void* of, size_t* size) {
  return size_of_image(of, size);
}
int nvrtcGetCUBIN(void* of, char* to) {
  return image(of, to);
}
int nvrtcGetPTXSize(void* of, size_t* size) {
  return size_of_image(of, size);
}
int nvrtcGetPTX(void* of, char* to) {
  return image(of, to);
}
int nvrtcGetProgramLogSize(void* of, size_t* size) {
  return size_of_image(of, size);
}
int nvrtcGetProgramLog(void* of, char* to) {
  return image(of, to);
}
