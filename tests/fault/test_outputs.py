#!/usr/bin/env python3
"""test_outputs.py PARLEY [NAME ...]: what systems do to the files that a run writes: two runs at once, limits, full and
read-only disks, closed streams, links, killed runs. Tests that need root say so if they are skipped."""
import contextlib
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LONGEST = 60  # seconds that anything may take
LONG = ["--preset", "ma-sgd", "--workers", "2", "--exchange-delay", "0.01", "--rounds", "100000000", "--gap", "0", "--threads", "1"]
SKIPPED = "skipped"
parley = None


def say(done):
    return f"exit code {done.returncode}, printed {done.stdout[-300:]!r}, said {done.stderr[-600:]!r}"


def run(*words, **options):
    options = {"capture_output": True, "text": True, "timeout": LONGEST, "stdin": subprocess.DEVNULL, **options}
    return subprocess.run([parley, *map(str, words)], check=False, **options)


def check(fact, text):
    if not fact:
        raise AssertionError(text)


def one_sentence(done, *parts):
    """The run failed with one sentence that has these parts."""
    lines = done.stderr.splitlines()
    check(done.returncode == 1 and len(lines) == 1 and lines[0].startswith("parley: "), say(done))
    for part in parts:
        check(part in lines[0], f"no {part!r}: {say(done)}")


def in_use(done, *parts):
    one_sentence(done, "in use by process", socket.gethostname(), "wait until it ends", *parts)


def left(folder):
    return sorted(p.name for p in Path(folder).rglob("*") if ".tmp-" in p.name or p.name.endswith(".lock"))


@contextlib.contextmanager
def running(folder, *words, until, starter=()):
    """A run that lasts until it is stopped; waits until the file `until` exists."""
    process = subprocess.Popen(
        [parley, *starter, "train", "data.svm", *LONG, *map(str, words)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        wait_for(lambda: (folder / until).exists() and (folder / until).stat().st_size > 0, until, process)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stderr.close()


def wait_for(fact, what, process=None):
    end = time.monotonic() + LONGEST
    while not fact():
        if process and process.poll() is not None:
            raise AssertionError(f"the run ended before there was {what}: {process.stderr.read()}")
        check(time.monotonic() < end, f"there was no {what}")
        time.sleep(0.01)


def short(*words):
    return ["train", "data.svm", "--rounds", "3", "--threads", "1", "--quiet", *words]


def wanted(folder):
    """The bytes of the model of `short`."""
    done = run(*short("--model", "reference.safetensors"), cwd=folder)
    check(done.returncode in (0, 3), say(done))
    return (folder / "reference.safetensors").read_bytes()


def second_run_is_refused(folder):
    """Model, log and folder of checkpoints have one owner; a killed owner does not count."""
    outputs = {
        "model": (["--model", "m.safetensors"], "m.safetensors", "m.safetensors.lock"),
        "log": (["--log", "l.jsonl"], "l.jsonl", "l.jsonl.lock"),
        "checkpoint": (["--checkpoint", "state", "--resume", "state"], "state", "state/parley.lock"),
    }
    for name, (words, path, lock) in outputs.items():
        other = [] if name == "model" else ["--model", "first.safetensors"]
        mine = [] if name == "model" else ["--model", "second.safetensors"]
        with running(folder, *words, *other, "--quiet", until=lock) as first:
            before = sorted((p, p.stat().st_size) for p in folder.rglob("*") if name == "model" and p.is_file())
            refused = run(*short(*words, *mine), cwd=folder)
            in_use(refused, f"{path}: ", f"process {first.pid} on", "parley train data.svm")
            after = sorted((p, p.stat().st_size) for p in folder.rglob("*") if name == "model" and p.is_file())
            check(before == after, f"the refused run changed files: {before}, {after}")
            first.kill()
            first.wait()
            check((folder / lock).exists(), "the lock of a killed run was expected to stay")
            done = run(*short(*words, *mine), cwd=folder)
            check(done.returncode in (0, 3), say(done))
        check(name != "model" or (folder / "m.safetensors").read_bytes() == wanted(folder), "the model is another one")
        (folder / "first.safetensors.lock").unlink(missing_ok=True)
        check(not left(folder), f"left: {left(folder)}")


def second_launched_run_is_refused(folder):
    """Rank 0 has the locks of a run on several ranks."""
    with running(folder, "--model", "m.safetensors", "--quiet", until="m.safetensors.lock", starter=["launch", "-n", "2", "--"]):
        in_use(run(*short("--model", "m.safetensors"), cwd=folder), "m.safetensors: ")
        in_use(run("launch", "-n", "2", "--", *short("--model", "m.safetensors"), cwd=folder), "m.safetensors: ")


def restart_is_not_refused(folder):
    """A run that `launch` starts again takes the locks of its predecessor, though they have been left."""
    flags = ["--checkpoint", "state", "--checkpoint-every", "0.1s", "--log", "l.jsonl", "--model", "m.safetensors", "--seconds", "3"]
    command = ["launch", "-n", "2", "--restarts", "2", "--", "train", "data.svm", *LONG, *flags, "--deadline", "5", "--quiet"]
    process = subprocess.Popen([parley, *command], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: list(folder.glob("state/round-*.safetensors")), "checkpoint", process)
        ranks = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(ranks[0]), signal.SIGKILL)  # the guard of rank 0; its rank dies a moment later
        said = process.communicate(timeout=LONGEST)[1]
    finally:
        process.kill()
        process.wait()
    check(process.returncode == 0 and "in use" not in said and "restarting" in said, f"{process.returncode}: {said}")
    check((folder / "m.safetensors").exists() and not left(folder), f"left: {left(folder)}")


def lock_of_another_machine(folder):
    """The words of a lock decide if the kernel cannot: another machine, or this one before it was started again."""
    lock = folder / "m.safetensors.lock"
    words = "host {host}\nprocess {process}\nstart 1\nboot {boot}\njob \nsince 2026-01-01 00:00:00 UTC\nrun parley train x\n"
    lock.write_text(words.format(host="another-host", process=os.getpid(), boot="0"))
    refused = run(*short("--model", "m.safetensors"), cwd=folder)
    one_sentence(refused, f"process {os.getpid()} on another-host since 2026-01-01", "(parley train x)", "remove m.safetensors.lock")
    check(lock.exists(), "the lock of another machine was removed")
    lock.write_text(words.format(host=socket.gethostname(), process=os.getpid(), boot="0"))
    done = run(*short("--model", "m.safetensors"), cwd=folder)
    check(done.returncode in (0, 3) and not left(folder), say(done))
    lock.write_text("job slurm-7/0\n" + words.format(host="another-host", process=1, boot="0").replace("job \n", ""))
    for attempt, code in ((0, 1), (1, 0)):
        environment = {**os.environ, "SLURM_JOB_ID": "7", "SLURM_RESTART_COUNT": str(attempt)}
        done = run(*short("--model", "m.safetensors"), cwd=folder, env=environment)
        check((done.returncode == 1) == (code == 1), f"attempt {attempt}: {say(done)}")


def lock_of_another_user(folder):
    """A dead run's lock is taken over though its file belongs to another user."""
    if os.geteuid() != 0:
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="parley-outputs-", dir="/tmp") as name:  # where every user may look
        place = Path(name)
        for file in (parley, folder / "data.svm"):
            shutil.copy(file, place)
        (place / "m.safetensors.lock").write_text("host x\nprocess 0\n")
        place.chmod(0o777)
        command = [str(place / Path(parley).name), *short("--model", "m.safetensors")]
        done = subprocess.run(
            command, cwd=place, capture_output=True, text=True, timeout=LONGEST, user=65534, group=65534, check=False
        )
        check(done.returncode in (0, 3) and not left(place), say(done))
    return None


def file_size_limit_is_a_message(folder):
    """A write beyond `ulimit -f` fails with a sentence, and the old model stays."""
    (folder / "m.safetensors").write_bytes(b"old")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

    flags = ["--columns", "1000", "--rows", "50", "--nonzeros", "5", "--quiet"]
    check(run("generate", "text", "wide.svm", *flags, cwd=folder).returncode == 0, "no data")
    done = run("train", "wide.svm", "--model", "m.safetensors", "--quiet", cwd=folder, preexec_fn=limit)
    one_sentence(done, "m.safetensors: cannot write: File too large")
    check((folder / "m.safetensors").read_bytes() == b"old" and not left(folder), f"left: {left(folder)}")
    done = run("convert", "wide.svm", "out.svm", "--quiet", cwd=folder, preexec_fn=limit)
    one_sentence(done, "out.svm: cannot write: File too large")


def closed_streams_are_not_files(folder):
    """Messages never go into the log or the model, though their stream is closed."""
    reference = wanted(folder)
    for closed in (">&-", "2>&-", "<&-", "<&- >&- 2>&-"):
        words = " ".join(short("--model", "m.safetensors", "--log", "l.jsonl")).replace(" --quiet", "")
        subprocess.run(["bash", "-c", f"'{parley}' {words} {closed}"], cwd=folder, capture_output=True, timeout=LONGEST, check=False)
        lines = (folder / "l.jsonl").read_text().splitlines()
        check(all(line.startswith('{"event":') for line in lines) and len(lines) == 5, f"{closed}: the log has {lines}")
        check((folder / "m.safetensors").read_bytes() == reference, f"{closed}: the model is another one")
    done = subprocess.run(
        ["bash", "-c", f"'{parley}' predict m.safetensors data.svm >&-"], cwd=folder, capture_output=True, text=True, timeout=LONGEST, check=False
    )
    one_sentence(done, "standard output: cannot write")


def links_and_modes_stay(folder):
    """A model is replaced behind a link, and keeps the mode of the file before it."""
    reference = wanted(folder)
    (folder / "store").mkdir()
    real = folder / "store" / "real.safetensors"
    real.write_bytes(b"old")
    real.chmod(0o640)
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("store/real.safetensors")
    if os.geteuid() == 0:
        os.chown(real, 12345, 23456)
    done = run(*short("--model", "a"), cwd=folder)
    check(done.returncode in (0, 3), say(done))
    check((folder / "a").is_symlink() and (folder / "b").is_symlink(), "a link was replaced")
    check(real.read_bytes() == reference, "the model is not behind the link")
    facts = real.stat()
    check(facts.st_mode & 0o7777 == 0o640, f"the mode is {facts.st_mode:o}")
    check(os.geteuid() != 0 or (facts.st_uid, facts.st_gid) == (12345, 23456), f"the owner is {facts.st_uid}:{facts.st_gid}")
    (folder / "c").symlink_to("store/new.safetensors")  # to a file that does not exist yet
    done = run(*short("--model", "c"), cwd=folder)
    check(done.returncode in (0, 3) and (folder / "store" / "new.safetensors").read_bytes() == reference, say(done))
    check((folder / "store" / "new.safetensors").stat().st_mode & 0o777 == 0o666 & ~UMASK, "the mode of a new file")
    (folder / "d").symlink_to("d")
    done = run(*short("--model", "d"), cwd=folder)
    check(done.returncode == 1 and "symbolic link" in done.stderr, say(done))


def temporary_files_of_killed_runs_go(folder):
    """The next run that writes the same file removes what a killed one has left, and nothing else."""
    fifo = folder / "in"
    os.mkfifo(fifo)
    flags = ["--rows", "100000", "--columns", "400", "--nonzeros", "20", "--quiet"]
    process = subprocess.Popen([parley, "generate", "text", "out.svm", *flags], cwd=folder)
    try:
        wait_for(lambda: list(folder.glob("out.svm.tmp-*")), "temporary file")
        process.kill()
        process.wait()
        dead = list(folder.glob("out.svm.tmp-*"))
        check(len(dead) == 1, f"the killed run left {dead}")
    finally:
        process.kill()
        process.wait()
    other = folder / "out.svm.tmp-00000000-1-0"  # of another machine, which may still write it
    other.write_bytes(b"")
    mine = folder / "out.svm.tmp-notes"
    mine.write_bytes(b"")
    check(run("convert", "data.svm", "out.svm", "--quiet", cwd=folder).returncode == 0, "convert failed")
    check(left(folder) == sorted([other.name, mine.name]), f"left: {left(folder)}")
    old = time.time() - 10000
    os.utime(other, (old, old))
    check(run("convert", "data.svm", "out.svm", "--quiet", cwd=folder).returncode == 0, "convert failed")
    check(left(folder) == [mine.name], f"left: {left(folder)}")


def small_descriptor_limit_is_a_message(folder):
    """With few descriptors a run succeeds or prints one sentence."""
    reference = wanted(folder)
    codes = set()
    for most in range(3, 12):
        (folder / "m.safetensors").write_bytes(b"old")
        shutil.rmtree(folder / "state", ignore_errors=True)
        done = run(
            *short("--model", "m.safetensors", "--log", "l.jsonl", "--checkpoint", "state"),
            cwd=folder,
            preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)),
        )
        codes.add(done.returncode)
        if done.returncode in (0, 3):
            check((folder / "m.safetensors").read_bytes() == reference, f"ulimit -n {most}: the model is another one")
        elif done.returncode != 127:  # the dynamic loader could not open a library
            one_sentence(done)
            check((folder / "m.safetensors").read_bytes() == b"old", f"ulimit -n {most}: the old model is gone")
        check(not left(folder), f"ulimit -n {most}, left: {left(folder)}")
    check(1 in codes and codes & {0, 3}, f"exit codes {codes}")


def mounted(folder, options, script):
    """Runs a script in a mount namespace with a file system at folder/disk. Returns None if that is not permitted."""
    (folder / "disk").mkdir(exist_ok=True)
    tried = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    if os.geteuid() != 0 or tried.returncode != 0:
        return None
    whole = f"mount -t tmpfs -o {options} none disk && {script}"
    environment = {**os.environ, "PARLEY": parley, "TMPDIR": str(folder / "kept")}
    (folder / "kept").mkdir(exist_ok=True)
    return subprocess.run(
        ["unshare", "-m", "bash", "-c", whole], cwd=folder, capture_output=True, text=True, timeout=LONGEST, env=environment, check=False
    )


def full_disk_keeps_the_model(folder):
    """If the disk fills up during training, the model is written elsewhere, and the message says where."""
    flags = ["--columns", "4000", "--rows", "50", "--nonzeros", "5", "--quiet"]
    check(run("generate", "text", "wide.svm", *flags, cwd=folder).returncode == 0, "no data")
    check(run("train", "wide.svm", "--model", "wide.safetensors", "--quiet", cwd=folder).returncode == 0, "no model")
    script = '"$PARLEY" train wide.svm --model disk/m.safetensors --quiet; code=$?; ls disk; cat disk/m.safetensors; exit $code'
    done = mounted(folder, "size=16k", f"echo old > disk/m.safetensors; {script}")
    if done is None:
        return SKIPPED
    one_sentence(done, "disk/m.safetensors: cannot write: No space left on device; the model is kept in ")
    kept = Path(done.stderr.strip().rsplit(" ", 1)[1])
    check(str(kept).startswith(str(folder / "kept")) and kept.read_bytes() == (folder / "wide.safetensors").read_bytes(), say(done))
    check(done.stdout == "m.safetensors\nold\n", say(done))
    return None


def read_only_disk_is_a_message(folder):
    """A disk that cannot be written is named before data are read, and one that becomes so is too."""
    script = 'echo old > disk/m.safetensors; mount -o remount,ro disk; "$PARLEY" train data.svm --model disk/m.safetensors --quiet; code=$?; cat disk/m.safetensors; exit $code'
    done = mounted(folder, "size=64k", script)
    if done is None:
        return SKIPPED
    one_sentence(done, "disk/m.safetensors: cannot write to folder disk: Read-only file system")
    check(done.stdout == "old\n", say(done))
    script = '"$PARLEY" convert data.svm disk/out.svm; a=$?; "$PARLEY" generate text disk/x.svm --quiet; exit $a'
    done = mounted(folder, "size=64k,ro", script)
    lines = done.stderr.splitlines()
    check(done.returncode == 1 and len(lines) == 2 and all("Read-only file system" in line for line in lines), say(done))
    script = '"$PARLEY" train data.svm --model m.safetensors --checkpoint disk/state --quiet'
    done = mounted(folder, "size=64k,ro", script)
    one_sentence(done, "disk/state: cannot create the folder: Read-only file system")
    return None


TESTS = [
    second_run_is_refused,
    second_launched_run_is_refused,
    restart_is_not_refused,
    lock_of_another_machine,
    lock_of_another_user,
    file_size_limit_is_a_message,
    closed_streams_are_not_files,
    links_and_modes_stay,
    temporary_files_of_killed_runs_go,
    small_descriptor_limit_is_a_message,
    full_disk_keeps_the_model,
    read_only_disk_is_a_message,
]
UMASK = os.umask(0)
os.umask(UMASK)


def main():
    global parley
    parley = str(Path(sys.argv[1]).resolve())
    passed = failed = 0
    for test in TESTS:
        if sys.argv[2:] and test.__name__ not in sys.argv[2:]:
            continue
        with tempfile.TemporaryDirectory(prefix="parley-outputs-") as name:
            folder = Path(name)
            flags = ["--rows", "300", "--columns", "40", "--nonzeros", "8", "--quiet"]
            check(run("generate", "text", "data.svm", *flags, cwd=folder).returncode == 0, "no data")
            try:
                if test(folder) == SKIPPED:
                    print(f"skipped {test.__name__}: it needs root, and mount namespaces")
                    continue
            except (AssertionError, subprocess.TimeoutExpired) as fault:
                failed += 1
                print(f"FAILED {test.__name__}: {fault}")
                continue
        passed += 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
