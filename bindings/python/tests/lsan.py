# SPDX-License-Identifier: BSD-2-Clause
"""lsan.py LIBASAN PROGRAM...: runs Python under LeakSanitizer and judges what the library leaks.

The interpreter leaves much behind at its end. Only a leak with a function of the library or of the
binding on its stack counts: no Python ever runs inside these.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

OURS = re.compile(r" in (rlpy_|redlock_|rl_)\w+")


def main():
    with tempfile.TemporaryDirectory() as directory:
        log = os.path.join(directory, "lsan")
        environment = {
            **os.environ, "LD_PRELOAD": sys.argv[1],
            "ASAN_OPTIONS": f"detect_leaks=1:log_path={log}:fast_unwind_on_malloc=1",
            "LSAN_OPTIONS": "exitcode=0:max_leaks=0:report_objects=0",
        }
        status = subprocess.run([sys.executable, "-X", "dev", *sys.argv[2:]], env=environment,
                                check=False).returncode
        reports = ""
        for path in glob.glob(log + ".*"):
            with open(path, encoding="utf-8", errors="replace") as file:
                reports += file.read()
    leaks = re.findall(r"^(?:Direct|Indirect) leak.*?(?=\n\n)", reports, re.MULTILINE | re.DOTALL)
    ours = [leak for leak in leaks if OURS.search(leak)]
    print(f"{len(leaks)} leaks, {len(ours)} of them with the library on their stack")
    for leak in ours:
        print(leak)
    if "LeakSanitizer" not in reports:
        print("LeakSanitizer did not look" + (": " + reports if reports else ""))
        status = status or 1
    sys.exit(status or bool(ours))


main()
