#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if sources of one library or program cannot be compiled together, as in a unity build: if two of them have the
same name in their anonymous namespaces, or one has a name there that a header declares in the surrounding namespace.

Usage: unity_names.py ROOT LIST; each line of LIST has a target and its sources, separated by `;`.
"""
import collections
import pathlib
import re
import sys

NAMESPACE = re.compile(r"^namespace ([\w:]*) ?\{$|^\}  // (?:inline )?namespace.*$", re.M)
RAW_STRING = re.compile(r"R\"(\w*)\(.*?\)\1\"", re.S)
# Strings, characters, comments, and lines of the preprocessor.
IGNORED = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])+'"
                     r"|//[^\n]*|/\*.*?\*/|^#(?:\\\n|[^\n])*", re.M | re.S)
TEMPLATE = re.compile(r"^template <((?:[^<>]|<[^<>]*>)*)> ?")
UNNAMED = re.compile(r"(using namespace|using [\w:]+;|namespace \w+ =|static_assert|extern|friend|template|TESSERA_)")


def scopes(text):
    """The code of each namespace of a file, with the namespace's name; anonymous namespaces end in `::`."""
    stack, begin, text = [], 0, RAW_STRING.sub('""', text)
    for line in NAMESPACE.finditer(text):
        if stack:
            yield "::".join(stack).replace("TESSERA_NAMESPACE", "tessera"), text[begin:line.start()]
        begin = line.end()
        if line[0].startswith("namespace"):
            stack.append(line[1])
        elif stack:
            stack.pop()


def declarations(code):
    """The beginning of each declaration, up to its body."""
    depth, head = 0, ""
    for part in re.split(r"([{};])", IGNORED.sub("", code)):
        if part == "}":
            depth -= 1
        elif depth == 0:
            head += part
            if part in ("{", ";"):
                if re.match(r"\s*[\w\[]", head):  # not the rest of an expression behind a brace
                    yield " ".join(head.split())
                head = ""
        depth += part == "{"


def split(parameters):
    """The parameters of a function without their names and default values."""
    depth, one, types = 0, "", []
    for char in parameters + ",":
        depth += (char in "(<[{") - (char in ")>]}")
        if char != "," or depth > 0:
            one += char
            continue
        unnamed = re.sub(r"(?<=[\w>&*.])( |(?<=[&*]))\w+(\[\w*\])?$", "", one.split("=")[0].strip())
        types.append(unnamed.replace(" ", ""))
        one = ""
    return types


def names(code):
    """The names that code declares; functions with the types of their parameters, aliases with their meaning."""
    for head in declarations(code):
        head = re.sub(r"\[\[.*?\]\] ?|alignas\([^)]*\) ?|\bTESSERA_EXPORT ", "", head)
        placeholders = []
        while template := TEMPLATE.match(head):
            placeholders += re.findall(r"(\w+)(?: =[^,]*)?(?:,|$)", template[1])
            head = head[template.end():]
        if kind := re.match(r"(?:enum class|enum|struct|class|union) ([\w:]+)(?: final)?(?: : [^(]*)? ?\{$", head):
            if "::" not in kind[1]:
                yield kind[1]
        elif alias := re.match(r"using (\w+) = (.*)", head):
            yield f"{alias[1]} = {alias[2]}"
        elif not UNNAMED.match(head) and not re.fullmatch(r"(struct|class|enum class|enum) \w+( : [\w:]+)?;", head):
            flat = head
            while (inner := re.sub(r"<[^<>]*>", lambda found: "_" * len(found[0]), flat)) != flat:
                flat = inner
            found = re.search(r"(operator\W+?|\b[\w:]+) ?([(=\[{;])", flat)
            if not found or "::" in found[1]:
                continue
            if found[2] != "(":
                yield found[1]
            else:
                end = flat.rfind(")") if found.start() else flat.find(")")
                text = head[found.end():end]
                for number, placeholder in enumerate(placeholders):
                    text = re.sub(rf"\b{placeholder}\b", f"${number}", text)
                yield f"{found[1]}({', '.join(split(text) if found.start() else [text])})"


def bare(name):
    return re.match(r"operator\W+|\w*", name)[0]


def clash(places):
    """Whether the declarations of one name in several files cannot stand together; different functions can."""
    files = {file for file, _ in places}
    meanings = {name for _, name in places}
    if len(files) < 2 or (len(meanings) == 1 and " = " in next(iter(meanings))):
        return False
    return not all("(" in name for name in meanings) or len(places) > len(meanings)


class Tree:
    """The names that each file of a source tree declares, and the headers that it includes."""

    def __init__(self, root):
        self.folders = [root, root / "src", root / "include", root / "tests"]
        self.known = {}

    def file(self, path):
        if path not in self.known:
            text = path.read_text()
            found = [(scope, name) for scope, code in scopes(text) for name in names(code)]
            headers = re.findall(r"^#include [<\"]([^>\"]+\.hpp)[>\"]", text, re.M)
            there = [folder / header for header in headers for folder in [path.parent, *self.folders]]
            self.known[path] = (found, [header for header in there if header.is_file()])
        return self.known[path]

    def headers_of(self, sources):
        """All headers that the sources include, also through others."""
        found, left = set(), list(sources)
        while left:
            new = set(self.file(left.pop())[1]) - found
            found |= new
            left += new
        return found


def main():
    root, groups = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    tree, problems, count = Tree(root), [], 0
    for group in groups.read_text().splitlines():
        target, *sources = group.split(";")
        sources = [pathlib.Path(source) for source in sources]
        here = collections.defaultdict(set)  # by scope and name: each source, with the name's meaning there
        for source in sources:
            for scope, name in tree.file(source)[0]:
                if scope.endswith("::"):
                    here[scope[:-2], bare(name)].add((source, name))
        count += len(here)
        there = collections.defaultdict(set)
        for header in tree.headers_of(sources):
            for scope, name in tree.file(header)[0]:
                there[scope, bare(name)].add((header, name))
        for key, places in here.items():
            if clash(places) or (there[key] and clash(places | there[key])):
                files = sorted({str(file.relative_to(root)) for file, _ in places | there[key]})
                problems.append(f"{target}: {'::'.join(key)} in {', '.join(files)}")
    if count < 1000:
        sys.exit(f"only {count} names were found in anonymous namespaces")
    if problems:
        sys.exit("a unity build may compile these names together: rename them\n" + "\n".join(sorted(problems)))


if __name__ == "__main__":
    main()
