"""The virtual rig: plant, depth camera and device emulators."""

import ctypes
import os

# MuJoCo loads the library of MUJOCO_GL when it is imported, and fails with an obscure error without
# it. The plant needs no OpenGL, and the camera reports a missing library.
try:
    ctypes.CDLL('libEGL.so.1')
    os.environ.setdefault('MUJOCO_GL', 'egl')
except OSError:
    os.environ['MUJOCO_GL'] = 'disable'
# Run llvmpipe in the calling thread: more threads would take cores from other processes.
os.environ.setdefault('LP_NUM_THREADS', '0')
