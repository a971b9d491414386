# SPDX-License-Identifier: Apache-2.0
import pathlib

from spack_repo.builtin.build_systems.cmake import CMakeBuilder, CMakePackage, generator
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Tessera(CMakePackage, CudaPackage):
    """Units of work over every GPU of an MPI job, or one clean CPU answer; and tessera-fit, which
    fits generalized additive models to large tables."""

    # The recipe is part of the source tree that it builds. The archives of releases are where
    # scripts/make-release puts them, or in a mirror of the site's.
    git = "file://" + str(pathlib.Path(__file__).resolve()).rpartition("/spack/spack_repo/")[0]
    url = git + "/build/release/tessera-0.3.0.tar.gz"

    license("Apache-2.0")

    # Below it a line for each release, which scripts/make-release prints.
    version("main", branch="main")

    # Sticky: what a dependency does not allow is an error, and no part is left out unless it is asked for.
    variant("apps", default=True, sticky=True, description="Build the programs, and tessera::gam")
    with when("+apps"):
        variant("hdf5", default=True, sticky=True, description="Let tessera-fit read tables in HDF5")
        variant("arrow", default=False, sticky=True, description="Let tessera-fit read tables in Parquet and Feather")
        variant("libdeflate", default=True, sticky=True, description="Unpack tables by libdeflate")
        variant("packings", default=True, sticky=True, description="Read tables packed by zstd, xz and bzip2")
        variant("r", default=False, sticky=True, when="+shared", description="Install the package for R")
    variant("nccl", default=False, sticky=True, when="+cuda", description="Sum between GPUs by NCCL")
    variant("shared", default=True, sticky=True, description="The shared library alone, not the static one too")
    variant("tests", default=False, sticky=True, description="Build the tests, and the faults that some need")

    generator("ninja")
    test_requires_compiler = True

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("pkgconfig", type="run", when="~shared")  # find_package(tessera) asks it for hwloc
    depends_on("mpi@3:")
    depends_on("hwloc@2.9: +pci")
    depends_on("googletest@1.12:", type="test")
    depends_on("googletest@1.12:", type="build", when="+tests")

    with when("+apps"):
        depends_on("arrow@15: +parquet +brotli +lz4 +snappy +zlib +zstd", when="+arrow")
        depends_on("boost@1.74: +math", type="build")
        depends_on("cli11@2.1:", type="build")
        depends_on("eigen@3.4:3", type="build")
        depends_on("fmt@9:")
        depends_on("hdf5@1.10.5:", when="+hdf5")
        depends_on("libdeflate@1.6:", when="+libdeflate")
        depends_on("bzip2", when="+packings")
        depends_on("xz@5.2:", when="+packings")
        depends_on("zstd@1.4:", when="+packings")
        depends_on("nlohmann-json@3.11:", type="build")
        depends_on("tomlplusplus@3:")
        depends_on("zlib-api")

    with when("+r"):
        extends("r")
        depends_on("r@4.2:")
        depends_on("r-mgcv@1.8-41:")

    with when("+cuda"):
        depends_on("cuda@12:")
        depends_on("hwloc +nvml")
        depends_on("nccl@2.14:", when="+nccl")
        conflicts("cuda_arch=none", msg="Name the GPUs to build for, e.g. cuda_arch=90")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"nccl cuda_arch={arch}", when=f"+nccl cuda_arch={arch}")

    conflicts("%gcc@:11", msg="Tessera is written in C++20: use GCC 12 or later")

    def cmake_args(self):
        tests = self.run_tests or self.spec.satisfies("+tests")
        args = [
            # Tests need the static library, which is then installed too.
            self.define("BUILD_SHARED_LIBS", self.spec.satisfies("+shared") and not tests),
            self.define_from_variant("TESSERA_ENABLE_CUDA", "cuda"),
            self.define_from_variant("TESSERA_ENABLE_APPS", "apps"),
            self.define("TESSERA_ENABLE_TESTS", tests),
            self.define_from_variant("TESSERA_ENABLE_FAULTS", "tests"),
        ]
        if self.spec.satisfies("+apps"):
            args.append(self.define_from_variant("TESSERA_ENABLE_HDF5", "hdf5"))
            args.append(self.define_from_variant("TESSERA_ENABLE_LIBDEFLATE", "libdeflate"))
            args.append(self.define_from_variant("TESSERA_ENABLE_PACKINGS", "packings"))
            args.append(self.define_from_variant("TESSERA_ENABLE_ARROW", "arrow"))
        if self.spec.satisfies("+r"):
            args.append(self.define_from_variant("TESSERA_ENABLE_R", "r"))
            args.append(self.define("TESSERA_INSTALL_RDIR", self.spec["r"].package.r_lib_dir))
        if self.spec.satisfies("+cuda"):
            args.append(self.define_from_variant("TESSERA_ENABLE_NCCL", "nccl"))
            args.append(CMakeBuilder.define_cuda_architectures(self))
        return args

    def check(self):
        """tests the parts alone, and one job of two ranks; `ctest` takes minutes to run all"""
        with working_dir(self.build_directory):
            ctest("--output-on-failure", "-j", str(make_jobs), "-L", "^unit$")
            ctest("--output-on-failure", "-R", r"^mpi\.job\.passes\.np2$", "--no-tests=error")

    def mpirun(self, *command, **options):
        """Runs `command` on two ranks, and returns what it prints."""
        launchers = ("mpirun", "mpiexec", "srun")
        mpi_bin = self.spec["mpi"].prefix.bin
        launch = which(*launchers, path=[mpi_bin]) or which(*launchers, required=True)
        return launch("-n", "2", *command, output=str.split, error=str.split, **options)

    def test_probe(self):
        """every rank finds the other, and what it may use"""
        if self.spec.satisfies("~apps"):
            raise SkipTest("The programs are installed with +apps")
        check_outputs("2 ranks", self.mpirun(self.prefix.bin.join("tessera-info")))

    def test_fit(self):
        """a model is fitted to the table that is installed"""
        if self.spec.satisfies("~apps"):
            raise SkipTest("The programs are installed with +apps")
        table = join_path(self.prefix.share.tessera.examples.diamonds, "diamonds.csv.gz")
        formula = 'lprice ~ cut + s(lcarat, bs="ps", k=20)'
        fit = self.prefix.bin.join("tessera-fit")
        output = self.mpirun(fit, "fit", table, "--formula", formula)
        check_outputs([r"s\(lcarat\)", "Model written to model.json"], output)

    def test_consumer(self):
        """a program of its own is built against the installation, and runs under MPI"""
        source = self.prefix.share.tessera.examples.squares
        # As in a build, but for which Spack does not tell CMake where the dependencies are.
        prefixes = [spec.prefix for spec in self.spec.traverse(deptype="link")]
        cmake = self.spec["cmake"].command
        cmake("-S", source, "-B", "squares", self.define("CMAKE_PREFIX_PATH", prefixes))
        cmake("--build", "squares")
        check_outputs("squares here, computed on", self.mpirun(join_path("squares", "squares")))
