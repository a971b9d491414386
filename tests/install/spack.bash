#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# spack.bash ROOT [SPEC]: installs the last commit of ROOT with the Spack in $SPACK_ROOT, from a release archive in a
# mirror, verified by its checksum, and with its tests; runs the stand-alone tests of the installed package; and
# concretizes the environments. Dependencies are the system's; CUDA is that of the nvcc in PATH. Spack's own packages
# come from the checkout of spack-packages in $TESSERA_SPACK_PACKAGES, or else Spack fetches them. The user's Spack is
# not changed. With SPEC tessera+r the R package fits a model.
set -euo pipefail
root=$1
spec=${2-tessera}
if [[ -z ${SPACK_ROOT-} ]]; then
  echo "SKIPPED: SPACK_ROOT names no Spack"
  exit 77
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/tessera-spack-XXXXXX")
trap 'rm -rf "$work"' EXIT
unset SPACK_DISABLE_LOCAL_CONFIG # it would leave out the configuration below too
export SPACK_USER_CONFIG_PATH=$work/config SPACK_SYSTEM_CONFIG_PATH=$work/none SPACK_USER_CACHE_PATH=$work/cache
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
mkdir -p "$work"/{config,system}
spack() {
  echo "== spack $*" >&2
  "$SPACK_ROOT/bin/spack" --color never "$@"
}
fail() {
  echo "spack.bash: $*" >&2
  exit 1
}

cat >"$work/config/config.yaml" <<END
config:
  install_tree: {root: $work/store}
  build_stage: [$work/stage]
  test_stage: $work/test
  source_cache: $work/sources
  misc_cache: $work/misc
  build_jobs: ${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
END
if [[ -n ${TESSERA_SPACK_PACKAGES-} ]]; then
  cat >"$work/config/repos.yaml" <<END
repos:
  builtin: $TESSERA_SPACK_PACKAGES/repos/spack_repo/builtin
END
fi

# The system's packages, some of which Spack cannot find itself: "name module" for those known to pkg-config.
external() {
  [[ -n $2 ]] || fail "the system has no $1"
  local variants=''
  # Required by the CUDA package. Tessera opens NVML itself, so this hwloc may lack it.
  [[ $1 != hwloc ]] || ! command -v nvcc >/dev/null || variants=' +nvml'
  [[ $1 != boost ]] || variants=' +math'
  # Spack assumes default variants for an external, which is true of libdeflate only from 1.15 on.
  [[ $1 != libdeflate || $(printf '%s\n' "$2" 1.15 | sort -V | head -1) == 1.15 ]] || variants=' build_system=makefile'
  echo "  $1: {buildable: false, externals: [{spec: \"$1@$2$variants\", prefix: ${3:-/usr}}]}" # not every pkg-config file has a prefix
}
{
  echo "packages:"
  while read -r name module; do
    external "$name" "$(pkg-config --modversion "$module")" "$(pkg-config --variable=prefix "$module")"
  done <<END
cli11 CLI11
fmt fmt
googletest gtest
hdf5 hdf5
hwloc hwloc
libdeflate libdeflate
nlohmann-json nlohmann_json
eigen eigen3
xz liblzma
zstd libzstd
tomlplusplus tomlplusplus
zlib zlib
END
  version() { grep -oE '[0-9]+(\.[0-9]+)+' | head -1; }
  for program in cmake ninja pkgconf; do
    path=$(command -v $program)
    external $program "$($program --version | version)" "${path%/bin/*}"
  done
  # Boost has no pkg-config file.
  external boost "$(sed -nE 's/^#define BOOST_LIB_VERSION "([0-9]+)_([0-9]+).*/\1.\2.0/p' /usr/include/boost/version.hpp)"
  external bzip2 "$(bzip2 --help 2>&1 | version)"
  path=$(command -v mpirun)
  external openmpi "$(mpirun --version | version)" "${path%/bin/*}"
  if mgcv=$(Rscript -e 'cat(packageDescription("mgcv")$Version)' 2>/dev/null); then
    external r "$(R --version | version)"
    external r-mgcv "$mgcv"
  fi
  if path=$(command -v nvcc); then
    external cuda "$(nvcc --version | version)" "$(realpath "${path%/bin/*}")"
  fi
} >"$work/system/packages.yaml"
cat "$work/system/packages.yaml"
spack compiler find

# The last commit as if released: a tag, its archive, and the line of the recipe with its checksum.
git clone --quiet "$root" "$work/source"
cd "$work/source"
git checkout --quiet -B main "$(git -C "$root" rev-parse HEAD)"
release=$(sed -nE 's/^project\(tessera VERSION ([0-9.]+) .*/\1/p' CMakeLists.txt)
grep -q "^## \[$release\]" CHANGELOG.md || sed -i "s/^## \[Unreleased\]$/&\n\n## [$release]/" CHANGELOG.md
git -c user.name=test -c user.email=test@example.invalid commit --quiet --all --allow-empty --message "Release $release"
git tag --force "v$release"
line=$(scripts/make-release "v$release")
sed -i "/^    version(\"$release\"/d; s/^    version(\"main\".*/&\n    $line/" spack/spack_repo/tessera/packages/tessera/package.py
spack repo add "$work/source/spack/spack_repo/tessera"

# An archive with another checksum is refused.
archive=build/release/tessera-$release.tar.gz
cp "$archive" "$work/whole.tar.gz"
echo >>"$archive"
spack -C "$work/system" fetch "tessera@$release" && fail "an archive with another checksum was taken"
spack clean --stage --downloads
mv "$work/whole.tar.gz" "$archive"

# The mirror is the only source: the repository that it was made from is removed.
spack -C "$work/system" mirror create --directory "$work/mirror" "tessera@$release"
spack -C "$work/system" mirror create --directory "$work/mirror" tessera@main
rm -rf .git build
echo "mirrors:: {tessera: {url: \"file://$work/mirror\", binary: false}}" >"$work/config/mirrors.yaml"

spack -C "$work/system" install --test=root --show-log-on-error "$spec" || {
  find "$work/stage" -name install-time-test-log.txt -exec cat {} + # which the log of the build leaves out
  fail "$spec was not installed"
}
dirty=()
((EUID != 0)) || dirty=(--dirty) # Spack would unset OMPI_ALLOW_RUN_AS_ROOT, as all that ends with _ROOT
spack test run "${dirty[@]}" --alias tessera tessera || { spack test results --logs tessera; exit 1; }
results=$(spack test results --logs tessera)
echo "$results"
if [[ $spec == tessera ]]; then
  [[ $results != *SKIPPED* ]] || fail "parts of the installed package's tests were skipped"
  installed=$(spack find --format '{variants}' tessera)
  for part in apps hdf5 libdeflate packings; do
    [[ $installed == *"+$part"* ]] || fail "tessera was installed without $part: $installed"
  done
fi

if [[ $spec == *+r* ]]; then
  (eval "$(spack load --sh tessera)" && Rscript -e 'stopifnot(inherits(tessera::tessera_bam(dist ~ s(speed), data = cars), "gam"))')
fi

# A conflict is reported with its message.
message=$(spack spec tessera +cuda 2>&1) && fail "tessera +cuda without cuda_arch was concretized"
[[ $message == *"Name the GPUs to build for, e.g. cuda_arch=90"* ]] || fail "tessera +cuda without cuda_arch: $message"

# Each environment, with only a compiler of the system.
for environment in cpu cuda; do
  spack -e "$work/source/spack/environments/$environment" concretize
done
grep -q '"nvml":true' "$work/source/spack/environments/cuda/spack.lock" || fail "hwloc of the environment cuda has no NVML"
