// SPDX-License-Identifier: Apache-2.0
#include <tessera/device/context.hpp>
#include <tessera/device/stream.hpp>

#include <gtest/gtest.h>

#include <utility>

namespace tessera {
namespace {

TEST(Stream, OfASimulatedDeviceIsNullAndItsEventsAreReady) {
  DeviceInfo info;
  info.simulated = true;
  const DeviceContext context(info);
  Stream stream(context);
  const StreamView view = stream;
  EXPECT_EQ(view, StreamView{});
  EXPECT_NO_THROW(stream.synchronize());
  Event event(context);
  event.record(stream);
  event.make_wait(stream);
  event.synchronize();
  EXPECT_TRUE(event.ready());
  const Event moved = std::move(event);
  EXPECT_TRUE(moved.ready());
  stream = Stream(context);
}

}  // namespace
}  // namespace tessera
