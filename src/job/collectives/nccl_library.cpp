// SPDX-License-Identifier: Apache-2.0
#include "job/collectives/nccl_library.hpp"

#include "base/shared_library.hpp"

#include <tessera/error.hpp>

#include <nccl.h>

#include <cstring>

namespace tessera::nccl {
namespace {

static_assert(sizeof(Id) == sizeof(ncclUniqueId));

/// The oldest version with non-blocking communicators; blocking ones could deadlock.
constexpr int oldest_version = NCCL_VERSION(2, 14, 0);

ncclDataType_t native(Type type) {
  return type == Type::float64 ? ncclFloat64 : ncclInt64;
}
ncclComm_t native(Member member) {
  return static_cast<ncclComm_t>(member);
}
cudaStream_t native(StreamView stream) {
  return static_cast<cudaStream_t>(stream.native());
}

class OpenedLibrary final : public Library {
 public:
  OpenedLibrary() {
    if (!library_.is_open()) throw Error(ErrorCode::device_absent, "NCCL: " + library_.why_not());
    find(get_version_, "ncclGetVersion");
    check(get_version_(&version_), "ncclGetVersion");
    if (version_ < oldest_version)
      throw Error(ErrorCode::device_absent, "NCCL: libnccl.so.2 is version code " + std::to_string(version_) +
                                                ", but " + readable(oldest_version) + " or later is needed");
    find(error_string_, "ncclGetErrorString");
    find(last_error_, "ncclGetLastError");
    find(get_unique_id_, "ncclGetUniqueId");
    find(group_start_, "ncclGroupStart");
    find(group_end_, "ncclGroupEnd");
    find(init_, "ncclCommInitRankConfig");
    find(async_error_, "ncclCommGetAsyncError");
    find(abort_, "ncclCommAbort");
    find(all_reduce_, "ncclAllReduce");
    find(broadcast_, "ncclBroadcast");
  }

  [[nodiscard]] int version() const noexcept override { return version_; }

  [[nodiscard]] Id make_id() override {
    ncclUniqueId native_id;
    check(get_unique_id_(&native_id), "ncclGetUniqueId");
    Id id;
    std::memcpy(id.data(), &native_id, sizeof native_id);
    return id;
  }

  void begin_group() override { check(group_start_(), "ncclGroupStart"); }
  void end_group() override { check(group_end_(), "ncclGroupEnd"); }

  void begin_joining(Member& out, const Id& id, int size, int number) override {
    ncclUniqueId native_id;
    std::memcpy(&native_id, id.data(), sizeof native_id);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    static_assert(sizeof(ncclComm_t) == sizeof(Member));
    check(init_(reinterpret_cast<ncclComm_t*>(&out), size, native_id, number, &config),
          "ncclCommInitRankConfig");
  }

  void begin_sum(Member member, void* array, std::size_t count, Type type, StreamView stream) override {
    check(all_reduce_(array, array, count, native(type), ncclSum, native(member), native(stream)),
          "ncclAllReduce");
  }
  void begin_broadcast(Member member, void* array, std::size_t bytes, int root, StreamView stream) override {
    check(broadcast_(array, array, bytes, ncclInt8, root, native(member), native(stream)), "ncclBroadcast");
  }

  [[nodiscard]] bool is_ready(Member member) override {
    ncclResult_t state = ncclSuccess;
    check(async_error_(native(member), &state), "ncclCommGetAsyncError");
    check(state, "NCCL");
    return state != ncclInProgress;
  }

  void leave(Member member) noexcept override {
    if (member != nullptr) (void)abort_(native(member));
  }

 private:
  template <class Function>
  void find(Function*& function, const char* name) {
    if (!library_.find(function, name))
      throw Error(ErrorCode::device_absent, std::string("NCCL: libnccl.so.2 is too old: it lacks ") + name);
  }

  void check(ncclResult_t result, const char* call) const {
    if (result == ncclSuccess || result == ncclInProgress) return;
    std::string text = std::string(call) + ": ";
    text += error_string_ != nullptr ? error_string_(result) : std::to_string(result);
    const char* detail = last_error_ != nullptr ? last_error_(nullptr) : nullptr;
    if (detail != nullptr && *detail != '\0') text += std::string(" (") + detail + ")";
    throw Error(ErrorCode::job_fault, text);
  }

  base::SharedLibrary library_{"libnccl.so.2", base::SharedLibrary::Opening::kept_open};
  int version_ = 0;
  decltype(&ncclGetVersion) get_version_ = nullptr;
  decltype(&ncclGetErrorString) error_string_ = nullptr;
  decltype(&ncclGetLastError) last_error_ = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id_ = nullptr;
  decltype(&ncclGroupStart) group_start_ = nullptr;
  decltype(&ncclGroupEnd) group_end_ = nullptr;
  decltype(&ncclCommInitRankConfig) init_ = nullptr;
  decltype(&ncclCommGetAsyncError) async_error_ = nullptr;
  decltype(&ncclCommAbort) abort_ = nullptr;
  decltype(&ncclAllReduce) all_reduce_ = nullptr;
  decltype(&ncclBroadcast) broadcast_ = nullptr;
};

}  // namespace

std::unique_ptr<Library> open() {
  return std::make_unique<OpenedLibrary>();
}

}  // namespace tessera::nccl
