// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_calls.hpp"

#include <tessera/error.hpp>

namespace tessera::cuda {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorCode::job_fault,
              "this build of Tessera has no CUDA: configure it with TESSERA_ENABLE_CUDA=ON to use GPUs");
}

}  // namespace

Ordinal find_ordinal(const Uuid&) {
  refuse();
}
void bind(Ordinal) {
  refuse();
}
void check_current(Ordinal) {
  refuse();
}
void fill_properties(Ordinal, DeviceInfo&) {
  refuse();
}
void on_device(Ordinal, const std::function<void()>&) noexcept {}
StreamView create_stream() {
  refuse();
}
void destroy_stream(StreamView, Ordinal) noexcept {}
void synchronize(StreamView) {
  refuse();
}
EventView create_event() {
  refuse();
}
void destroy_event(EventView, Ordinal) noexcept {}
void record(EventView, StreamView) {
  refuse();
}
bool ready(EventView) {
  refuse();
}
void make_wait(StreamView, EventView) {
  refuse();
}
void synchronize(EventView) {
  refuse();
}
void pin(void*, std::size_t) {
  refuse();
}
void unpin(void*, Ordinal) noexcept {}
std::int64_t free_memory_bytes(Ordinal) {
  refuse();
}
void* load_library(const char*) {
  refuse();
}
void unload_library(void*) noexcept {}
KernelView kernel_of(void*, const char*) {
  refuse();
}
void launch(KernelView, Extent, Extent, std::size_t, StreamView, void**) {
  refuse();
}

std::shared_ptr<void> keep_current() {
  refuse();
}
void copy(void*, const void*, std::size_t, StreamView) {
  refuse();
}
bool is_done(StreamView) {
  refuse();
}

}  // namespace tessera::cuda
