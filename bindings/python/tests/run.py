# SPDX-License-Identifier: BSD-2-Clause
"""run.py MODULE [NAME...]: the tests of a module, inside `redlock dev -c 3 --`."""
import faulthandler
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
faulthandler.enable()
# Before the container kills it without a word.
faulthandler.dump_traceback_later(int(os.environ.get("REDLOCK_LIMIT_S", "280")), exit=True)
# Children of the tests find the package where this program has it from.
os.environ["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
unittest.main(module=sys.argv[1], argv=["run.py", *sys.argv[2:]], verbosity=2, warnings="always")
