#!/usr/bin/env python3
"""Every source, header and proto is in a target; every CMakeLists is added."""

import re

import source_tree
from source_tree import Finding


def tokens(text):
    """What a CMakeLists.txt names, without comments."""
    text = re.sub(r"#.*", "", text)
    return {word.strip('"') for word in re.split(r"[\s()]+", text)}


def ancestors(path):
    """The directories above `path`, nearest first, "" for the root."""
    parts = path.split("/")[:-1]
    for count in range(len(parts), -1, -1):
        yield "/".join(parts[:count])


def relative(path, directory):
    return path[len(directory) + 1 :] if directory else path


def check(root):
    findings = []
    lists = {}
    for path in source_tree.files(root, ("CMakeLists.txt",)):
        text = source_tree.read(root, path)
        lists[path.rpartition("/")[0]] = tokens(text)
        for number, line in enumerate(text.split("\n"), 1):
            if re.search(r"\bGLOB(_RECURSE)?\b", line.split("#")[0]):
                findings.append(
                    Finding(path, number, "glob", "list sources by hand")
                )
    for path in source_tree.files(
        root,
        source_tree.CPP_SUFFIXES + (".proto",),
        source_tree.CODE_DIRS,
    ):
        if not any(
            relative(path, directory) in lists.get(directory, ())
            for directory in ancestors(path)
        ):
            findings.append(
                Finding(path, 0, "dead-file", "no CMakeLists.txt names it")
            )
    for directory in lists:
        if directory and not any(
            relative(directory, above) in lists.get(above, ())
            for above in ancestors(directory)
        ):
            findings.append(
                Finding(
                    directory + "/CMakeLists.txt",
                    0,
                    "dead-list",
                    "no CMakeLists.txt adds this directory",
                )
            )
    return findings


class DeadFilesTest(source_tree.LintTestCase):
    def setUp(self):
        super().setUp()
        self.write("CMakeLists.txt", "add_subdirectory(core/base)\n")
        self.write(
            "core/base/CMakeLists.txt",
            "penstock_library(penstock_base SRCS a.cc HDRS a.h)\n",
        )
        self.write("core/base/a.cc", "")
        self.write("core/base/a.h", "")

    def test_listed_files_are_clean(self):
        self.assertEqual([], self.rules(check))

    def test_a_list_above_may_name_the_file(self):
        self.write("core/base/CMakeLists.txt", "x(a.cc a.h deep/b.cc)\n")
        self.write("core/base/deep/b.cc", "")
        self.assertEqual([], self.rules(check))

    def test_unlisted_source_is_found(self):
        self.write("core/base/b.cc", "")
        self.assertEqual(["dead-file"], self.rules(check))

    def test_unlisted_header_is_found(self):
        self.write("core/base/b.h", "")
        self.assertEqual(["dead-file"], self.rules(check))

    def test_unlisted_proto_is_found(self):
        self.write("proto/penstock/v1/a.proto", "")
        self.assertEqual(["dead-file"], self.rules(check))

    def test_a_comment_does_not_count(self):
        self.write("core/base/CMakeLists.txt", "x(a.cc a.h) # b.cc\n")
        self.write("core/base/b.cc", "")
        self.assertEqual(["dead-file"], self.rules(check))

    def test_a_longer_name_does_not_count(self):
        self.write("core/base/CMakeLists.txt", "x(aa.cc a.h)\n")
        self.assertEqual(["dead-file"], self.rules(check))

    def test_glob_is_found(self):
        self.write("core/base/CMakeLists.txt", "file(GLOB x a.cc a.h)\n")
        self.assertEqual(["glob"], self.rules(check))

    def test_a_directory_that_nobody_adds_is_found(self):
        self.write("core/record/CMakeLists.txt", "")
        self.assertEqual(["dead-list"], self.rules(check))


if __name__ == "__main__":
    source_tree.run(check, __doc__)
