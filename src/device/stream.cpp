// SPDX-License-Identifier: Apache-2.0
#include <tessera/device/stream.hpp>

#include "device/cuda_calls.hpp"

#include <tessera/device/context.hpp>

#include <utility>

namespace TESSERA_NAMESPACE {

Stream::Stream(const DeviceContext& context) {
  if (context.info().has_host_memory()) {
    own_ = std::optional(Own{});
    return;
  }
  context.bind();
  own_ = std::optional(Own{cuda::create_stream(), context.ordinal()});
}

Stream::~Stream() {
  if (own_ && native() != nullptr) cuda::destroy_stream(view(), own_->ordinal);
}

Stream& Stream::operator=(Stream&& other) noexcept {
  Stream old(std::move(other));
  std::swap(own_, old.own_);
  return *this;
}

void Stream::synchronize() const {
  if (native() != nullptr) cuda::synchronize(view());
}

Event::Event(const DeviceContext& context) {
  if (context.info().has_host_memory()) {
    own_ = std::optional(Own{});
    return;
  }
  context.bind();
  own_ = std::optional(Own{cuda::create_event(), context.ordinal()});
}

Event::~Event() {
  if (own_ && view().native() != nullptr) cuda::destroy_event(view(), own_->ordinal);
}

Event& Event::operator=(Event&& other) noexcept {
  Event old(std::move(other));
  std::swap(own_, old.own_);
  return *this;
}

void Event::record(StreamView stream) {
  if (view().native() != nullptr) cuda::record(view(), stream);
}

bool Event::ready() const {
  return view().native() == nullptr || cuda::ready(view());
}

void Event::make_wait(StreamView stream) const {
  if (view().native() != nullptr) cuda::make_wait(stream, view());
}

void Event::synchronize() const {
  if (view().native() != nullptr) cuda::synchronize(view());
}

}  // namespace TESSERA_NAMESPACE
