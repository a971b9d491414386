// SPDX-License-Identifier: Apache-2.0
#include <tessera/device/stream.hpp>

#include "device/cuda_calls.hpp"

#include <tessera/device/context.hpp>

namespace tessera::inline TESSERA_ABI {

Stream::Stream(const DeviceContext& context) {
  if (context.info().has_host_memory()) return;
  context.bind();
  view_ = cuda::create_stream();
  ordinal_ = context.ordinal();
}

Stream::~Stream() {
  if (native() != nullptr) cuda::destroy_stream(view_, ordinal_);
}

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(view_, other.view_);
  std::swap(ordinal_, other.ordinal_);
  return *this;
}

void Stream::synchronize() const {
  if (native() != nullptr) cuda::synchronize(view_);
}

Event::Event(const DeviceContext& context) {
  if (context.info().has_host_memory()) return;
  context.bind();
  view_ = cuda::create_event();
  ordinal_ = context.ordinal();
}

Event::~Event() {
  if (view_.native() != nullptr) cuda::destroy_event(view_, ordinal_);
}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(view_, other.view_);
  std::swap(ordinal_, other.ordinal_);
  return *this;
}

void Event::record(StreamView stream) {
  if (view_.native() != nullptr) cuda::record(view_, stream);
}

bool Event::ready() const {
  return view_.native() == nullptr || cuda::ready(view_);
}

void Event::make_wait(StreamView stream) const {
  if (view_.native() != nullptr) cuda::make_wait(stream, view_);
}

void Event::synchronize() const {
  if (view_.native() != nullptr) cuda::synchronize(view_);
}

}  // namespace tessera::inline TESSERA_ABI
