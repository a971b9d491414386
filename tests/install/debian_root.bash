#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# debian_root.bash PACKAGE: installs the package with its dependencies in a copy of the bare Debian system in
# $TESSERA_DEBIAN_ROOT, e.g. made by `debootstrap --variant=minbase bookworm`, fits a model there under mpirun, and
# removes it. The system is not changed: writes go to memory. Needs root and a network. With the package for R, all ways
# of installing that are tried there too; $TESSERA_R_TARBALL is what scripts/make-r-package has made.
set -euo pipefail
package=$1
if [[ -z ${TESSERA_DEBIAN_ROOT-} ]]; then
  echo "SKIPPED: TESSERA_DEBIAN_ROOT names no bare Debian system"
  exit 0
fi
if ((EUID != 0)) || ! unshare --mount true 2>/dev/null; then
  echo "SKIPPED: this process may not mount a copy of $TESSERA_DEBIAN_ROOT"
  exit 0
fi

source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export package source
exec unshare --mount --pid --fork bash -euo pipefail -c '
  work=/mnt
  mount -t tmpfs none "$work" -o size=3g
  mkdir "$work"/{upper,work,root}
  root=$work/root
  mount -t overlay overlay -o "lowerdir=$TESSERA_DEBIAN_ROOT,upperdir=$work/upper,workdir=$work/work" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  mount -t sysfs sys "$root/sys"
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  mkdir "$root/package"
  cp "$package" "$root/package/tessera.deb"
  mkdir -p "$root"/package/source/{examples,tests/data,tests/install}
  cp -R "$source"/{r,docs,README.md} "$root/package/source"
  cp -R "$source/examples/diamonds" "$root/package/source/examples"
  cp -R "$source/tests/r" "$root/package/source/tests"
  cp -R "$source/tests/data/models" "$root/package/source/tests/data"
  cp "$source/tests/install/r_root.bash" "$root/package/source/tests/install"
  [[ -z ${TESSERA_R_TARBALL-} ]] || cp "$TESSERA_R_TARBALL" "$root/package/"
  exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,vader bash -euc "
      apt-get -q update
      apt-get -q install --yes --no-install-recommends /package/tessera.deb
      cd /tmp
      tessera-info plan --scores 1,1 --units 4
      mpirun -np 2 --oversubscribe tessera-info
      mpirun -np 2 --oversubscribe tessera-fit fit /usr/share/tessera/examples/diamonds/diamonds.csv.gz \
        --formula \"lprice ~ cut + s(lcarat, bs=\\\"ps\\\", k=20)\" --device cpu
      tessera-fit summary model.json
      # The package for R, where there was an R as this one was made.
      ! test -d /usr/lib/R/site-library/tessera ||
        /package/source/tests/install/r_root.bash /package/source /package/tessera_*_R_*.tar.gz
      apt-get -q purge --yes tessera
      test ! -e /usr/bin/tessera-fit -a ! -e /usr/share/tessera"
'
