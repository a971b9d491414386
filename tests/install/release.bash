#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# release.bash ROOT WORK: runs scripts/make-release on a clone of the last commit of ROOT: it refuses tags that are not
# releases; two archives of one tag are the same, wherever and by whom they are made, and have the files of the tag; the
# printed checksum is the archive's, and the line for the recipe fits into it.
set -euo pipefail
root=$1
work=$2
if ! git -C "$root" rev-parse --verify --quiet HEAD >/dev/null; then
  echo "SKIPPED: $root is no checkout of git"
  exit 0
fi
fail() {
  echo "release.bash: $*" >&2
  exit 1
}
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@example.invalid
export GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@example.invalid
rm -rf "$work"
mkdir -p "$work"
git clone --quiet --no-hardlinks "$root" "$work/clone"
cd "$work/clone"
cp "$root/scripts/make-release" scripts/ # as it is being worked on
version=$(sed -nE 's/^project\(tessera VERSION ([0-9.]+) .*/\1/p' CMakeLists.txt)
refuses() { # WORDS COMMAND...
  local words=$1 message
  shift
  message=$("$@" 2>&1) && fail "$* was not refused"
  [[ $message == *"$words"* ]] || fail "$*: $message"
}

refuses "give a tag" scripts/make-release
refuses "is not a tag of a release" scripts/make-release main
refuses "there is no tag v99.0.0" scripts/make-release v99.0.0
git tag v99.0.0
refuses "does not tell version 99.0.0" scripts/make-release v99.0.0

grep -q "^## \[$version\]" CHANGELOG.md || sed -i "s/^## \[Unreleased\]$/&\n\n## [$version] - 2026-01-31/" CHANGELOG.md
git commit --quiet --all --allow-empty --message "Release $version"

sed -i "/^## \[$version\]/,/^- /s/^- /$(for ((i = 0; i < 15; ++i)); do printf -- '- More.\\n'; done)&/" CHANGELOG.md
git commit --quiet --all --message "Tell everything"
sed -i "s/ VERSION $version / VERSION 98.0.0 /" CMakeLists.txt && sed -i "s/^version: .*/version: 98.0.0/" CITATION.cff
sed -i "0,/^## \[$version\]/s//## [98.0.0]/" CHANGELOG.md
git commit --quiet --all --message "Release 98.0.0" && git tag v98.0.0
refuses "lines of version 98.0.0: at most 15" scripts/make-release v98.0.0
git reset --quiet --hard HEAD~2

git tag --force "v$version" >/dev/null
line=$(scripts/make-release "v$version" 2>/dev/null)
archive=build/release/tessera-$version.tar.gz
checksum=$(sha256sum "$archive" | cut -d ' ' -f 1)
[[ $line == "version(\"$version\", sha256=\"$checksum\")" ]] || fail "the line is $line, the checksum $checksum"

# By another user, elsewhere, later, with uncommitted changes.
touch CMakeLists.txt and-more
echo >>README.md
git config tar.umask 0077
(umask 077 && cd / && TZ=Asia/Tokyo "$work/clone/scripts/make-release" "v$version" "$work/again" >/dev/null 2>&1)
cmp "$archive" "$work/again/tessera-$version.tar.gz" || fail "two archives of one tag differ"
rm -f and-more && git checkout --quiet .

tar --extract --gzip --file "$archive" --directory "$work"
(cd "$work/tessera-$version" && find . ! -type d -printf '%P\n' | LC_ALL=C sort) >"$work/has"
git ls-tree -r --name-only "v$version" | LC_ALL=C sort >"$work/should"
diff "$work/should" "$work/has" || fail "the archive has other files than the tag"

# Dates in installed files are those of the release, also from the archive, which has no commits.
time_of() {
  cmake -D PROJECT_SOURCE_DIR="$1" -P "$work/time.cmake" 2>&1
}
echo "include(\${PROJECT_SOURCE_DIR}/cmake/TesseraSourceTime.cmake)" >"$work/time.cmake"
echo "message(\"\${TESSERA_SOURCE_TIME}\")" >>"$work/time.cmake"
cp "$root/cmake/TesseraSourceTime.cmake" cmake/ && cp cmake/TesseraSourceTime.cmake "$work/tessera-$version/cmake/"
committed=$(TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)
for tree in "$work/clone" "$work/tessera-$version"; do
  [[ $(time_of "$tree") == "$committed" ]] || fail "$tree has the time $(time_of "$tree"), and was committed at $committed"
done
[[ $(SOURCE_DATE_EPOCH=86400 time_of "$work/clone") == 1970-01-02T00:00:00Z ]] || fail "SOURCE_DATE_EPOCH is passed over"

recipe=spack/spack_repo/tessera/packages/tessera/package.py
sed -i "s/^    version(\"main\".*/&\n    $line/" $recipe
grep -q "$checksum" $recipe || fail "$recipe has no line of the version main, behind which the release's belongs"
echo "tessera-$version.tar.gz can be made again: $checksum"
