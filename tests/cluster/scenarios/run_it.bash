# SPDX-License-Identifier: Apache-2.0
# The srun lines of the section "Run it" of docs/library.md start the ranks that they claim. Each rank drives a
# simulated GPU.
cp "$prefix/../../examples/squares/squares" squares
export TESSERA_SIMULATE='*:H200'
log=$cluster/home/run_it.log
mapfile -t commands < <(awk '/^## / { inside = $0 == "## Run it" } inside && /^srun /' \
  "$cluster/tessera/share/doc/tessera/docs/library.md")
((${#commands[@]} > 0)) || fail "docs/library.md has no srun line under \"Run it\""
for command in "${commands[@]}"; do
  [[ $command =~ --nodes=([0-9]+)\ --ntasks-per-node=([0-9]+) ]] || fail "how many ranks is this? $command"
  ranks=$((BASH_REMATCH[1] * BASH_REMATCH[2]))
  timeout 60 bash -c "$command" >"$log" 2>&1
  log_says "^$((1000000 / ranks)) squares here, computed on $ranks simulated devices$" || fail "$command"
done
expect_quiet
