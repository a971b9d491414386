// SPDX-License-Identifier: Apache-2.0
// A fit in another program's process leaves the process as it was, and the process continues after a fit that
// ran out of memory.
#include "support/address_limit.hpp"
#include "support/errors.hpp"
#include "support/fit_support.hpp"
#include "support/reference_case.hpp"
#include "temporary_folder.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/gam.hpp>
#include <tessera/job/stop_request.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <locale>
#include <map>
#include <new>
#include <string>

namespace TESSERA_NAMESPACE::gam {
namespace {

namespace fs = std::filesystem;

constexpr const char* name = "c03_gs1_poisson";

/// The text of the model from a fit with two threads.
std::string fitted_text() {
  const auto comm = mpi::Communicator::serial();
  const testing::ReferenceCase reference = testing::load_reference_case(name);
  Job job = testing::cpu_job(comm, 2);
  return testing::text_of(comm, fit(job, parse_formula(reference.formula), Table{reference.data_path},
                                    testing::options_of(reference))
                                    .model);
}

/// Numbers in an unexpected format: 1.234,5.
class Grouped : public std::numpunct<char> {
 protected:
  [[nodiscard]] char do_decimal_point() const override { return ','; }
  [[nodiscard]] char do_thousands_sep() const override { return '.'; }
  [[nodiscard]] std::string do_grouping() const override { return "\3"; }
};

/// A handler's address, flags and mask.
std::string handler_of(int signal) {
  struct sigaction action {};
  if (sigaction(signal, nullptr, &action) != 0) return {};
  std::string text = std::to_string(reinterpret_cast<std::uintptr_t>(action.sa_sigaction)) + " " +
                     std::to_string(action.sa_flags);
  for (int other = 1; other < NSIG; ++other) text += sigismember(&action.sa_mask, other) == 1 ? '1' : '0';
  return text;
}

/// The process-wide state, by name.
std::map<std::string, std::string> state_of_process() {
  std::map<std::string, std::string> state;
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  for (int signal = 1; signal < NSIG; ++signal) {
    state["handler of signal " + std::to_string(signal)] = handler_of(signal);
    state["mask of signals"] += sigismember(&mask, signal) == 1 ? '1' : '0';
  }
  state["locale of C"] = std::setlocale(LC_ALL, nullptr);
  state["locale of C++"] = std::has_facet<std::numpunct<char>>(std::locale())
                               ? std::use_facet<std::numpunct<char>>(std::locale()).grouping()
                               : "";
  state["rounding"] = std::to_string(std::fegetround());
#ifdef __x86_64__
  std::uint16_t x87 = 0;
  asm volatile("fnstcw %0" : "=m"(x87));
  state["x87"] = std::to_string(x87);
  constexpr unsigned exceptions = 0x3f;  // floating-point exception flags of the computation
  state["MXCSR"] = std::to_string(__builtin_ia32_stmxcsr() & ~exceptions);
#endif
  state["folder"] = fs::current_path().string();
  for (const auto& file : fs::directory_iterator("/proc/self/fd")) {
    std::error_code failed;
    const std::string target = fs::read_symlink(file, failed).string();
    if (!target.starts_with("/proc/")) state["file " + file.path().filename().string()] = target;
  }
  for (char** variable = environ; *variable != nullptr; ++variable) state["environment"] += *variable;
  return state;
}

void host_handler(int) {}

TEST(Guest, LeavesTheProcessAsItWas) {
  const std::locale before = std::locale::global(std::locale(std::locale(), new Grouped));
  for (const int signal : {SIGUSR1, SIGTERM, SIGINT, SIGFPE, SIGPIPE}) std::signal(signal, &host_handler);
  const auto comm = mpi::Communicator::serial();
  const testing::ReferenceCase reference = testing::load_reference_case(name);
  const auto state = state_of_process();  // before the first fit

  const std::string fitted = fitted_text();
  EXPECT_EQ(state_of_process(), state) << "after a fit";

  const FittedModel model =
      testing::fitted(comm, reference.formula, Table{reference.data_path}, testing::options_of(reference), 2);
  {
    Job job = testing::cpu_job(comm, 2);
    (void)testing::predicted_from_file(job, model, reference.data_path);
  }
  EXPECT_EQ(state_of_process(), state) << "after a prediction";

  EXPECT_THROW((void)testing::fitted(comm, reference.formula + " + s(no_such_column)",
                                     Table{reference.data_path}, testing::options_of(reference), 2),
               Error);
  testing::interrupted_after(comm, 2, [&](Job& job, FitObserver* observer) {
    (void)fit(job, parse_formula(reference.formula), Table{reference.data_path},
              testing::options_of(reference), observer);
  });
  EXPECT_EQ(state_of_process(), state) << "after fits that fail";

  for (const int signal : {SIGUSR1, SIGTERM, SIGINT, SIGFPE, SIGPIPE}) std::signal(signal, SIG_DFL);
  std::locale::global(before);
  EXPECT_EQ(fitted_text(), fitted) << "bits of a fit under the host's locale";
}

TEST(Guest, IsToldThatAPipeIsUnread) {
  const TemporaryFolder folder;
  const std::string path = (folder / "pipe").string();
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::signal(SIGPIPE, SIG_DFL);
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
  Output output(path);
  ::close(reader);
  expect_error(ErrorCode::input, "Broken pipe", [&] { output.write("unread"); });
}

TEST(Guest, RunsOutOfMemoryOneFitAtATimeAndGoesOn) {
  if (!tessera::testing::can_limit_address_space) GTEST_SKIP() << "sanitizers need the address space";
  const std::string alone = fitted_text();
  int failed = 0;
  for (const int mebibytes : {0, 1, 2, 4, 8, 16, 64, 200, 400}) {
    const tessera::testing::AddressLimit limit(static_cast<std::size_t>(mebibytes) << 20);
    try {
      EXPECT_EQ(fitted_text(), alone) << mebibytes << " MiB";
    } catch (const std::bad_alloc&) {
      ++failed;
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::usage) << mebibytes << " MiB: " << error.what();
      ++failed;
    }
  }
  EXPECT_GT(failed, 0);
  EXPECT_EQ(fitted_text(), alone);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
