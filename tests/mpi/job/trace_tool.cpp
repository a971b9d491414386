// SPDX-License-Identifier: Apache-2.0
// A tool that NVTX loads into a process (NVTX_INJECTION64_PATH) and that records ranges.
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include <mutex>
#include <string>

namespace {

std::mutex guard;
std::string seen;  // "name number\n" of each range that began, "end\n" of each that ended

nvtxDomainHandle_t create_domain(const char* name) {
  static int domains[2];
  return reinterpret_cast<nvtxDomainHandle_t>(&domains[std::string(name) == "tessera" ? 1 : 0]);
}
int push(nvtxDomainHandle_t, const nvtxEventAttributes_t* range) {
  const std::lock_guard lock(guard);
  seen += std::string(range->message.ascii) + ' ' + std::to_string(range->payload.llValue) + '\n';
  return 0;
}
int pop(nvtxDomainHandle_t) {
  const std::lock_guard lock(guard);
  seen += "end\n";
  return 0;
}

template <class Function>
void set(NvtxFunctionTable table, unsigned int size, NvtxCallbackIdCore2 id, Function* function) {
  if (id < size) *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0)
    return 0;
  set(table, size, NVTX_CBID_CORE2_DomainCreateA, create_domain);
  set(table, size, NVTX_CBID_CORE2_DomainRangePushEx, push);
  set(table, size, NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}

/// The events since the last call. Valid until the next.
__attribute__((visibility("default"))) const char* tessera_trace_take() {
  static std::string taken;
  const std::lock_guard lock(guard);
  taken = std::move(seen);
  seen.clear();
  return taken.c_str();
}
}
