// SPDX-License-Identifier: Apache-2.0
#include "gam/modules/built_in_modules.hpp"

#include "gam/rows/kernel_source.hpp"
#include "job/exercise/exercised_device.hpp"
#include "job/sum/device_adder.hpp"

namespace TESSERA_NAMESPACE::gam {

std::vector<ModuleSource> built_in_modules() {
  std::vector<ModuleSource> modules = built_in_row_modules();
  modules.push_back(adder_source());
  modules.push_back(exercise_source());
  return modules;
}

}  // namespace TESSERA_NAMESPACE::gam
