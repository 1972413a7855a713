"""Loads libparley with cffi in ABI mode. The declarations come from parley.h, installed beside the library."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from cffi import FFI

_FOLDER = Path(__file__).parent


def _declarations(header: str) -> str:
    """The part of parley.h that cffi can read: without preprocessor lines, with constants and statuses expanded."""
    statuses = re.findall(r"row\((PARLEY_\w+),", header)
    for name, value in re.findall(r"^#define (PARLEY_\w+) (\d+)$", header, flags=re.MULTILINE):
        header = re.sub(rf"\[{name}\]", f"[{value}]", header)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", header, flags=re.DOTALL)
    text = re.sub(r"^#(?:.*\\\n)*.*$", "", text, flags=re.MULTILINE)
    return text.replace("PARLEY_STATUSES(PARLEY_ROW)", ", ".join(statuses)).replace("PARLEY_API ", "")


ffi = FFI()
ffi.cdef(_declarations((_FOLDER / "parley.h").read_text(encoding="utf-8")))
lib = ffi.dlopen(str(_FOLDER / "libparley.so"))

_EXCEPTIONS = {
    lib.PARLEY_NO_MEMORY: MemoryError,
    lib.PARLEY_NO_FILE: OSError,
    lib.PARLEY_NO_PEER: ConnectionError,
    lib.PARLEY_BROKEN: RuntimeError,
    lib.PARLEY_STOPPED: KeyboardInterrupt,
}


_OK = lib.PARLEY_OK
_FILE_EXCEPTIONS = {errno.ENOENT: FileNotFoundError, errno.EACCES: PermissionError}


def _exception(status: int, sentence: str) -> BaseException:
    if status == lib.PARLEY_NO_FILE:
        for number, narrower in _FILE_EXCEPTIONS.items():
            if os.strerror(number) in sentence:
                return narrower(sentence)
    return _EXCEPTIONS.get(status, ValueError)(sentence)


def _raise(status: int, error: Any) -> None:
    if status != _OK:
        raise _exception(status, ffi.string(error.sentence).decode(errors="replace"))


def call(function: str, *arguments: Any) -> None:
    """Calls a function whose last parameter is the error. A status other than PARLEY_OK raises an exception."""
    error = ffi.new("parley_error *")
    lib.parley_catch_interrupts(1)  # Python only takes note of Ctrl-C until the call returns
    try:
        status = getattr(lib, function)(*arguments, error)
    finally:
        lib.parley_catch_interrupts(0)
    _raise(status, error)


def make(kind: str, function: str, *arguments: Any, after: tuple = (), free: str = "") -> Any:
    """Returns the handle that `function` makes. It is freed with the last reference to it."""
    out = ffi.new(f"parley_{kind} **")
    call(function, *arguments, out, *after)
    return ffi.gc(out[0], getattr(lib, free or f"parley_{kind}_free"))


def text(value: Any) -> str:
    """The value of a setting, written as on the command line."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return "true" if value else "false"
    if type(value) not in (int, float) and isinstance(value, Iterable):
        return ",".join(text(one) for one in value)
    if isinstance(value, int) or float(value).is_integer() and abs(value) < 2**53:
        return str(int(value))
    return repr(float(value))


@lru_cache(maxsize=64)
def _settings(values: tuple[tuple[str, str], ...]) -> Any:
    handle, error = make("settings", "parley_settings_new"), ffi.new("parley_error *")
    for name, value in values:
        _raise(lib.parley_settings_set(handle, name.rstrip("_").encode(), value.encode(), error), error)
    return handle


def settings(values: Mapping[str, Any]) -> Any:
    """Settings by name; None keeps the default. `lambda_` stands for `lambda`, which is reserved in Python.

    The core only reads them, so that fits with the same values share them."""
    return _settings(tuple([(name, text(value)) for name, value in values.items() if value is not None]))


def string(pointer: Any) -> str | None:
    return ffi.string(pointer).decode() if pointer else None


def named(function: str, handle: Any, count: int) -> list[str] | None:
    """Names of columns or classes; None if the first has no name."""
    size, names = ffi.new("uint64_t *"), []
    for i in range(count):
        pointer = getattr(lib, function)(handle, i, size)
        if i == 0 and not size[0]:
            return None
        names.append(ffi.unpack(ffi.cast("const char *", pointer), size[0]).decode(errors="replace") if size[0] else "")
    return names


@cache
def _fields(pointer: Any) -> list[tuple[str, bool]]:
    """The names of the fields of a struct, and whether they are text."""
    return [(name, field.type.kind == "pointer") for name, field in pointer.item.fields]


def structure(value: Any) -> dict[str, Any]:
    """Converts the C struct at a pointer to a dict, with strings as text."""
    fields = {}
    for name, is_text in _fields(ffi.typeof(value)):
        one = getattr(value, name)
        fields[name] = string(one) if is_text else one
    return fields


def version() -> str:
    return ffi.string(lib.parley_version()).decode()
