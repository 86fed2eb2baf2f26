"""Becomes the program in its arguments, tied to the parent: when the parent dies, the kernel kills it (Linux).

Run as a script, so that no code of ours runs between fork and exec.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.execv(sys.argv[1], sys.argv[1:])
