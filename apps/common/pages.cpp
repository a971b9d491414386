// SPDX-License-Identifier: Apache-2.0
#include "common/pages.hpp"

#include <iostream>

namespace tessera::apps {

std::string footer(std::string_view exit_statuses) {
  return "Exit status: " + std::string(exit_statuses) +
         "; 128 + n a rank was ended by signal n.\n\n"
         "Environment:\n"
         "  CUDA_VISIBLE_DEVICES  GPUs that a rank may see, as indices or UUIDs; empty: none\n"
         "  TESSERA_ARROW_PLUGIN  the plugin for Parquet and Feather, in place of the installed one\n"
         "  TESSERA_CACHE_DIR     where compiled GPU code is kept; empty: nowhere\n"
         "  TESSERA_CACHE_MIB     size limit of that folder in MiB (256); least recently used code is "
         "removed\n"
         "  TESSERA_INSTRUCTION_SET  sse2 or avx2: no wider vector instructions; the results are the same\n"
         "  TESSERA_LOCK_DIR      where jobs of a node tell each other which GPUs they drive\n"
         "  TESSERA_SIMULATE      simulated devices, as 'rank0:2xH200; rank1:T4', to rehearse a job\n"
         "  TESSERA_START_TIMEOUT seconds that MPI may take to start on all ranks (600); 0: no limit\n"
         "  OMP_NUM_THREADS       host threads per rank, unless --threads is given\n"
         "  SLURM_CPUS_PER_TASK   the same, after OMP_NUM_THREADS; else a fair share of the cores\n"
         "  HWLOC_XMLFILE         a recorded topology in place of this machine's\n";
}

bool prints_page(const CLI::App& app, int argc, char** argv) {
  const auto is = [&](int index, std::string_view text) { return index < argc && argv[index] == text; };
  if (!is(1, "--page")) return false;
  if (is(2, "man") && argc == 4) {
    std::cout << man_page(app, argv[3]);
  } else if (is(2, "bash") && argc == 3) {
    std::cout << bash_completion(app);
  } else {
    return false;
  }
  std::cout.flush();
  return true;
}

}  // namespace tessera::apps
