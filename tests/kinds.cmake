# SPDX-License-Identifier: BSD-2-Clause
# Kinds of locks: the scripts by hand, then each kind by itself.

foreach(name IN ITEMS take_script queue_script hold_script)
    redlock_test(${name} ${name}.c LABELS servers WITH script_calls.c)
endforeach()

redlock_test(reentrant reentrant.c LABELS servers threads WITH reentrant_load.c)
redlock_test(semaphore semaphore.c LABELS servers threads WITH kinds_load.c semaphore_load.c)
redlock_test(shared shared.c LABELS servers threads WITH kinds_load.c shared_load.c)
redlock_test(several several.c LABELS servers threads WITH kinds_load.c)
redlock_test(kinds_life kinds_life.c LABELS servers threads)
redlock_test(kinds_guard kinds_guard.c LABELS servers threads)
