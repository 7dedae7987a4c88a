"""MuJoCo's step as a compiled function: the loop of a simulation runs without the interpreter.

`mj_step1`, `mj_step2` and `mj_kinematics` are called through their symbols in MuJoCo's shared
library, which Python has loaded; they take the addresses of the model and of its data.
`copy_model` overwrites a model with another of the same size, which MuJoCo's Python lacks.
"""

import ctypes
import os
from pathlib import Path
from typing import Any

import mujoco
import numba

_LIBRARY = next(Path(mujoco.__file__).parent.glob('libmujoco*'))
# The symbols must be global: the compiler resolves functions in the process.
_MUJOCO = ctypes.CDLL(str(_LIBRARY), ctypes.RTLD_GLOBAL)


def _step(name: str) -> Any:
    if os.environ.get('NUMBA_DISABLE_JIT', '0') != '0':  # for a debugger
        function = getattr(_MUJOCO, name)
        function.argtypes, function.restype = (ctypes.c_void_p, ctypes.c_void_p), None
        return function
    pointer = numba.types.uintp
    return numba.types.ExternalFunction(name, numba.types.void(pointer, pointer))


copy_model = _MUJOCO.mj_copyModel
copy_model.argtypes, copy_model.restype = (ctypes.c_void_p, ctypes.c_void_p), ctypes.c_void_p

mj_step1, mj_step2 = _step('mj_step1'), _step('mj_step2')
mj_kinematics = _step('mj_kinematics')
