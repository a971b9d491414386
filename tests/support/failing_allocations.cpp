// SPDX-License-Identifier: Apache-2.0
#include "support/failing_allocations.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace tessera::testing {

constinit thread_local int allocations_left = 0;

}  // namespace tessera::testing

namespace {

void* allocated(std::size_t bytes) {
  int& left = tessera::testing::allocations_left;
  if (left > 0 && --left == 0) throw std::bad_alloc();
  if (void* const memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocated(bytes);
}
void* operator new[](std::size_t bytes) {
  return allocated(bytes);
}
// Replaced too, because memory of a sanitizer's operator new would otherwise be freed by std::free.
void* operator new(std::size_t bytes, const std::nothrow_t& /*nothrow*/) noexcept {
  return std::malloc(bytes > 0 ? bytes : 1);
}
void* operator new[](std::size_t bytes, const std::nothrow_t& /*nothrow*/) noexcept {
  return std::malloc(bytes > 0 ? bytes : 1);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
