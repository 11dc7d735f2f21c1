# SPDX-License-Identifier: BSD-2-Clause
"""holder.py KIND PLACE: a holder of a lock that reads and writes one number at a resource.

Each line of its input is an operation, TOKEN is 0 where nothing is to be checked; it answers with a line:

    read TOKEN            the number, or "refused"
    write TOKEN NUMBER    "written" or "refused"
    both TOKEN            "halfway", and with the next line of input "written" or "refused": one
                          transaction that reads, and writes one more than it has read
    time TOKEN COUNT      the seconds that COUNT writes took
"""
import contextlib
import http.client
import os
import socket
import subprocess
import sys
import time


class Refused(Exception):
    pass


def sql_of(name):
    """A file of fencing/."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../fencing")
    with open(os.path.join(root, name), encoding="utf-8") as file:
        return file.read()


class Database:
    """Statements between BEGIN and COMMIT; ROLLBACK when one is refused."""

    begin, commit, rollback = "BEGIN", "COMMIT", "ROLLBACK"
    fence = ""  # with %d for the token

    def run(self, statement):
        raise NotImplementedError

    def start(self, token):
        self.run(self.begin)
        if token:
            try:
                self.run(self.fence % token)
            except self.error as error:
                self.run(self.rollback)
                if self.refusal not in str(error):
                    raise
                raise Refused from error

    def finish(self, number):
        if number is not None:
            self.run(f"UPDATE register SET number = {number}")
        self.run(self.commit)

    def read(self, token):
        self.start(token)
        number = self.run("SELECT number FROM register")[0][0]
        self.finish(None)
        return number

    def write(self, token, number):
        self.start(token)
        self.finish(number)

    def halfway(self, token):
        self.start(token)
        return self.run("SELECT number FROM register")[0][0]


class Sqlite(Database):
    begin = "BEGIN IMMEDIATE"
    fence = "INSERT INTO redlock_fence VALUES ('orders', %d)"
    refusal = "a later holder has come"

    def __init__(self, place):
        import sqlite3
        self.error = sqlite3.Error
        self.connection = sqlite3.connect(place, isolation_level=None, timeout=60)

    def run(self, statement):
        return self.connection.execute(statement).fetchall()

    def set_up(self):
        self.run("DROP TABLE IF EXISTS register")
        self.run("DROP TABLE IF EXISTS redlock_fence")
        self.connection.executescript(sql_of("sqlite.sql"))
        self.run("CREATE TABLE register (number INTEGER)")
        self.run("INSERT INTO register VALUES (0)")


class Postgres(Database):
    """PLACE is the directory of the socket, and the database."""

    fence = "SELECT redlock_fence('orders', %d)"
    refusal = "a later holder of orders has come"

    def __init__(self, place):
        import psycopg2
        self.error = psycopg2.Error
        self.connection = psycopg2.connect(host=os.path.dirname(place), dbname=os.path.basename(place), user="postgres")
        self.connection.autocommit = True  # BEGIN and COMMIT are ours

    def run(self, statement):
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else None

    def set_up(self):
        self.run("DROP TABLE IF EXISTS register, redlock_fence; DROP FUNCTION IF EXISTS "
                 "redlock_fence(text, bigint); DROP FUNCTION IF EXISTS redlock_fence_check()")
        self.run(sql_of("postgresql.sql"))
        self.run("CREATE TABLE register (number bigint)")
        self.run("INSERT INTO register VALUES (0)")


class PostgresTrigger(Postgres):
    """Reads by the function, writes by the trigger."""

    def set_up(self):
        super().set_up()
        self.run("CREATE TRIGGER redlock_fence BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON register "
                 "EXECUTE FUNCTION redlock_fence_check('orders')")

    def write(self, token, number):
        try:
            # A replica's sessions call no trigger.
            self.run(f"SET redlock.fence = {token}" if token else "SET session_replication_role = replica")
            self.run(f"UPDATE register SET number = {number}")
        except self.error as error:
            if self.refusal not in str(error):
                raise
            raise Refused from error


class Mariadb(Database):
    """PLACE is the socket, and the database."""

    begin = "START TRANSACTION"
    fence = "CALL redlock_fence('orders', %d)"
    refusal = "a later holder has come"

    def __init__(self, place):
        import pymysql
        self.error = pymysql.Error
        self.socket, self.database = os.path.split(place)
        self.connection = pymysql.connect(unix_socket=self.socket, user="root",
                                          database=self.database, autocommit=True)

    def run(self, statement):
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall()

    def set_up(self):
        for statement in ("DROP TABLE IF EXISTS register", "DROP TABLE IF EXISTS redlock_fence",
                          "DROP PROCEDURE IF EXISTS redlock_fence",
                          "CREATE TABLE register (number BIGINT) ENGINE = InnoDB",
                          "INSERT INTO register VALUES (0)"):
            self.run(statement)
        subprocess.run(["mariadb", "--no-defaults", "-u", "root", "-S", self.socket, self.database],
                       check=True, input=sql_of("mariadb.sql").encode())


class Redis:
    """PLACE is HOST:PORT."""

    def __init__(self, place):
        host, port = place.rsplit(":", 1)
        self.file = socket.create_connection((host, int(port))).makefile("rwb")
        self.script = self.run("SCRIPT", "LOAD", sql_of("redis.lua")).decode()

    def run(self, *words):
        words = [str(word).encode() for word in words]
        self.file.write(b"*%d\r\n" % len(words))
        for word in words:
            self.file.write(b"$%d\r\n%s\r\n" % (len(word), word))
        self.file.flush()
        line = self.file.readline().rstrip()
        if line.startswith(b"-STALE"):
            raise Refused
        if line.startswith(b"-"):
            raise OSError(line.decode())
        if line.startswith(b"$"):
            return None if line == b"$-1" else self.file.read(int(line[1:]) + 2)[:-2]
        return line[1:]

    def fenced(self, token, *words):
        if not token:
            return self.run(*words)
        return self.run("EVALSHA", self.script, 2, "{orders}:fence", words[1], token, *words)

    def set_up(self):
        self.run("DEL", "{orders}:fence", "{orders}:register")

    def read(self, token):
        return int(self.fenced(token, "GET", "{orders}:register") or 0)

    def write(self, token, number):
        self.fenced(token, "SET", "{orders}:register", number)


class File:
    """Each operation is a command: a shell that reads or replaces the file."""

    def __init__(self, place):
        self.place = place

    def run(self, token, line, *words):
        command = ["sh", "-c", line, "sh", self.place, *words]
        if token:
            command = [os.environ["REDLOCK_COMMAND"], "fence", self.place, "--", *command]
        done = subprocess.run(command, env={**os.environ, "REDLOCK_FENCE": str(token)},
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        if done.returncode == 76:
            raise Refused
        if done.returncode:
            raise OSError(f"{command}: {done.returncode}")
        return done.stdout

    def set_up(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.place + ".fence")
        with open(self.place, "w", encoding="ascii") as file:
            file.write("0")

    def read(self, token):
        return int(self.run(token, 'cat "$1"'))

    def write(self, token, number):
        self.run(token, 'echo "$2" >"$1.new" && mv "$1.new" "$1"', str(number))


class Http:
    """PLACE is the port of serve.py, serve.mjs or serve.go; /plain is without a middleware."""

    def __init__(self, place):
        self.connection = http.client.HTTPConnection("127.0.0.1", int(place))

    def run(self, token, method, body=None):
        headers = {"Redlock-Fence": str(token)} if token else {}
        path = "/fenced" if token else "/plain"
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status == 412:
            raise Refused
        if answer.status != 200:
            raise OSError(f"{answer.status} {text}")
        return text

    def set_up(self):
        self.run(0, "PUT", b"0")

    def read(self, token):
        return int(self.run(token, "GET"))

    def write(self, token, number):
        self.run(token, "PUT", str(number).encode())


KINDS = {"sqlite": Sqlite, "postgresql": Postgres, "postgresql-trigger": PostgresTrigger,
         "mariadb": Mariadb, "redis": Redis, "file": File, "http": Http}


def perform(resource, words):
    token = int(words[1])
    if words[0] == "read":
        return resource.read(token)
    if words[0] == "write":
        resource.write(token, int(words[2]))
    elif words[0] == "both":
        number = resource.halfway(token)
        print("halfway", flush=True)
        sys.stdin.readline()
        resource.finish(number + 1)
    elif words[0] == "time":
        began = time.perf_counter()
        for number in range(int(words[2])):
            resource.write(token, number)
        return time.perf_counter() - began
    return "written"


def main():
    resource = KINDS[sys.argv[1]](sys.argv[2])
    if sys.argv[3:] == ["set-up"]:
        resource.set_up()
        return
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            print(perform(resource, line.split()), flush=True)
        except Refused:
            print("refused", flush=True)


if __name__ == "__main__":
    main()
