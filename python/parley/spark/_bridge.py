"""The program that `parley launch` runs in place of ssh: it connects the launcher with the task that starts the rank.
It sends the command to the driver, forwards its standard input, and ends with the exit code of the rank."""

import os
import select
import socket
import struct
import sys


def main() -> int:
    driver = socket.socket(socket.AF_UNIX)
    driver.connect(os.environ["PARLEY_BRIDGE"])
    command = sys.argv[2].encode()
    driver.sendall(struct.pack(">I", len(command)) + command)
    inputs = [driver, 0]
    while True:
        ready, _, _ = select.select(inputs, [], [])
        if driver in ready:
            answer = driver.recv(1)
            return answer[0] if answer else 255
        data = os.read(0, 65536)
        if data:
            driver.sendall(data)
        else:
            inputs.remove(0)
            driver.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    sys.exit(main())
