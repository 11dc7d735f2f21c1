# SPDX-License-Identifier: BSD-2-Clause
"""run.py REDLOCKD NAME [CLASS[.TEST]...]: the tests of test_NAME.py, against this binary."""
import faulthandler
import os
import sys
import unittest

faulthandler.enable()
# Before the container kills it without a word (tests/CMakeLists.txt).
faulthandler.dump_traceback_later(int(os.environ.get('REDLOCK_LIMIT_S', '580')), exit=True)
os.environ['REDLOCKD'] = os.path.realpath(sys.argv[1])
result = unittest.main('test_' + sys.argv[2], argv=['run.py', *sys.argv[3:]], verbosity=2, exit=False).result
if not result.wasSuccessful():
    sys.exit(1)
sys.exit(77 if len(result.skipped) >= max(result.testsRun, 1) else 0)  # 77: ctest says "skipped"
