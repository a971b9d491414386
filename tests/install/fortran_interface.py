# SPDX-License-Identifier: Apache-2.0
"""fortran_interface.py ROOT: the Fortran module declares what <tessera/tessera.h> does, no less and no more: each
function and type of function with the same arguments in order, each structure with the same fields in order and the
same defaults, and each constant with its value."""
import re
import sys
from pathlib import Path

SCALARS = {
    "int": "integer(c_int)",
    "int32_t": "integer(c_int32_t)",
    "int64_t": "integer(c_int64_t)",
    "size_t": "integer(c_size_t)",
    "double": "real(c_double)",
    "float": "real(c_float)",
    "MPI_Fint": "integer(c_int)",
}


def split(text):
    """The parts of a list, such as of arguments."""
    return [part.strip() for part in text.split(",") if part.strip()]


class Header:
    """tessera.h. Functions: name -> (type, [(type, name)]); structures: name -> [(type, name)]."""

    def __init__(self, text):
        text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
        self.version = re.search(r"#define TESSERA_C_VERSION (\d+)", text)[1]
        defaults = re.search(r"#define TESSERA_DEFAULT_OPTIONS(.*?)\{(.*?)\}", text, re.S)[2]
        self.defaults = split(defaults.replace("\\", ""))
        self.constants = {}
        for body in re.findall(r"enum \w+ \{(.*?)\};", text, re.S):
            for entry in split(body):
                name, value = entry.split("=")
                self.constants[name.strip().lower()] = int(value)
        self.structures = {}
        for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, re.S):
            self.structures[name] = [self.declared(field) for field in body.split(";") if field.strip()]
        self.callbacks = {
            name: (self.type(result), self.arguments(arguments))
            for result, name, arguments in re.findall(r"typedef ([\w ]+?)\s*\(\*(\w+)\)\(([^)]*)\);", text)
        }
        self.functions = {}
        for result, name, arguments in re.findall(r"TESSERA_API ([^;(]*?)(\w+)\(([^)]*)\);", text):
            self.functions[name] = (self.type(result), self.arguments(arguments))

    @staticmethod
    def type(text):
        return re.sub(r"\s*(\*)\s*", r"\1", " ".join(text.split()))

    @classmethod
    def declared(cls, text):
        match = re.fullmatch(r"(.*?)(\w+)", text.strip(), re.S)
        return cls.type(match[1]), match[2]

    @classmethod
    def arguments(cls, text):
        return [] if text.strip() == "void" else [cls.declared(part) for part in split(text)]

    def fortran(self, kind, is_result=False, is_field=False):
        """Declarations that stand for a C type: as `base attributes (*)` in a normal form."""
        value = "" if is_result or is_field else " value"
        if kind in SCALARS:
            return {SCALARS[kind] + value}
        if kind in self.structures:
            return {f"type({kind}){value}"}
        if kind in self.callbacks:
            return {f"type(c_funptr){value}"}
        if not kind.endswith("*"):
            raise SystemExit(f"tessera.h has the type {kind}, which this test does not know")
        if is_result or is_field:
            return {"type(c_ptr)"}
        intent = {"in"} if kind.startswith("const ") else {"out", "inout"}
        target = kind.removeprefix("const ")[:-1]
        if target == "char":
            forms = {f"character(kind=c_char) {i} (*)" for i in intent}
            return forms | ({"type(c_ptr) value"} if intent == {"in"} else set())
        if target.endswith("*const"):  # an array of pointers
            return {"type(c_ptr) in (*)"}
        if target.endswith("*"):  # a handle that is made
            return {"type(c_ptr) out"}
        if target in SCALARS or target in self.structures:
            base = SCALARS.get(target, f"type({target})")
            return {f"{base} {i}{rank}" for i in intent for rank in ("", " (*)")}
        return {"type(c_ptr) value"}  # data, or a handle


class Module:
    """tessera.f90, by the same names. Functions: name -> (label, result, [(declaration, name)])."""

    def __init__(self, text):
        text = re.sub(r"!.*", "", text)
        text = re.sub(r"&\s*\n\s*&?", " ", text).lower()
        self.constants, self.structures, self.defaults = {}, {}, {}
        self.functions, self.callbacks = {}, {}
        lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
        abstract, structure, procedure = False, None, None
        for line in lines:
            if match := re.fullmatch(r"integer\(c_int\), parameter :: (.*)", line):
                for entry in split(match[1]):
                    name, value = entry.split("=")
                    self.constants[name.strip()] = int(value)
            elif match := re.fullmatch(r"type, bind\(c\) :: (\w+)", line):
                structure = self.structures.setdefault(match[1], [])
                defaults = self.defaults.setdefault(match[1], [])
            elif line == "end type":
                structure = None
            elif structure is not None:
                base, names = line.split("::")
                for entry in split(names):
                    name, _, default = entry.partition("=")
                    structure.append((base.strip(), name.strip()))
                    defaults.append(default.strip())
            elif re.fullmatch(r"(abstract )?interface", line):
                abstract = line.startswith("abstract")
            elif match := re.fullmatch(
                r"(function|subroutine) (\w+)\(([^)]*)\) bind\(c(?:, name=\"(\w+)\")?\)(?: result\((\w+)\))?", line
            ):
                procedure = match
                declared = {}
            elif re.match(r"end (function|subroutine)", line):
                if procedure is None:
                    raise SystemExit("tessera.f90 has a procedure that is no interface of a function in C")
                arguments = [(declared[name], name) for name in split(procedure[3])]
                result = declared[procedure[5]] if procedure[1] == "function" else "void"
                table = self.callbacks if abstract else self.functions
                table[procedure[2]] = (procedure[4] or procedure[2], result, arguments)
                procedure = None
            elif procedure and "::" in line:
                attributes, names = line.split("::")
                base, *others = [part.strip() for part in re.split(r",(?![^(]*\))", attributes)]
                others = [re.sub(r"intent\((\w+)\)", r"\1", other) for other in others if other.strip() != "optional"]
                for entry in split(re.sub(r"\(\*\)", " (*)", names)):
                    name, *rank = entry.split()
                    declared[name] = " ".join([base, *others, *rank])


def main():
    root = Path(sys.argv[1])
    header = Header((root / "include/tessera/tessera.h").read_text())
    module = Module((root / "src/fortran/tessera.f90").read_text())
    problems = []

    def same_names(what, of_header, of_module):
        for name in sorted(set(of_header) ^ set(of_module)):
            where = "tessera.h" if name in of_header else "tessera.f90"
            problems.append(f"{what} {name} is in {where} alone")
        return [name for name in of_header if name in of_module]

    def same_list(name, of_header, of_module, **options):
        if [entry for _, entry in of_header] != [entry for _, entry in of_module]:
            problems.append(f"{name} has {[n for _, n in of_header]} in tessera.h, {[n for _, n in of_module]} in tessera.f90")
            return
        for (kind, entry), (declaration, _) in zip(of_header, of_module):
            if declaration not in header.fortran(kind, **options):
                problems.append(f"{entry} of {name} is '{kind}' in tessera.h, and '{declaration}' in tessera.f90")

    for name in same_names("the constant", header.constants, module.constants):
        if header.constants[name] != module.constants[name]:
            problems.append(f"{name} is {header.constants[name]} in tessera.h, {module.constants[name]} in tessera.f90")
    for name in same_names("the structure", header.structures, module.structures):
        same_list(name, header.structures[name], module.structures[name], is_field=True)

    # A function of a communicator has a twin for Fortran, which has its name there.
    of_header, labels = {}, {}
    for name, declared in header.functions.items():
        if name + "_fortran" not in header.functions:
            of_header[name.removesuffix("_fortran")] = declared
            labels[name.removesuffix("_fortran")] = name
    of_callbacks = {name: (name, *declared) for name, declared in header.callbacks.items()}
    of_functions = {name: (labels[name], *declared) for name, declared in of_header.items()}
    for what, ours, theirs in (
        ("the function", of_functions, module.functions),
        ("the type of function", of_callbacks, module.callbacks),
    ):
        for name in same_names(what, ours, theirs):
            label, result, arguments = ours[name]
            if theirs[name][0] != label:
                problems.append(f"{name} of tessera.f90 is bound to {theirs[name][0]}, and not to {label}")
            same_result = {"void"} if result == "void" else header.fortran(result, is_result=True)
            if theirs[name][1] not in same_result:
                problems.append(f"{name} returns '{result}' in tessera.h, and '{theirs[name][1]}' in tessera.f90")
            same_list(name, arguments, theirs[name][2])

    # The defaults of tessera_options, in the words of C.
    words = {"c_null_ptr": "0", "c_null_funptr": "0", "1800.0_c_double": "1800.0", "0.5_c_double": "0.5"}
    defaults = [words.get(default, default.upper()) for default in module.defaults.get("tessera_options", [])]
    expected = [header.version if default == "TESSERA_C_VERSION" else default for default in header.defaults]
    if defaults != expected:
        problems.append(f"TESSERA_DEFAULT_OPTIONS are {expected}, and those of tessera.f90 {defaults}")

    if not (header.constants and header.structures and header.callbacks and header.functions):
        problems.append("tessera.h cannot be read")
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


main()
