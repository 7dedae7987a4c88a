"""Exit 0 if MuJoCo can render without a display: it needs an EGL device and an OpenGL library."""

import ctypes
import sys

_EGL_PLATFORM_DEVICE_EXT = 0x313F


def main():
    """Start EGL on the first device that allows it, as MuJoCo does."""
    egl = ctypes.CDLL('libEGL.so.1')
    ctypes.CDLL('libGL.so.1')
    ctypes.CDLL('libOpenGL.so.0')
    egl.eglGetProcAddress.restype = ctypes.c_void_p
    egl.eglInitialize.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    query_devices = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(
        egl.eglGetProcAddress(b'eglQueryDevicesEXT')
    )
    get_display = ctypes.CFUNCTYPE(
        ctypes.c_void_p, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p
    )(egl.eglGetProcAddress(b'eglGetPlatformDisplayEXT'))
    devices, count = (ctypes.c_void_p * 16)(), ctypes.c_int(0)
    query_devices(16, devices, ctypes.byref(count))
    displays = (
        get_display(_EGL_PLATFORM_DEVICE_EXT, device, None) for device in devices[: count.value]
    )
    return (
        0 if any(egl.eglInitialize(display, None, None) for display in displays if display) else 1
    )


if __name__ == '__main__':
    sys.exit(main())
