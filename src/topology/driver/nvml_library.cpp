// SPDX-License-Identifier: Apache-2.0
#include "topology/driver/nvml_library.hpp"

namespace TESSERA_NAMESPACE::detail {

NvmlLibrary::NvmlLibrary() {
  if (!found()) return;
  library_.find(api_.init, "nvmlInit_v2");
  library_.find(api_.shutdown, "nvmlShutdown");
  library_.find(api_.error_string, "nvmlErrorString");
  library_.find(api_.cuda_driver_version, "nvmlSystemGetCudaDriverVersion_v2");
  library_.find(api_.device_count, "nvmlDeviceGetCount_v2");
  library_.find(api_.device_by_index, "nvmlDeviceGetHandleByIndex_v2");
  library_.find(api_.uuid, "nvmlDeviceGetUUID");
  library_.find(api_.name, "nvmlDeviceGetName");
  library_.find(api_.pci_info, "nvmlDeviceGetPciInfo_v3");
  library_.find(api_.compute_capability, "nvmlDeviceGetCudaComputeCapability");
  library_.find(api_.memory_info, "nvmlDeviceGetMemoryInfo");
  library_.find(api_.ecc_mode, "nvmlDeviceGetEccMode");
  library_.find(api_.max_clock, "nvmlDeviceGetMaxClockInfo");
  library_.find(api_.memory_bus_width, "nvmlDeviceGetMemoryBusWidth");
  library_.find(api_.core_count, "nvmlDeviceGetNumGpuCores");
  library_.find(api_.mig_mode, "nvmlDeviceGetMigMode");
  library_.find(api_.max_mig_devices, "nvmlDeviceGetMaxMigDeviceCount");
  library_.find(api_.mig_device_by_index, "nvmlDeviceGetMigDeviceHandleByIndex");
  library_.find(api_.attributes, "nvmlDeviceGetAttributes_v2");
  library_.find(api_.gpu_instance_id, "nvmlDeviceGetGpuInstanceId");
  library_.find(api_.compute_instance_id, "nvmlDeviceGetComputeInstanceId");
  library_.find(api_.driver_version, "nvmlSystemGetDriverVersion");
  library_.find(api_.device_by_uuid, "nvmlDeviceGetHandleByUUID");
  library_.find(api_.ecc_errors, "nvmlDeviceGetTotalEccErrors");
  library_.find(api_.remapped_rows, "nvmlDeviceGetRemappedRows");
  library_.find(api_.nvlink_state, "nvmlDeviceGetNvLinkState");
  library_.find(api_.event_set_create, "nvmlEventSetCreate");
  library_.find(api_.event_set_free, "nvmlEventSetFree");
  library_.find(api_.register_events, "nvmlDeviceRegisterEvents");
  library_.find(api_.event_set_wait, "nvmlEventSetWait_v2");
  status_ = nvml::call(api_.init);
}

NvmlLibrary::~NvmlLibrary() {
  if (status_ == nvml::Status::success) nvml::call(api_.shutdown);
}

std::string NvmlLibrary::describe(nvml::Status status) const {
  if (api_.error_string != nullptr) return api_.error_string(status);
  return "NVML error " + std::to_string(static_cast<int>(status));
}

}  // namespace TESSERA_NAMESPACE::detail
