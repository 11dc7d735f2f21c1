# SPDX-License-Identifier: BSD-2-Clause
"""The client for threads: one lock through its life, signals, fork."""
import dataclasses
import os
import signal
import tempfile
import threading
import time
from unittest import mock

import redlock_native as redlock
from redlock_native import Lock, State, _jobs
from support import PATIENCE_S, Case, ask, delete_everywhere, dev, fresh, nodes_with, start, until


class Life(Case):
    def setUp(self):
        super().setUp()
        self.client = redlock.Client()
        self.addCleanup(self.client.close)

    def test_held_in_the_body_and_free_after_it(self):
        name = fresh()
        with self.client.lock(name, ttl=30, fenced=True, label="a test") as lock:
            self.assertTrue(lock.held)
            self.assertGreater(lock.fence, 0)
            self.assertTrue(0 < lock.remaining <= 30)
            lock.extend(20)
            lock.check()
            self.assertEqual(self.client.query(name).holder.label, "a test")
            self.assertIn(name, self.client.list())
            with self.assertRaises(redlock.LockBusy) as busy:
                self.client.acquire(name)
            self.assertEqual(busy.exception.report.holder.label, "a test")
            with self.assertRaises(redlock.LockTimeout):
                self.client.lock(name, wait=2).acquire()
            with self.assertRaises(redlock.InvalidRequest):
                lock.acquire()
        self.assertIs(lock.state, State.RELEASED)
        self.assertEqual(nodes_with(name), 0)
        with self.assertRaises(redlock.InvalidRequest):
            lock.release()

    def test_kinds_and_questions(self):
        name = fresh()
        with self.client.shared(name), self.client.shared(name):
            pass
        with self.client.semaphore(name, 2) as slot:
            self.assertIn(slot.slot, (1, 2))
        with self.client.reentrant(name, "me"), self.client.reentrant(name, "me", wait=0):
            pass
        with self.client.lock(name, fresh("second"), fair=True):
            fingerprint = self.client.query(name).holders[0].fingerprint
        with self.assertRaises(redlock.LockExpired):
            self.client.break_lock(name, fingerprint)
        self.assertEqual(len(self.client.ping().nodes), 3)
        self.assertIn("reachable", {check.name for check in self.client.audit()})

    def test_many_threads_never_two_at_once(self):
        name, inside, count, wrong = fresh(), [], [], []

        def worker():
            for _ in range(10):
                with self.client.lock(name):
                    inside.append(1)
                    if len(inside) != 1:
                        wrong.append(len(inside))
                    time.sleep(0.001)
                    inside.pop()
                    count.append(1)

        threads = [threading.Thread(target=worker) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(count), wrong), (60, []))

    def test_other_threads_run_while_one_waits(self):
        name = fresh()

        def wait():
            with self.assertRaises(redlock.LockTimeout):
                self.client.lock(name, wait=2).acquire()

        with self.client.lock(name):
            waiter = threading.Thread(target=wait)
            waiter.start()
            turns = 0
            while waiter.is_alive():
                turns += 1
            waiter.join()
        self.assertGreater(turns, 1000)

    def test_a_loss_sets_the_event_calls_back_and_raises(self):
        name, told = fresh(), threading.Event()
        with self.assertLogs("redlock_native", "WARNING") as log:
            with self.assertRaises(redlock.LockLost) as raised:
                with self.client.lock(name, ttl=2, on_lost=lambda lock: told.set()) as lock:
                    delete_everywhere(name)
                    self.assertTrue(lock.lost.wait(PATIENCE_S))
                    self.assertTrue(told.wait(PATIENCE_S))
                    self.assertIs(lock.state, State.LOST)
                    with self.assertRaises(redlock.LockLost):
                        lock.check()
            until(lambda: log.output, "the log, which is written last")
        self.assertTrue(raised.exception.detail)

    def test_the_bodys_own_exception_is_the_one_that_is_raised(self):
        name = fresh()
        with self.assertRaises(ZeroDivisionError):
            with self.client.lock(name):
                1 / 0
        self.assertEqual(nodes_with(name), 0)
        with self.assertLogs("redlock_native", "WARNING"), self.assertRaises(ZeroDivisionError):
            with self.client.lock(name, ttl=2) as lock:
                delete_everywhere(name)
                lock.lost.wait(PATIENCE_S)
                1 / 0

    def test_an_exception_in_a_callback_is_logged(self):
        name = fresh()

        def fail(lock):
            raise ZeroDivisionError("in a callback")

        with self.assertLogs("redlock_native", "ERROR") as logged:
            with self.assertRaises(redlock.LockLost):
                with self.client.lock(name, ttl=2, on_lost=fail):
                    delete_everywhere(name)
                    until(lambda: any("callback" in line or "function" in line
                                      for line in logged.output), "the complaint")

    def test_closing_ends_a_wait_in_another_thread(self):
        name, caught, waiting = fresh(), [], threading.Event()
        other = redlock.Client()

        def wait():
            try:
                other.lock(name, on_queued=lambda *_: waiting.set()).acquire()
            except redlock.Error as error:
                caught.append(error)

        with self.client.lock(name):
            thread = threading.Thread(target=wait)
            thread.start()
            self.assertTrue(waiting.wait(PATIENCE_S))
            other.close()
            thread.join(PATIENCE_S)
        self.assertIsInstance(caught[0], redlock.Canceled)
        with self.assertRaises(redlock.InvalidRequest):
            other.lock(name).acquire()

    def test_closing_tells_a_body_in_another_thread(self):
        name, inside, closed = fresh(), threading.Event(), threading.Event()
        other, told, ends, states = redlock.Client(), [], [], []

        def work():
            try:
                with other.lock(name, on_lost=told.append) as lock:
                    inside.set()
                    ends.append(lock.lost.wait(PATIENCE_S))
                    closed.wait(PATIENCE_S)
                    states.append(lock.state)
            except redlock.Error as error:
                ends.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        self.assertTrue(inside.wait(PATIENCE_S))
        with self.assertLogs("redlock_native", "WARNING"):
            other.close()
        closed.set()
        thread.join(PATIENCE_S)
        self.assertIs(ends[0], True)
        self.assertEqual(states, [State.LOST])
        self.assertIsInstance(ends[1], redlock.LockLost)
        self.assertIn("closed", str(ends[1]))
        self.assertEqual([lock.name for lock in told], [name])
        self.assertIs(told[0].state, State.LOST)
        with self.assertRaises(redlock.LockLost):
            told[0].release()
        self.assertEqual(nodes_with(name), 0)

    def test_a_body_is_told_while_close_runs(self):
        """The servers hang, so that close() takes its time with the release."""
        order, other = [], redlock.Client(node_timeout=20)

        def close():
            other.close()
            order.append("closed")

        closer = threading.Thread(target=close)
        with self.assertLogs("redlock_native", "WARNING"), self.assertRaises(redlock.LockLost):
            with other.lock(fresh(), ttl=60) as lock:
                for node in (1, 2, 3):
                    self.addCleanup(dev, "resume", node)
                    dev("hang", node)
                closer.start()
                self.assertTrue(lock.lost.wait(PATIENCE_S))
                self.assertFalse(lock.held)  # which waits for nothing, either
                order.append("told")
                for node in (1, 2, 3):
                    dev("resume", node)
        closer.join(PATIENCE_S)
        self.assertEqual(order, ["told", "closed"])

    def test_a_function_that_is_called_may_use_the_client_and_close_it(self):
        name, seen, done = fresh(), [], threading.Event()
        other = redlock.Client()

        def on_lost(lock):
            seen.append(other.query(lock.name).held)
            other.close()
            done.set()

        with self.assertLogs("redlock_native", "WARNING"), self.assertRaises(redlock.LockLost):
            with other.lock(name, ttl=2, on_lost=on_lost):
                delete_everywhere(name)
                self.assertTrue(done.wait(PATIENCE_S))
        self.assertEqual(seen, [False])

    def test_an_interrupt_in_the_moment_of_the_grant_leaves_nothing(self):
        name, real = fresh(), Lock._acquire

        def interrupted(lock):
            real(lock)
            raise KeyboardInterrupt

        for keep in (False, True):
            with mock.patch.object(Lock, "_acquire", interrupted):
                with self.assertRaises(KeyboardInterrupt):
                    self.client.lock(name, ttl=20, keep=keep).acquire()
            self.assertEqual(self.client.stats()["left"], 0)
            until(lambda: nodes_with(name) == 0, "the release")

    def test_an_answer_may_come_before_the_call_that_asked_returns(self):
        def ping_slowly(quorum, real=_jobs.ping):
            def start_slowly(*arguments):
                error = job.start(*arguments)
                time.sleep(0.3)  # the nodes have answered
                return error

            job = real(quorum)
            return dataclasses.replace(job, start=start_slowly)

        with mock.patch.object(_jobs, "ping", ping_slowly):
            pinging = threading.Thread(target=self.client.ping, daemon=True)
            pinging.start()
            pinging.join(PATIENCE_S)
        self.assertFalse(pinging.is_alive())

    def test_one_lock_is_of_one_thread_at_a_time(self):
        name, waiting = fresh(), threading.Event()
        with self.client.lock(name):
            shared = self.client.lock(name, wait=20, on_queued=lambda *_: waiting.set())
            thread = threading.Thread(target=shared.acquire)
            thread.start()
            self.assertTrue(waiting.wait(PATIENCE_S))
            with self.assertRaises(redlock.InvalidRequest):
                shared.acquire()
        thread.join(PATIENCE_S)
        shared.release()


class Processes(Case):
    def test_interrupt_ends_a_wait(self):
        name = fresh()
        with redlock.Client() as client, client.lock(name):
            program = start(f"""
                import redlock_native as redlock, sys
                client = redlock.Client()
                try:
                    client.lock({name!r}, on_queued=lambda *_: print("waits", flush=True)).acquire()
                except KeyboardInterrupt:
                    print("interrupted", client.stats()["waiting"], flush=True)
                    client.close()
                """)
            self.assertEqual(program.stdout.readline(), "waits\n")
            program.send_signal(signal.SIGINT)
            self.assertEqual(program.stdout.readline(), "interrupted 0\n")
            self.assertEqual(program.communicate(timeout=PATIENCE_S)[1], "")
            self.assertEqual(program.returncode, 0)

    def test_a_child_of_fork_is_told_and_leaves_the_parents_lock_alone(self):
        name = fresh()
        with redlock.Client() as client, client.lock(name) as lock:
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    for forbidden in (lock.release, lock.extend, client.list, client.nodes,
                                      lambda: client.lock(name).acquire()):
                        try:
                            forbidden()
                            os._exit(2)
                        except redlock.Forked as error:
                            assert "child must open its own" in str(error)
                    client.close()
                    with redlock.Client() as own:  # as after a pre-forking server's fork
                        with own.lock(name + "-child"):
                            status = 0 if own.query(name).held else 3
                finally:
                    os._exit(status)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            lock.check()
            self.assertGreaterEqual(nodes_with(name), 2)

    def test_counting_by_processes_is_exact(self):
        name, path = fresh(), f"/tmp/{fresh()}.count"
        with open(path, "w", encoding="ascii") as counter:
            counter.write("0")
        self.addCleanup(os.unlink, path)
        code = """
            import redlock_native as redlock, sys, time
            with redlock.Client() as client:
                for _ in range(15):
                    with client.lock(sys.argv[1]):
                        count = int(open(sys.argv[2]).read())
                        time.sleep(0.001)
                        open(sys.argv[2], "w").write(str(count + 1))
            """
        programs = [start(code, name, path) for _ in range(4)]
        for program in programs:
            program.communicate(timeout=PATIENCE_S)
            self.assertEqual(program.returncode, 0)
        with open(path, encoding="ascii") as counter:
            self.assertEqual(counter.read(), "60")

    def test_the_end_of_the_interpreter_releases_what_is_held(self):
        name = fresh()
        program = start(f"""
            import redlock_native as redlock
            client = redlock.Client()
            lock = client.lock({name!r}).acquire()
            """)
        err = program.communicate(timeout=PATIENCE_S)[1]
        self.assertEqual(program.returncode, 0, err)
        self.assertEqual(nodes_with(name), 0)

    def test_the_end_of_the_interpreter_tells_of_what_has_happened(self):
        """The program ends as soon as the library knows of the loss, whatever else does."""
        program = start(f"""
            import redlock_native as redlock, support
            client = redlock.Client()
            lock = client.acquire({fresh()!r}, ttl=2, renew=True,
                                  on_lost=lambda lock: print("told", flush=True))
            support.delete_everywhere(lock.name)
            while lock.held:
                pass
            """)
        out, err = program.communicate(timeout=PATIENCE_S)
        self.assertEqual((out, program.returncode), ("told\n", 0), err)

    def test_a_dropped_lock_is_released_with_a_warning(self):
        name = fresh()
        with redlock.Client() as client:
            with self.assertWarns(ResourceWarning):
                client.lock(name).acquire()
            until(lambda: nodes_with(name) == 0, "the release")

    def test_a_killed_holder_frees_it_with_its_ttl(self):
        name = fresh()
        program = start(f"""
            import redlock_native as redlock, sys, time
            with redlock.Client() as client, client.lock({name!r}, ttl=2):
                print("held", flush=True)
                time.sleep(1000)
            """)
        self.assertEqual(program.stdout.readline(), "held\n")
        program.kill()
        program.communicate()
        with redlock.Client() as client, client.lock(name, wait=PATIENCE_S):
            pass


class Passwords(Case):
    def extends(self, lock):
        """False: connections that were ended are not made again yet."""
        try:
            lock.extend(40)
        except redlock.NoQuorum:
            return False
        return True

    def test_a_lock_outlives_the_rotation_of_its_password(self):
        name = fresh()
        rights = "~redlock*", "&redlock*", "+@all"
        with tempfile.TemporaryDirectory() as directory:
            path, command = directory + "/password", directory + "/command"
            with open(command, "w", encoding="ascii") as file:
                file.write(f"#!/bin/sh\ncat {path}\n")
            os.chmod(command, 0o700)
            for options in {"password_file": path}, {"password_command": command}:
                with open(path, "w", encoding="ascii") as file:
                    file.write("old\n")
                for n in range(3):
                    ask(n, "ACL", "SETUSER", "friend", "reset", "on", ">old", *rights)
                with redlock.Client(username="friend", password_max_age=60, **options) as client:
                    with client.lock(name, ttl=30, wait=PATIENCE_S) as lock:
                        with open(path, "w", encoding="ascii") as file:
                            file.write("new\n")
                        for n in range(3):
                            ask(n, "ACL", "SETUSER", "friend", "resetpass", ">new")
                            ask(n, "CLIENT", "KILL", "USER", "friend")
                        until(lambda: self.extends(lock), "new logins")
                        self.assertGreater(lock.remaining, 30)
        with self.assertRaisesRegex(redlock.InvalidRequest, "absolute path"):
            redlock.Client(password_command="cat password")


class Profiles(Case):
    def test_correctness_gives_tokens_and_refuses_kinds_without(self):
        with redlock.Client(profile="correctness", node_timeout=2) as client:
            with client.lock(fresh(), wait=PATIENCE_S) as lock:
                self.assertGreater(lock.fence, 0)
            with self.assertRaisesRegex(redlock.InvalidRequest, "no fencing token: use a mutex"):
                client.acquire(fresh(), kind=redlock.Kind.SHARED)
        with self.assertRaisesRegex(redlock.InvalidRequest, "efficiency nor correctness"):
            redlock.Client(profile="speed")
