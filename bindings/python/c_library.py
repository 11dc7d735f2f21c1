# SPDX-License-Identifier: BSD-2-Clause
"""Where the C library comes from when the package is built.

Its source is part of the source distribution, in libredlock/, and is compiled into the extension
module: installing the package needs a compiler and the headers of OpenSSL, and running it needs no
library of ours. In a clone of the repository libredlock/ is made anew from the tree each time. With
REDLOCK_OPENSSL_INSIDE=1, as for wheels, OpenSSL is compiled in, too. With REDLOCK_SYSTEM_LIBRARY=1 the
module is linked with the library that pkg-config finds instead, as the packages of a distribution are.
"""
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig

HERE = os.path.dirname(os.path.realpath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
BUNDLED = "libredlock"  # setuptools wants what is packed named from here


def fail(*lines):
    sys.exit("\n".join(f"redlock-native: {line}" for line in lines))


def is_set(variable):
    return os.environ.get(variable, "") not in ("", "0")


def uses_system_library():
    return is_set("REDLOCK_SYSTEM_LIBRARY")


def pkg_config(*words):
    try:
        asked = subprocess.run(["pkg-config", *words, "redlock"], capture_output=True, text=True,
                               check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        fail("REDLOCK_SYSTEM_LIBRARY is set, and pkg-config finds no library: install "
             "libredlock-dev, or set PKG_CONFIG_PATH to the directory of redlock.pc",
             str(getattr(error, "stderr", None) or error).strip())
    return asked.stdout.strip()


def bundle():
    """In a clone: the header, the source with its scripts embedded, and the licence, as of now."""
    if uses_system_library() or os.path.join(TREE, "bindings", "python") != HERE:
        return
    inside = os.path.join(HERE, BUNDLED)
    shutil.rmtree(inside, ignore_errors=True)
    shutil.copytree(TREE + "/include", inside + "/include")
    shutil.copytree(TREE + "/src", inside + "/src",
                    ignore=shutil.ignore_patterns("CMakeLists.txt", "scripts"))
    shutil.copy2(TREE + "/LICENSE", HERE)
    try:
        subprocess.run(["cmake", f"-DSOURCE_DIR={TREE}/src/scripts",
                        f"-DOUTPUT={inside}/generated/rl_scripts.h", "-P",
                        f"{TREE}/cmake/EmbedScripts.cmake"], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        fail(f"in the source tree cmake is needed to embed the scripts: {error}")


def system_directories(kind):
    """Those of the library that pkg-config finds, which leaves out what the compiler knows anyway."""
    return [f[2:] for f in pkg_config("--cflags", "--libs").split() if f.startswith(kind)]


def header():
    """The path of redlock.h."""
    directories = [BUNDLED + "/include"]
    if uses_system_library():
        directories = [*system_directories("-I"), "/usr/include"]
    return os.path.join(HERE, directories[0], "redlock.h")


def version():
    """That of the library, which is that of the package."""
    if uses_system_library():
        return pkg_config("--modversion")
    try:
        with open(header(), encoding="utf-8") as file:
            return ".".join(re.findall(r"#define REDLOCK_VERSION_\w+ (\d+)", file.read()))
    except OSError:
        fail("the source of the C library is missing: this is neither the source distribution that "
             "`make python-package` makes nor bindings/python of a clone of redlock")


def build_options():
    """For the extension module, as cffi takes them."""
    options = {"sources": [], "include_dirs": [HERE],
               "define_macros": [("_GNU_SOURCE", None)]}
    if uses_system_library():
        options["include_dirs"] += system_directories("-I")
        options["library_dirs"] = system_directories("-L")
        options["libraries"] = ["redlock"]
        return options
    options["sources"] += sorted(glob.glob(BUNDLED + "/src/**/*.c", recursive=True))
    options["include_dirs"] += [os.path.join(BUNDLED, d) for d in ("include", "src", "generated")]
    options["extra_compile_args"] = ["-std=c11", "-fvisibility=hidden", "-pthread"]
    # Calls within the module stay there, also beside a libredlock that the process has loaded.
    options["extra_link_args"] = ["-pthread", f"-Wl,--version-script={HERE}/module.map"]
    if is_set("REDLOCK_OPENSSL_INSIDE"):
        options["define_macros"].append(("REDLOCK_OPENSSL_INSIDE", None))
        # Destructors of threads may run at any later time: the module is never unloaded.
        options["extra_link_args"] += ["-s", "-Wl,-z,nodelete", "-Wl,--exclude-libs,ALL",
                                       "-l:libssl.a", "-l:libcrypto.a"]
    else:
        options["libraries"] = ["ssl", "crypto"]
    return options


def check_tools():
    """Says what is missing, and how to get it, before a compiler does in its own words."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    needs = [("the headers of C", "#include <stdio.h>\n", "libc6-dev", "glibc-devel"),
             ("the headers of Python", "#include <Python.h>\n", "python3-dev", "python3-devel")]
    if not uses_system_library():
        needs.append(("the headers of OpenSSL 3", "#include <openssl/ssl.h>\n"
                      "#if OPENSSL_VERSION_MAJOR < 3\n#error too old\n#endif\n",
                      "libssl-dev", "openssl-devel"))
    for what, text, debian, fedora in needs:
        try:
            asked = subprocess.run(
                [*compiler, "-fsyntax-only", "-xc", "-I" + sysconfig.get_paths()["include"], "-"],
                input=text, capture_output=True, text=True, check=False)
        except OSError:
            fail(f"the C compiler '{compiler[0]}' is not installed. Debian and Ubuntu: apt-get "
                 "install gcc libc6-dev libssl-dev python3-dev")
        if asked.returncode:
            fail(f"{what} not found. Debian and Ubuntu: apt-get install {debian}. Fedora: dnf "
                 f"install {fedora}", *asked.stderr.strip().splitlines()[:3])
