// SPDX-License-Identifier: Apache-2.0
#include <tessera/device/trace.hpp>

#include <nvtx3/nvToolsExt.h>

namespace TESSERA_NAMESPACE {
namespace {

nvtxDomainHandle_t domain() noexcept {
  static const nvtxDomainHandle_t made = nvtxDomainCreateA("tessera");
  return made;
}

}  // namespace

TraceRange::TraceRange(const char* name, std::int64_t number) noexcept {
  nvtxEventAttributes_t range{};
  range.version = NVTX_VERSION;
  range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  range.messageType = NVTX_MESSAGE_TYPE_ASCII;
  range.message.ascii = name;
  range.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  range.payload.llValue = number;
  (void)nvtxDomainRangePushEx(domain(), &range);
}

TraceRange::~TraceRange() {
  (void)nvtxDomainRangePop(domain());
}

}  // namespace TESSERA_NAMESPACE
