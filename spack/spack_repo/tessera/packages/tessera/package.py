# SPDX-License-Identifier: Apache-2.0
import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Tessera(CMakePackage, CudaPackage):
    """Units of work over every GPU of an MPI job, or one clean CPU answer; and tessera-fit, which fits
    generalized additive models to large tables."""

    # The recipe is part of the source tree that it builds.
    git = "file://" + str(pathlib.Path(__file__).resolve()).rpartition("/spack/spack_repo/")[0]

    license("Apache-2.0")

    version("main", branch="main")

    variant("apps", default=True, description="Build tessera-info, tessera-fit and tessera-bench")

    variant("nccl", default=False, when="+cuda", description="Sum and broadcast between GPUs by NCCL")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type=("build", "run"))
    depends_on("mpi")
    depends_on("hwloc@2.5:")
    depends_on("googletest@1.12:", type="test")

    with when("+apps"):
        depends_on("blas")
        depends_on("lapack")
        depends_on("cli11@2.1:", type="build")
        depends_on("fmt@9:")
        depends_on("hdf5@1.10:")
        depends_on("nlohmann-json@3.11:", type="build")
        depends_on("tomlplusplus@3:")
        depends_on("zlib-api")

    with when("+cuda"):
        depends_on("cuda@12:")
        depends_on("nccl@2.14:", when="+nccl")
        conflicts("cuda_arch=none", msg="Name the GPUs to build for, e.g. cuda_arch=90")

    conflicts("%gcc@:11", msg="Tessera is written in C++20: use GCC 12 or later")

    def cmake_args(self):
        args = [
            self.define_from_variant("TESSERA_ENABLE_CUDA", "cuda"),
            self.define_from_variant("TESSERA_ENABLE_NCCL", "nccl"),
            self.define_from_variant("TESSERA_ENABLE_APPS", "apps"),
            self.define("TESSERA_ENABLE_TESTS", self.run_tests),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.builder.define_cuda_architectures(self))
        return args
