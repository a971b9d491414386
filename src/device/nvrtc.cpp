// SPDX-License-Identifier: Apache-2.0
#include "device/nvrtc.hpp"

#include "base/shared_library.hpp"
#include "topology/driver/architecture.hpp"

#include <tessera/device/cuda_library.hpp>
#include <tessera/device/kernel_compiler.hpp>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace TESSERA_NAMESPACE {
namespace {

/// The NVRTC library, opened; unusable (`found` is false) unless it has all entry points.
class Library {
 public:
  Library()
      : found_(library_.find(api_.error_string, "nvrtcGetErrorString") &&
               library_.find(api_.version, "nvrtcVersion") &&
               library_.find(api_.supported_count, "nvrtcGetNumSupportedArchs") &&
               library_.find(api_.supported, "nvrtcGetSupportedArchs") &&
               library_.find(api_.create, "nvrtcCreateProgram") &&
               library_.find(api_.destroy, "nvrtcDestroyProgram") &&
               library_.find(api_.compile, "nvrtcCompileProgram") &&
               library_.find(api_.cubin_size, "nvrtcGetCUBINSize") &&
               library_.find(api_.cubin, "nvrtcGetCUBIN") &&
               library_.find(api_.ptx_size, "nvrtcGetPTXSize") && library_.find(api_.ptx, "nvrtcGetPTX") &&
               library_.find(api_.log_size, "nvrtcGetProgramLogSize") &&
               library_.find(api_.log, "nvrtcGetProgramLog")) {
    if (found_) open_builtins();
  }

  [[nodiscard]] bool found() const noexcept { return found_; }
  [[nodiscard]] std::string why_not() const {
    return "NVRTC cannot be used: " + (library_.found() ? "libnvrtc lacks a function" : library_.why_not());
  }
  [[nodiscard]] const nvrtc::Api& api() const noexcept { return api_; }

  /// "13.0.88" with the build number, from the name of the file, or else the version that the library
  /// reports.
  [[nodiscard]] std::string version() const {
    constexpr std::string_view before = "libnvrtc.so.";
    const std::string file = std::filesystem::path(library_.file()).filename();
    if (file.starts_with(before) && std::ranges::count(file.substr(before.size()), '.') >= 2)
      return file.substr(before.size());
    int major = 0;
    int minor = 0;
    if (api_.version(&major, &minor) != nvrtc::Status::success) return {};
    return std::to_string(major) + "." + std::to_string(minor);
  }

 private:
  /// Opens libnvrtc-builtins before NVRTC does. NVRTC opens this library by name, which fails for a toolkit
  /// outside the system's library path and for PyPI's package, unless the process has already loaded it.
  void open_builtins() {
    int major = 0;
    int minor = 0;
    if (api_.version(&major, &minor) != nvrtc::Status::success) return;
    const std::string name = "libnvrtc-builtins.so." + std::to_string(major) + "." + std::to_string(minor);
    builtins_ = base::SharedLibrary(std::filesystem::path(library_.file()).replace_filename(name).string(),
                                    base::SharedLibrary::Opening::kept_open);
  }

  CudaLibrary library_{"nvrtc"};
  base::SharedLibrary builtins_;
  nvrtc::Api api_{};
  bool found_;
};

/// A text that NVRTC returns by two functions: the size with the terminating zero, and the characters.
std::string text_of(nvrtc::Program program, nvrtc::Status (*size_of)(nvrtc::Program, std::size_t*),
                    nvrtc::Status (*get)(nvrtc::Program, char*)) {
  std::size_t size = 0;
  if (size_of(program, &size) != nvrtc::Status::success || size == 0) return {};
  std::string text(size, '\0');
  if (get(program, text.data()) != nvrtc::Status::success) return {};
  return text;
}

class Program {
 public:
  Program(const nvrtc::Api& api, const ModuleSource& source) : api_(api) {
    std::vector<const char*> texts;
    std::vector<const char*> names;
    for (const NamedHeader& header : source.headers) {
      texts.push_back(header.text.c_str());
      names.push_back(header.name.c_str());
    }
    status_ = api_.create(&program_, source.text.c_str(), source.name.c_str(), static_cast<int>(texts.size()),
                          texts.data(), names.data());
  }
  ~Program() {
    if (program_ != nullptr) (void)api_.destroy(&program_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void compile(const std::vector<std::string>& options) {
    if (status_ != nvrtc::Status::success) return;
    std::vector<const char*> pointers;
    pointers.reserve(options.size());
    for (const std::string& option : options) pointers.push_back(option.c_str());
    status_ = api_.compile(program_, static_cast<int>(pointers.size()), pointers.data());
  }

  [[nodiscard]] nvrtc::Status status() const noexcept { return status_; }
  [[nodiscard]] std::string log() const {
    std::string log = program_ != nullptr ? text_of(program_, api_.log_size, api_.log) : std::string();
    while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
    return log;
  }
  [[nodiscard]] std::string machine_code() const { return text_of(program_, api_.cubin_size, api_.cubin); }
  [[nodiscard]] std::string ptx() const { return text_of(program_, api_.ptx_size, api_.ptx); }

 private:
  const nvrtc::Api& api_;
  nvrtc::Program program_ = nullptr;
  nvrtc::Status status_;
};

class Nvrtc final : public KernelCompiler {
 public:
  std::string version() override {
    const Library& nvrtc = library();
    const std::string version = nvrtc.found() ? nvrtc.version() : std::string();
    return version.empty() ? version : "nvrtc " + version;
  }

  std::string target_for(ComputeCapability capability) override {
    const Library& nvrtc = library();
    int count = 0;
    if (!nvrtc.found() || nvrtc.api().supported_count(&count) != nvrtc::Status::success) return {};
    std::vector<int> known(static_cast<std::size_t>(count));
    if (nvrtc.api().supported(known.data()) != nvrtc::Status::success) return {};
    return detail::code_target(capability, known);
  }

  CompileOutcome compile(const ModuleSource& source, const std::string& target) override {
    const Library& nvrtc = library();
    if (!nvrtc.found()) return CompileFailure{target, nvrtc.why_not(), {}};
    std::vector<std::string> options = source.options;
    options.push_back("--gpu-architecture=" + target);
    // Sources see only the named headers, neither installed ones nor those in the working directory.
    options.emplace_back("--no-source-include");

    Program program(nvrtc.api(), source);
    program.compile(options);
    if (program.status() != nvrtc::Status::success) return failure(program, source, target);
    CompiledModule compiled{target, target.starts_with("sm_") ? program.machine_code() : program.ptx(),
                            program.log()};
    if (compiled.image.empty()) return failure(program, source, target);
    return compiled;
  }

 private:
  const Library& library() {
    std::call_once(opened_, [this] { library_.emplace(); });
    return *library_;
  }

  CompileFailure failure(const Program& program, const ModuleSource& source, const std::string& target) {
    std::string reason = "\"" + source.name + "\" cannot be compiled for " + target;
    if (program.status() == nvrtc::Status::success)
      reason += ": NVRTC gives no code";
    else if (program.status() != nvrtc::Status::compilation)
      reason += std::string(": ") + library().api().error_string(program.status());
    return {target, std::move(reason), program.log()};
  }

  std::once_flag opened_;
  std::optional<Library> library_;
};

}  // namespace

std::shared_ptr<KernelCompiler> nvrtc_compiler() {
  return std::make_shared<Nvrtc>();
}

std::string to_string(const CompileFailure& failure) {
  // The log's first line with an error, such as "square(3): error: identifier "x" is undefined".
  const auto found = failure.log.find("error");
  if (found == std::string::npos) return failure.reason;
  const auto line_end = failure.log.rfind('\n', found);
  const auto begin = line_end == std::string::npos ? 0 : line_end + 1;
  return failure.reason + ": " + failure.log.substr(begin, failure.log.find('\n', begin) - begin);
}

}  // namespace TESSERA_NAMESPACE
