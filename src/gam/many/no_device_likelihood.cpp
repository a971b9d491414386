// SPDX-License-Identifier: Apache-2.0
// `DeviceLikelihood` in a build without CUDA: `run` throws.
#include "gam/many/device_likelihood.hpp"

#include <tessera/error.hpp>

namespace TESSERA_NAMESPACE::gam {

struct DeviceLikelihood::OnDevice {};

DeviceLikelihood::DeviceLikelihood(const SharedDesign& design, ManyFamily family, bool /*own_rows*/)
    : design_(design), layout_(design), source_(likelihood_kernel_source(layout_, family)), parts_(1) {}
DeviceLikelihood::~DeviceLikelihood() = default;

void DeviceLikelihood::run(Tile& /*tile*/, std::size_t /*threads*/, std::size_t /*responses*/,
                           FunctionRef<void(std::unique_ptr<LikelihoodSums>)> /*fit*/) {
  throw Error(ErrorCode::job_fault, "this build has no CUDA: configure with TESSERA_ENABLE_CUDA=ON");
}

}  // namespace TESSERA_NAMESPACE::gam
