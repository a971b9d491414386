// SPDX-License-Identifier: Apache-2.0
// tessera-fit with its n-th call of a kind failing, once or from then on, gives the right answer to the bit,
// or prints one line on standard error and ends with a status of docs/site.md. Existing files stay, or are
// replaced as a whole; no partial file is left; and the same command, run again, gives the answer. No run
// ends by a signal, or hangs.
//
// Some of the many n are tested here, including the first and the last. TESSERA_TEST_CALLS=all tests each,
// which takes hours: TESSERA_TEST_PART=3/8 takes every eighth from the third on. TESSERA_TEST_CALLS=malloc
// tests those of one kind; TESSERA_TEST_CALLS=malloc:1234 this one, and shows where it fails.
#include "failing_calls.hpp"
#include "support/file_content.hpp"
#include "temporary_folder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace tessera {
namespace {

namespace fs = std::filesystem;
using failing::Call;
using failing::Order;
using failing::Outcome;

constexpr int seconds_at_most = 60;
constexpr int for_good = std::numeric_limits<int>::max();

/// Which calls of a kind fail.
struct Choice {
  std::string kind;  ///< empty: all
  int number = 0;    ///< 0: as many as `most`, from the first to the last
  int most = 0;
};

Choice choice_of(Call call) {
  const char* const given = std::getenv("TESSERA_TEST_CALLS");
  if (given == nullptr || *given == '\0') return {{}, 0, call == Call::allocate ? 12 : 3};
  const std::string text = given;
  if (text == "all") return {{}, 0, for_good};
  const std::size_t colon = text.find(':');
  return {text.substr(0, colon), colon == std::string::npos ? 0 : std::stoi(text.substr(colon + 1)),
          for_good};
}
bool takes_all() {
  return choice_of(Call::allocate).most == for_good;
}

/// The part of all n that is tested, and the number of parts: every n, unless TESSERA_TEST_PART is set.
struct Part {
  int number = 1;
  int parts = 1;
};

Part part_taken() {
  const char* const given = std::getenv("TESSERA_TEST_PART");
  if (given == nullptr || *given == '\0') return {};
  Part part;
  char slash = 0;
  std::istringstream text(given);
  text >> part.number >> slash >> part.parts;
  if (!text || slash != '/' || part.number < 1 || part.number > part.parts)
    throw std::invalid_argument("TESSERA_TEST_PART is not like 3/8");
  return part;
}

using Files = std::map<std::string, std::string>;

Files files_in(const fs::path& folder) {
  Files files;
  for (const auto& entry : fs::directory_iterator(folder))
    files[entry.path().filename().string()] = testing::content_of(entry.path());
  return files;
}

void put(const Files& files, const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) fs::remove(entry.path());
  for (const auto& [name, bytes] : files) std::ofstream(folder / name, std::ios::binary) << bytes;
}

/// Whether a file is as expected. A run report has times. A model says that the CPU was requested, or that
/// the hardware could not be probed.
bool is_same(const std::string& name, std::string found, std::string expected) {
  if (name == "run.json") return true;
  if (name != "model.json") return found == expected;
  for (std::string* text : {&found, &expected}) {
    const std::size_t verdict = text->find("\n \"verdict\": ");
    if (verdict != std::string::npos) text->erase(verdict, text->find('\n', verdict + 1) - verdict);
  }
  return found == expected;
}

/// A program that stops once MPI has started, and runs from there once for each order.
class Program {
 public:
  Program(const std::vector<std::string>& words, const fs::path& folder, const fs::path& logs)
      : out_(logs / "out"), err_(logs / "err") {
    std::array<int, 2> orders{};
    std::array<int, 2> outcomes{};
    if (::pipe2(orders.data(), O_CLOEXEC) != 0 || ::pipe2(outcomes.data(), O_CLOEXEC) != 0)
      throw std::runtime_error("no pipe");
    for (const fs::path& log : {out_, err_}) std::ofstream(log).close();
    process_ = ::fork();
    if (process_ == 0) become(words, folder, orders[0], outcomes[1]);
    ::close(orders[0]);
    ::close(outcomes[1]);
    orders_ = orders[1];
    outcomes_ = outcomes[0];
  }
  ~Program() {
    ::close(orders_);
    ::close(outcomes_);
    int status = 0;
    ::waitpid(process_, &status, 0);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Outcome run(Order order) {
    order.seconds = seconds_at_most;
    fs::resize_file(out_, 0);
    fs::resize_file(err_, 0);
    Outcome outcome;
    const bool told = ::write(orders_, &order, sizeof order) == sizeof order;
    if (!told || ::read(outcomes_, &outcome, sizeof outcome) != sizeof outcome)
      throw std::runtime_error("the program did not start: " + err());
    return outcome;
  }
  [[nodiscard]] std::string out() const { return testing::content_of(out_); }
  [[nodiscard]] std::string err() const { return testing::content_of(err_); }

 private:
  [[noreturn]] void become(const std::vector<std::string>& words, const fs::path& folder, int orders,
                           int outcomes) const {
    ::dup2(orders, failing::orders);
    ::dup2(outcomes, failing::outcomes);
    ::dup2(::open(out_.c_str(), O_WRONLY | O_APPEND), STDOUT_FILENO);
    ::dup2(::open(err_.c_str(), O_WRONLY | O_APPEND), STDERR_FILENO);
    ::setenv("LD_PRELOAD", TESSERA_FAILING_CALLS, 1);
    ::setenv(failing::variable, "1", 1);
    ::setenv("TESSERA_START_TIMEOUT", "0", 1);  // a child has no thread that could be waited for
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    std::string with_mpi = "--mpi";  // in whose start the program takes orders
    arguments.insert(arguments.begin() + 1, with_mpi.data());
    arguments.push_back(nullptr);
    if (::chdir(folder.c_str()) == 0) ::execv(arguments[0], arguments.data());
    std::_Exit(127);
  }

  fs::path out_;
  fs::path err_;
  pid_t process_ = -1;
  int orders_ = -1;
  int outcomes_ = -1;
};

struct Failure {
  int error;      ///< errno; 0: a transfer of one byte
  bool harmless;  ///< the call is to be made again
};

/// How calls of a kind fail, the most frequent first.
std::vector<Failure> failures_of(Call call) {
  switch (call) {
    case Call::open: return {{EMFILE, false}, {ESTALE, false}};
    case Call::read:
    case Call::pread: return {{EIO, false}, {ESTALE, false}, {EINTR, true}, {0, true}};
    case Call::write: return {{ENOSPC, false}, {EDQUOT, false}, {EIO, false}, {EINTR, true}, {0, true}};
    case Call::fsync: return {{EIO, false}, {ENOSPC, false}, {EDQUOT, false}, {EINTR, true}};
    case Call::rename: return {{EIO, false}, {ENOSPC, false}, {ESTALE, false}};
    case Call::link: return {{EPERM, false}, {EIO, false}, {EMLINK, false}};
    case Call::unlink: return {{EIO, false}, {ESTALE, false}};
    case Call::close: return {{EIO, false}, {EDQUOT, false}, {EINTR, false}};
    case Call::status: return {{EIO, false}, {ESTALE, false}};
    case Call::reserve: return {{ENOSPC, false}, {EDQUOT, false}, {EINTR, true}};
    default: return {{ENOMEM, false}};
  }
}

/// How many consecutive calls fail. A first failing allocation is repeated with the program's reserve; two
/// failures show the case without a reserve.
std::vector<int> numbers_of(Call call, const Failure& failure) {
  if (failure.harmless) return {1};
  if (call == Call::allocate) return {1, 2, for_good};
  return {1, for_good};
}

std::string described(const Order& order) {
  std::ostringstream text;
  text << failing::names[static_cast<std::size_t>(order.call)] << ':' << order.first << ' '
       << (order.error == 0 ? "one byte" : strerrorname_np(order.error))
       << (order.in_a_row == 1   ? ""
           : order.in_a_row == 2 ? " twice"
                                 : " for good");
  return text.str();
}

/// Whether a file may be left until the next run: one whose removal failed; a checkpoint's, if it could not
/// be verified that no later start has taken over, or that the model is safe; and a temporary one, if a
/// library's destructor failed to allocate memory.
bool may_stay(const std::string& name, Call call, const std::string& err) {
  if (call == Call::unlink) return true;
  const bool is_temporary = name.ends_with(".tmp") || name.ends_with(".new");
  if (is_temporary)
    return call == Call::allocate && err.find("nothing caught: std::bad_alloc") != std::string::npos;
  const bool unseen = call == Call::open || call == Call::read || call == Call::pread ||
                      call == Call::status || call == Call::allocate;
  const bool unsafe = err.find("may not survive a power failure") != std::string::npos;
  return (unseen || unsafe) && name.starts_with("state");
}

class FailingCalls : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = root_ / "work";
    fs::create_directory(folder_);
    std::ofstream table(this->table());
    table << "y,x,f\n";
    for (int i = 0; i < 90; ++i) {
      const double x = std::fmod(i * 0.6180339887498949, 1.0);
      table << std::exp(std::sin(6 * x) + 0.3 * std::cos(97.0 * i)) << ',' << x << ',' << "abc"[i % 3]
            << '\n';
    }
  }

  [[nodiscard]] std::string table() const { return (root_ / "data.csv").string(); }
  [[nodiscard]] std::vector<std::string> fit(std::initializer_list<std::string> more) const {
    std::vector<std::string> words = {
        TESSERA_FIT, "fit",       table(), "--formula",  "y ~ f + s(x, bs=\"ps\", k=6)",
        "--family",  "gamma",     "--out", "model.json", "--device",
        "cpu",       "--threads", "1"};
    words.insert(words.end(), more);
    return words;
  }
  void run_once(const std::vector<std::string>& words, int status) const {
    Program program(words, folder_, root_);
    const Outcome outcome = program.run({});
    ASSERT_TRUE(WIFEXITED(outcome.status)) << outcome.status << program.err();
    ASSERT_EQ(WEXITSTATUS(outcome.status), status) << program.err();
  }

  /// Runs the program repeatedly in the folder as it is, with calls of these kinds failing.
  void fail_in_turn(const std::vector<std::string>& words, const std::vector<Call>& kinds);
  void fail_in_turn(const std::vector<std::string>& words) {
    std::vector<Call> all;
    for (int call = 0; call < failing::calls; ++call) all.push_back(static_cast<Call>(call));
    fail_in_turn(words, all);
  }

  TemporaryFolder root_;
  fs::path folder_;

 private:
  void fail_each(Program& program, Order order, int made);
  void fail(Program& program, const Order& order, bool harmless);
  void expect_answer(const Files& found) const;
  void expect_nothing_lost(const Files& found, const Order& order, const std::string& err) const;

  Files before_;
  Files right_;
  std::string right_out_;
};

/// Expects the result of an undisturbed run.
void FailingCalls::expect_answer(const Files& found) const {
  for (const auto& [name, bytes] : right_) {
    const auto its = found.find(name);
    ASSERT_NE(its, found.end()) << name << " is gone";
    EXPECT_TRUE(is_same(name, its->second, bytes)) << name << " is another";
  }
  for (const auto& [name, bytes] : found) EXPECT_TRUE(right_.contains(name)) << name << " is left";
}

/// Expects the result of a run that ended with an error.
void FailingCalls::expect_nothing_lost(const Files& found, const Order& order, const std::string& err) const {
  for (const auto& [name, bytes] : before_)
    EXPECT_TRUE(!right_.contains(name) || found.contains(name)) << name << " is lost";
  for (const auto& [name, bytes] : found) {
    if (name == "state" || name == "state.previous") continue;  // the next run shows it
    const auto old = before_.find(name);
    const auto done = right_.find(name);
    if (old == before_.end() && done == right_.end()) {
      EXPECT_TRUE(may_stay(name, static_cast<Call>(order.call), err)) << name << " is left";
      continue;
    }
    EXPECT_TRUE((old != before_.end() && old->second == bytes) ||
                (done != right_.end() && is_same(name, bytes, done->second)))
        << name << " is neither as it was nor as it is to be";
  }
}

void FailingCalls::fail(Program& program, const Order& order, bool harmless) {
  SCOPED_TRACE(described(order));
  put(before_, folder_);
  const Outcome outcome = program.run(order);
  const std::string err = program.err();
  SCOPED_TRACE(err);
  ASSERT_TRUE(WIFEXITED(outcome.status)) << "ended by signal " << WTERMSIG(outcome.status);
  const int status = WEXITSTATUS(outcome.status);
  Files found = files_in(folder_);
  if (status == 0) {
    EXPECT_EQ(program.out(), right_out_);
    const std::size_t left = std::erase_if(found, [&](const auto& file) {
      return !right_.contains(file.first) && may_stay(file.first, static_cast<Call>(order.call), err);
    });
    expect_answer(found);
    if (left == 0) return;
  } else {
    EXPECT_FALSE(harmless) << "the call is to be made again";
    EXPECT_TRUE(status == 3 || status == 6) << status;
    std::istringstream lines(err);
    int complaints = 0;
    for (std::string line; std::getline(lines, line);) complaints += line.starts_with("tessera") ? 1 : 0;
    EXPECT_EQ(complaints, 1);
    expect_nothing_lost(found, order, err);
  }
  const Outcome again = program.run({});
  ASSERT_TRUE(WIFEXITED(again.status)) << "again: ended by signal " << WTERMSIG(again.status);
  EXPECT_EQ(WEXITSTATUS(again.status), 0) << "again: " << program.err();
  expect_answer(files_in(folder_));
}

/// `made`: number of calls of the kind.
void FailingCalls::fail_each(Program& program, Order order, int made) {
  const Choice choice = choice_of(static_cast<Call>(order.call));
  const Part part = part_taken();
  bool is_commonest = true;
  for (const Failure& failure : failures_of(static_cast<Call>(order.call))) {
    if (!is_commonest && !failure.harmless && choice.most != for_good) continue;
    is_commonest = false;
    order.error = failure.error;
    for (const int in_a_row : numbers_of(static_cast<Call>(order.call), failure)) {
      order.in_a_row = in_a_row;
      const int runs = choice.number > 0 ? 1 : std::min(made, choice.most);
      for (int i = part.number - 1; i < runs; i += part.parts) {
        order.first = runs < 2 ? 1 : 1 + static_cast<int>(std::int64_t{i} * (made - 1) / (runs - 1));
        if (choice.number > 0) order.first = choice.number;
        order.traced = choice.number > 0 ? 1 : 0;
        fail(program, order, failure.harmless);
      }
    }
  }
}

void FailingCalls::fail_in_turn(const std::vector<std::string>& words, const std::vector<Call>& kinds) {
  before_ = files_in(folder_);
  Program program(words, folder_, root_);
  const Outcome whole = program.run({});
  ASSERT_TRUE(WIFEXITED(whole.status)) << whole.status << program.err();
  ASSERT_EQ(WEXITSTATUS(whole.status), 0) << program.err();
  right_ = files_in(folder_);
  right_out_ = program.out();
  for (const Call call : kinds) {
    const std::string name = failing::names[static_cast<std::size_t>(call)];
    const Choice choice = choice_of(call);
    if (!choice.kind.empty() && choice.kind != name) continue;
    const int made = whole.made[static_cast<std::size_t>(call)];
    std::cout << made << " calls of " << name << std::endl;
    Order order;
    order.call = call;
    fail_each(program, order, made);
  }
}

TEST_F(FailingCalls, InAFit) {
  std::ofstream(folder_ / "model.json") << "a model that was there";
  fail_in_turn(fit({"--checkpoint", "state", "--run-report", "run.json"}));
}

TEST_F(FailingCalls, OfAFolderThatCannotBeFlushedLeaveTheFileAndSaySo) {
  const std::vector<std::string> words = fit({"--checkpoint", "state", "--run-report", "run.json"});
  Program program(words, folder_, root_);
  const int flushes = program.run({}).made[static_cast<std::size_t>(Call::fsync)];
  const std::string answer = testing::content_of(folder_ / "model.json");
  std::map<std::string, int> said;
  for (int number = 1; number <= flushes; ++number) {
    put({}, folder_);
    Order order;
    order.call = Call::fsync;
    order.first = number;
    order.error = EIO;
    const Outcome outcome = program.run(order);
    const std::string err = program.err();
    const std::size_t at = err.find(": is written, but may not survive a power failure, as its folder");
    if (at == std::string::npos) continue;
    SCOPED_TRACE(err);
    const std::string name = err.substr(err.rfind(' ', at - 1) + 1, at - err.rfind(' ', at - 1) - 1);
    ++said[name];
    EXPECT_TRUE(WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 0) << outcome.status;
    EXPECT_EQ(err.find("cannot be written"), std::string::npos);
    EXPECT_EQ(err.find("was not saved"), std::string::npos);
    EXPECT_EQ(testing::content_of(folder_ / "model.json"), answer);
    // Everything that could be lost together with the model is still there.
    EXPECT_EQ(fs::exists(folder_ / "state"), name == "model.json");
  }
  EXPECT_GE(said["state"], 3);
  EXPECT_EQ(said["model.json"], 1);
  EXPECT_EQ(said["run.json"], 1);
  EXPECT_EQ(said.size(), 3U) << ::testing::PrintToString(said);
}

TEST_F(FailingCalls, InAFitWithColumnsInScratchFiles) {
  // The test's folder is in memory, where scratch files are refused.
  fail_in_turn(fit({"--memory", "0", "--scratch", "/var/tmp"}),
               {Call::open, Call::status, Call::map, Call::reserve});
}

TEST_F(FailingCalls, InAFitThatGoesOn) {
  run_once(fit({"--checkpoint", "state", "--max-iterations", "5"}), 4);
  fail_in_turn(fit({"--checkpoint", "state"}));
}

TEST_F(FailingCalls, InAFitWithItsCovarianceBeside) {
  if (!takes_all()) GTEST_SKIP() << "half a second a run: with TESSERA_TEST_CALLS=all";
  std::ofstream groups(root_ / "groups.csv");
  groups << "y,g\n";
  for (int i = 0; i < 1100; ++i)
    groups << std::sin(i % 530) + 0.3 * std::cos(97.0 * i) << ",g" << i % 530 << '\n';
  groups.close();
  run_once(fit({}), 0);
  const std::vector<std::string> words = {TESSERA_FIT,
                                          "fit",
                                          (root_ / "groups.csv").string(),
                                          "--formula",
                                          "y ~ s(g, bs=\"re\")",
                                          "--out",
                                          "model.json",
                                          "--device",
                                          "cpu",
                                          "--threads",
                                          "1"};
  fail_in_turn(words, {Call::write, Call::fsync, Call::rename, Call::unlink, Call::close});
}

TEST_F(FailingCalls, InAPrediction) {
  run_once(fit({}), 0);
  std::ofstream(folder_ / "out.csv") << "what was there";
  fail_in_turn({TESSERA_FIT, "predict", "model.json", table(), "--type", "response", "--se", "--threads", "1",
                "--out", "out.csv"});
}

TEST_F(FailingCalls, InAConversion) {
  if (!TESSERA_HAVE_HDF5) GTEST_SKIP() << "this build has no HDF5";
  std::ofstream(folder_ / "out.h5") << "what was there";
  // HDF5 itself does not survive a lack of memory.
  fail_in_turn({TESSERA_FIT, "convert", table(), "out.h5", "--threads", "1"},
               {Call::open, Call::read, Call::pread, Call::write, Call::fsync, Call::rename, Call::unlink,
                Call::close, Call::status});
}

TEST_F(FailingCalls, InAReport) {
  run_once(fit({"--run-report", "run.json"}), 0);
  std::ofstream(folder_ / "page.html") << "what was there";
  fail_in_turn({TESSERA_FIT, "report", "model.json", "--run-report", "run.json", "--out", "page.html"});
}

TEST_F(FailingCalls, InASummary) {
  run_once(fit({}), 0);
  fail_in_turn({TESSERA_FIT, "summary", "model.json"});
}

TEST_F(FailingCalls, InAnAnova) {
  run_once(fit({}), 0);
  fail_in_turn({TESSERA_FIT, "anova", "model.json", "model.json"});
}

TEST_F(FailingCalls, InACheck) {
  run_once(fit({}), 0);
  fail_in_turn({TESSERA_FIT, "check", "model.json", table(), "--threads", "1", "--permutations", "20"});
}

}  // namespace
}  // namespace tessera
