"""The virtual rig: plant, depth camera and device emulators."""

import ctypes
import os

# MuJoCo loads the GL library of MUJOCO_GL when it is imported, and fails there with a riddle when
# that is not installed. The plant needs no GL, and the camera says itself what is missing.
try:
    ctypes.CDLL('libEGL.so.1')
    os.environ.setdefault('MUJOCO_GL', 'egl')
except OSError:
    os.environ['MUJOCO_GL'] = 'disable'
# Run llvmpipe in the calling thread: more threads only take cores from other processes.
os.environ.setdefault('LP_NUM_THREADS', '0')
