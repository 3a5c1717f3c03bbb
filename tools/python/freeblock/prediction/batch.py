# SPDX-License-Identifier: GPL-2.0
"""Many disks and many loads: answers as they come, from processes of this machine or
from Dask's workers on several.

A task is a load with disks it is to be predicted for: a trace with all of its, as it is read
once for them. What one item is refused for does not stop the others: an answer can be an
error.
"""

import asyncio
import concurrent.futures
import contextlib
import ctypes
import itertools
import multiprocessing
import os
import signal
import tempfile
import time
import traceback
import zipfile
from concurrent.futures.process import BrokenProcessPool
from typing import NamedTuple

from .. import ToolError, UsageError, __path__ as package_path
from . import compose, question
from .answer import Settings, answer

DASK_PACKAGE = "python3-distributed"
CONNECT_S = 10
PR_SET_PDEATHSIG = 1            # of prctl(2)


class Task(NamedTuple):
    """What a worker gets."""

    load: question.Load
    disks: tuple
    settings: Settings


def tasks(loads, disks, settings, pairs=False):
    """Each load with each disk, or the first with the first and so on."""
    if pairs and len(loads) != len(disks):
        raise UsageError("--pairs: %d disks but %d workloads" % (len(disks), len(loads)))
    together = {}
    for load, disk in zip(loads, disks) if pairs else itertools.product(loads, disks):
        together.setdefault(load, []).append(disk)
    found = []
    for load, of_it in together.items():
        groups = [of_it] if load.trace else [[disk] for disk in of_it]
        found += [Task(load, tuple(group), settings) for group in groups]
    return found


def _reason(error):
    """An exception for people; where it is ours, also where."""
    if isinstance(error, ToolError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return "%s: %s" % (error.filename, error.strerror) if error.filename else error.strerror
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return "internal error: %s: %s (%s:%d)" % (
        type(error).__name__, error, os.path.basename(frame.filename), frame.lineno)


def failed(disk, load, reason):
    """An answer that is none."""
    return {"disk": disk.path, "workload_from": load.name, "error": reason}


def _each(items, function):
    """function(item) of each, or the exception."""
    results = []
    for item in items:
        try:
            results.append(function(item))
        except Exception as error:  # pylint: disable=broad-exception-caught
            # whatever it is, the other items' answers are wanted
            results.append(error)
    return results


def _service_time(device, workload):
    """s, on the mean, of one request after the other (3.2)."""
    return compose.predict(device, workload, "fcfs").service_time


def _workloads(task, devices):
    """(Workload, Trace or None) or an exception for each device."""
    load = task.load
    if not load.trace:
        return _each(devices, lambda device: (question.workload(load, device), None))
    try:
        traces = question.characterised(load, devices, _service_time)
    except Exception as error:  # pylint: disable=broad-exception-caught
        return [error] * len(devices)
    return _each(list(zip(devices, traces)), lambda pair: (
        question.changed(pair[1].workload, load, pair[0]), pair[1]))


def answers(task):
    """A task's answers, in the order of its disks; never an exception."""
    devices = _each(task.disks, question.device_of)
    good = [device for device in devices if not isinstance(device, Exception)]
    found = iter(_workloads(task, good) if good else [])
    said = [device if isinstance(device, Exception) else next(found) for device in devices]

    def one(item):
        disk, device, workload = item
        if isinstance(workload, Exception):
            raise workload
        question.check_span(workload[0], device, workload[1])
        return answer(disk, device, task.load, *workload, task.settings)

    results = _each(list(zip(task.disks, devices, said)), one)
    return [failed(disk, task.load, _reason(result)) if isinstance(result, Exception) else result
            for disk, result in zip(task.disks, results)]


def here(todo):
    """Answers, one task after the other in this process."""
    for task in todo:
        yield from answers(task)


def _as_they_come(executor, todo, lost):
    """Answers of tasks that an executor does, the first that is done first. `lost` gets
    those that were not done because a process died, of whichever."""
    waiting = {executor.submit(answers, task): task for task in todo}
    try:
        while waiting:
            done, _ = concurrent.futures.wait(
                waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                task = waiting.pop(future)
                try:
                    found = future.result()
                except BrokenProcessPool:
                    lost.append(task)
                except Exception as error:  # pylint: disable=broad-exception-caught
                    yield from _all_failed(task, "a worker failed: %s: %s" % (
                        type(error).__name__, error))
                else:
                    yield from found
    finally:
        for future in waiting:
            future.cancel()


def _all_failed(task, reason):
    return [failed(disk, task.load, reason) for disk in task.disks]


def _begin(parent):
    """In a worker: it ends without a word if the user interrupts, and with its parent, however
    that ends; nobody else would end it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


@contextlib.contextmanager
def _executor(processes):
    """Processes that are not waited for if this one is interrupted."""
    with concurrent.futures.ProcessPoolExecutor(
            processes, mp_context=multiprocessing.get_context("fork"), initializer=_begin,
            initargs=(os.getpid(),)) as executor:
        try:
            yield executor
        except BaseException:
            for child in multiprocessing.active_children():
                child.kill()
            raise


def in_processes(todo, processes):
    """Answers from so many processes, as they come."""
    if processes == 1 or len(todo) == 1:
        yield from here(todo)
        return
    lost = []
    with _executor(min(processes, len(todo))) as executor:
        yield from _as_they_come(executor, todo, lost)
    for task in lost:
        # each in a process of its own: now it is known which of them is the end of it
        ended = []
        with _executor(1) as executor:
            yield from _as_they_come(executor, [task], ended)
        if ended:
            yield from _all_failed(task, "its process ended unexpectedly (out of memory?)")


def _packed(folder):
    """This package as an archive that Python can import from: a worker elsewhere needs
    what this one has, not what happens to be there."""
    path = os.path.join(folder, "freeblock_%d_%d.zip" % (os.getpid(), time.time_ns()))
    top = package_path[0]
    with zipfile.ZipFile(path, "w") as archive:
        for at, _, names in os.walk(top):
            for name in names:
                if name.endswith(".py"):
                    file = os.path.join(at, name)
                    archive.write(file, os.path.join("freeblock", os.path.relpath(file, top)))
    return path


async def _knock(distributed, address):
    """Whether anybody is there; a Client that finds nobody complains until it is collected."""
    comm = await distributed.core.connect(address, timeout=CONNECT_S)
    await comm.close()


def on_dask(todo, address):
    """Answers from the workers of a Dask scheduler, as they come. The files' paths are the
    workers'."""
    try:
        import distributed  # pylint: disable=import-outside-toplevel,import-error
    except ImportError as error:
        raise ToolError("--dask: Dask's distributed is not installed: apt install %s" %
                        DASK_PACKAGE) from error
    try:
        asyncio.run(_knock(distributed, address))
        client = distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ToolError("--dask %s: no scheduler there: %s" % (address, error)) from error
    with client, tempfile.TemporaryDirectory(prefix="freeblock-predict-") as folder:
        try:
            client.wait_for_workers(1, timeout=CONNECT_S)
        except TimeoutError as error:
            raise ToolError("--dask %s: the scheduler has no workers" % address) from error
        client.upload_file(_packed(folder))
        yield from _as_they_come(client.get_executor(pure=False), todo, [])
