// SPDX-License-Identifier: Apache-2.0
#include <tessera/device/module.hpp>

#include "device/cuda_calls.hpp"

#include <tessera/error.hpp>

#include <utility>

namespace TESSERA_NAMESPACE {

struct Module::State {
  State(std::string the_name, const CompiledModule& compiled) : name(std::move(the_name)) {
    try {
      library = cuda::load_library(compiled.image.c_str());
    } catch (const Error& error) {
      throw Error(ErrorCode::job_fault,
                  "module \"" + name + "\" (" + compiled.target + ") cannot be loaded: " + error.what());
    }
  }
  ~State() { cuda::unload_library(library); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::string name;
  void* library = nullptr;
};

Module::Module(std::string name, const CompiledModule& compiled)
    : state_(std::make_unique<State>(std::move(name), compiled)) {}
Module::~Module() = default;
Module::Module(Module&&) noexcept = default;
Module& Module::operator=(Module&&) noexcept = default;

KernelView Module::kernel(const std::string& name) const {
  const State& state = *state_;
  try {
    return cuda::kernel_of(state.library, name.c_str());
  } catch (const Error& error) {
    throw Error(ErrorCode::job_fault,
                "module \"" + state.name + "\" has no kernel \"" + name + "\": " + error.what());
  }
}

void detail::launch(KernelView kernel, Extent grid, Extent block, std::size_t shared_bytes, StreamView stream,
                    void** arguments) {
  cuda::launch(kernel, grid, block, shared_bytes, stream, arguments);
}

}  // namespace TESSERA_NAMESPACE
