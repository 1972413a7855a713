#!/usr/bin/env python3
"""remote_shell.py HOST WORD ...: stands in for ssh. As ssh does, it joins the words by spaces and has a shell evaluate them,
in a session and an environment of its own, forwards standard input, and closes it there when it ends or is killed itself.
Writes a line to $SHELL_LOG for every command: host, words, and the identifier of the process. $SHELL_WAIT delays it."""
import fcntl
import os
import signal
import subprocess
import sys
import time


def main():
    host, command = sys.argv[1], " ".join(sys.argv[2:])
    if os.environ.get("SHELL_STOPS") == host:
        while True:
            os.kill(os.getpid(), signal.SIGTTIN)
    time.sleep(float(os.environ.get("SHELL_WAIT", "0")))
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "STANDS_FOR": host}
    remote = subprocess.Popen(["sh", "-c", command], stdin=subprocess.PIPE, env=environment, start_new_session=True)
    with open(os.environ["SHELL_LOG"], "a", encoding="utf-8") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        log.write(f"{host} {os.getpid()} {remote.pid} {command}\n")
    os.set_blocking(0, False)
    while remote.poll() is None:
        try:
            data = os.read(0, 4096)
        except BlockingIOError:
            time.sleep(0.01)
            continue
        try:
            if not data:
                break
            os.write(remote.stdin.fileno(), data)
        except BrokenPipeError:
            break
    remote.stdin.close()
    code = remote.wait()
    sys.exit(code if code >= 0 else 255)


main()
