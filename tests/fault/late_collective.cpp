// SPDX-License-Identifier: Apache-2.0
// Watchdog: late_collective COLLECTIVE RANK MANNER: all ranks reach the collective but RANK, in its MANNER:
//   away     it is busy for longer than the others wait
//   stopped  it is stopped (SIGSTOP) before it comes
//   inside   it is stopped while it waits there; the last of the other ranks arrives after that
//   another  it makes another collective call
//   none     it arrives like all others, within the time that a loaded machine needs

#include <tessera/tessera.hpp>

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <thread>

namespace {

using namespace tessera;
using namespace std::chrono_literals;

constexpr auto timeout = 300ms;

struct Scene {
  const mpi::Communicator& world;
  int late_rank = 0;
  std::string manner;
  pid_t its_process = 0;

  [[nodiscard]] bool is_late() const { return world.rank() == late_rank; }
  [[nodiscard]] int last_other() const { return world.size() - (late_rank == world.size() - 1 ? 2 : 1); }

  /// Reaches the following collective, or does not.
  void come() const {
    if (is_late() && manner == "away") std::this_thread::sleep_for(1min);
    if (is_late() && manner == "stopped") stop();
    if (is_late() && manner == "another") (void)world.broadcast_text("instead", 0);
    if (manner != "inside") return;
    if (is_late()) std::thread([] { std::this_thread::sleep_for(50ms), stop(); }).detach();
    if (world.rank() == last_other()) {
      while (!is_stopped()) std::this_thread::sleep_for(1ms);
    }
  }

 private:
  [[noreturn]] static void stop() {
    for (;;) kill(getpid(), SIGSTOP);
  }
  [[nodiscard]] bool is_stopped() const {
    std::ifstream status("/proc/" + std::to_string(its_process) + "/status");
    const std::string text(std::istreambuf_iterator<char>(status), {});
    return text.find("\nState:\tT") != std::string::npos;
  }
};

/// Calls by name. Each makes the late rank miss the collective at the tested place.
const std::map<std::string, std::function<void(const Scene&)>> collectives = {
    {"barrier", [](const Scene& at) { at.come(), at.world.barrier(); }},
    {"allreduce", [](const Scene& at) { at.come(), (void)at.world.allreduce(1.0, mpi::Reduction::sum); }},
    {"broadcast", [](const Scene& at) { at.come(), (void)at.world.broadcast_text("here", at.late_rank); }},
    {"alltoallv",
     [](const Scene& at) {
       const std::vector<std::size_t> ones(static_cast<std::size_t>(at.world.size()), 1);
       at.come(), (void)at.world.alltoallv(std::span<const std::size_t>(ones), ones);
     }},
    {"duplicate", [](const Scene& at) { at.come(), (void)at.world.duplicate(); }},
    {"split", [](const Scene& at) { at.come(), (void)at.world.split(0); }},
    {"part",  // without rank 0, which is at work for longer than the others wait, and nobody asks for it
     [](const Scene& at) {
       const auto part = at.world.split(at.world.rank() == 0 ? 0 : 1);
       at.come();
       if (at.world.rank() == 0) std::this_thread::sleep_for(1min);
       part.barrier();
     }},
    {"copy",
     [](const Scene& at) {
       const auto copy = at.world.duplicate();
       at.come(), (void)copy.broadcast_text("here", 1);
     }},
    {"purpose",
     [](const Scene& at) {
       const mpi::Purpose purpose(at.world, "the exchange of halos");
       at.come(), at.world.barrier();
     }},
    {"sum", [](const Scene& at) { at.come(), ReproducibleSum(100).allreduce(at.world); }},
    {"claim", [](const Scene& at) { at.come(), (void)claim(at.world, Probe{}, false); }},
    {"inventory", [](const Scene& at) { at.come(), (void)gather_inventory(at.world, Probe{}, Claim{}, {}); }},
    {"job",  // bounds what it makes, also from a communicator that has no timeout
     [](const Scene& at) {
       JobOptions options;
       options.policy = Policy::cpu;
       options.collective_timeout = timeout;
       auto endless = at.world.duplicate(0ms);
       at.come();
       const Job job(endless, options);
     }},
    {"sums",  // the late rank's is of another communicator
     [](const Scene& at) {
       const auto copy = at.world.duplicate();
       (void)(at.is_late() ? copy : at.world).allreduce(1, mpi::Reduction::sum);
     }},
    {"jobs",  // the late rank is in a pass of another job
     [](const Scene& at) {
       JobOptions options;
       options.policy = Policy::cpu;
       options.collective_timeout = timeout;
       Job first(at.world, options);
       Job second(at.world, options);
       Job& job = at.is_late() ? second : first;
       (void)job.reduce(
           job.plan(100), 1, [](Tile&, ReproducibleSum&) {}, [](const HostTile&, std::span<double>) {});
     }},
    {"together", [](const Scene& at) { at.come(), together(at.world, [] {}); }},
    {"end", [](const Scene& at) { at.come(); }},  // of the program
};

}  // namespace

int main(int argc, char** argv) {
  mpi::Session session(argc, argv);
  if (argc != 4) return exit_status(ErrorCode::usage);
  Scene scene{.world = session.world(), .late_rank = std::stoi(argv[2]), .manner = argv[3]};
  scene.its_process = session.world().allgather(getpid())[static_cast<std::size_t>(scene.late_rank)];
  if (session.is_root()) std::printf("the late rank is process %d\n", static_cast<int>(scene.its_process));
  std::fflush(stdout);
  // A late start of a rank is not tested here.
  session.world().barrier();
  // In another collective the late rank waits too: the others are to give up first.
  const bool waits = scene.is_late() && scene.manner == "another";
  if (scene.manner != "none") session.set_timeout(waits ? 10 * timeout : timeout);

  collectives.at(argv[1])(scene);
  if (session.is_root()) std::puts("the root came through");
  return 0;
}
