// SPDX-License-Identifier: Apache-2.0
#include "mpi/job/job_testing.hpp"
#include "support/on_cpu.hpp"

#include <tessera/device/trace.hpp>

#include <dlfcn.h>

#include <sstream>
#include <thread>

namespace tessera::testing {
namespace {

/// The events that the tool in this process received since the last call, one per line.
std::vector<std::string> take() {
  // NVTX loads the tool at the first range.
  void* tool = dlopen(std::getenv("NVTX_INJECTION64_PATH"), RTLD_NOW | RTLD_NOLOAD);
  if (tool == nullptr) return {"the tool is not loaded"};
  auto* take_all = reinterpret_cast<const char* (*)()>(dlsym(tool, "tessera_trace_take"));
  std::istringstream text(take_all());
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

void begin_anew() {
  { const TraceRange loads_the_tool("first"); }
  (void)take();
}

TEST(Trace, RangesNestAndEnd) {
  begin_anew();
  {
    const TraceRange outer("outer", 7);
    const TraceRange inner("inner");
  }
  EXPECT_EQ(take(), (std::vector<std::string>{"outer 7", "inner 0", "end", "end"}));
}

TEST(Trace, ManyThreadsHaveTheirOwn) {
  begin_anew();
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 8; ++thread) {
      threads.emplace_back([thread] {
        for (int i = 0; i < 100; ++i) const TraceRange range("thread", thread);
      });
    }
  }
  const auto lines = take();
  EXPECT_EQ(std::ranges::count(lines, "end"), 800);
  for (int thread = 0; thread < 8; ++thread)
    EXPECT_EQ(std::ranges::count(lines, "thread " + std::to_string(thread)), 100);
}

TEST(Trace, AJobMarksItsPhasesAndEveryTile) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:2xH200");
  begin_anew();
  Job job(world());
  auto lines = take();
  for (const char* phase : {"probe 0", "claim 0", "inventory 0", "vote 0"})
    EXPECT_EQ(std::ranges::count(lines, phase), 1) << phase;

  const Plan plan = job.plan(1000);
  (void)map_units(job, plan);
  (void)map_units(job, plan);
  lines = take();
  EXPECT_EQ(std::ranges::count(lines, "pass 1"), 1);
  EXPECT_EQ(std::ranges::count(lines, "pass 2"), 1);
  EXPECT_EQ(std::ranges::count(lines, "tile 0"), 2);
  EXPECT_EQ(std::ranges::count(lines, "tile 1"), 2);
  EXPECT_EQ(std::ranges::count(lines, "vote 1"), 1);
  EXPECT_EQ(std::ranges::count(lines, "vote 2"), 1);
  EXPECT_EQ(std::ranges::count(lines, "end"), std::ssize(lines) / 2);
}

TEST(Trace, APassOnTheHostIsMarkedToo) {
  Job job(world(), on_cpu());
  begin_anew();
  (void)map_units(job, job.plan(1000));
  const auto lines = take();
  EXPECT_EQ(std::ranges::count(lines, "pass 1"), 1);
  EXPECT_EQ(std::ranges::count(lines, "host 0"), 1);
}

}  // namespace
}  // namespace tessera::testing
