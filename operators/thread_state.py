"""Keep a worker thread's Python state alive between calls.

Bytewax's workers, but for a lone one, are threads that Python did not start. Such a thread
gets a new Python thread state, stack included, whenever the engine takes the interpreter's
lock, and loses it when the lock is given back: some twenty times a step, and most of what
a small round costs. One reference held for the life of the thread makes it stay.
"""

import ctypes
import threading

__all__ = ["keep_thread_state"]

_kept = threading.local()


def keep_thread_state() -> None:
    """Keep the calling thread's Python state until the thread ends; the main thread's stays."""
    if threading.current_thread() is threading.main_thread() or hasattr(_kept, "yes"):
        return
    _kept.yes = True
    ctypes.pythonapi.PyGILState_Ensure()
