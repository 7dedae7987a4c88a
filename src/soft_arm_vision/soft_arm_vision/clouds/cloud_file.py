"""Point clouds from files: PCD (ascii, binary, compressed), PLY (ascii, binary) and NPY."""

# mypy: disable-error-code="no-untyped-def,assignment"
# Numba infers the types of the compiled functions.

from pathlib import Path

import numpy as np

from soft_arm_io.yaml_file import shown
from soft_arm_kinematics.backends.machine_code import njit
from soft_arm_vision.errors import VisionError

_PLY_TYPES = {
    **{'char': 'i1', 'uchar': 'u1', 'short': 'i2', 'ushort': 'u2', 'int': 'i4', 'uint': 'u4'},
    **{'float': 'f4', 'double': 'f8', 'float32': 'f4', 'float64': 'f8'},
    **{'int8': 'i1', 'uint8': 'u1', 'int16': 'i2', 'uint16': 'u2', 'int32': 'i4', 'uint32': 'u4'},
}


class _UnknownKind(ValueError):
    pass


def read_cloud(path: Path, any_viewpoint: bool = False) -> np.ndarray:
    """Read the finite points of a file as stored, shape (n, 3).

    VIEWPOINT of a PCD file, the pose of its sensor, is not applied, as in PCL and Open3D. PCL
    stores points in the sensor frame, other programs in the world frame: with a VIEWPOINT away from
    the origin, the position of the camera is ambiguous.

    Args:
        path: The file.
        any_viewpoint: True to accept any VIEWPOINT: the caller knows where the camera is. Else its
            position must be the origin.

    Raises:
        VisionError: If the file cannot be read, is of another kind, or states another VIEWPOINT.
    """
    readers = {'.pcd': _read_pcd, '.ply': _read_ply, '.npy': _read_npy}
    if path.suffix.lower() not in readers:
        raise VisionError(f'{path}: a cloud is read from {", ".join(readers)}')
    try:
        points = readers[path.suffix.lower()](path)
        viewpoint = [] if any_viewpoint or path.suffix.lower() != '.pcd' else _viewpoint(path)
    except OSError as error:
        raise VisionError(f'{path}: {error.strerror or error}') from error
    except _UnknownKind as error:
        raise VisionError(f'{path} is of a kind that is not read: {error}') from error
    except Exception as error:  # whatever a damaged file leads to
        raise VisionError(
            f'{path} is damaged: it is no {path.suffix.lower()[1:].upper()} file, or a part '
            'of it is missing'
        ) from error
    if viewpoint:
        stated = ' '.join(f'{number:g}' for number in viewpoint)
        raise VisionError(
            f'{path} states VIEWPOINT {stated}, which is not applied: give the position of the '
            'camera in the coordinates of the points, --viewpoint-m 0 0 0 if they are in the frame '
            'of the sensor, else the position in VIEWPOINT [m]'
        )
    points = np.asarray(points, float)
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) == 0:
        raise VisionError(f'{path} holds no finite point')
    return points


def _read_npy(path: Path) -> np.ndarray:
    array = np.load(path, allow_pickle=False)
    if array.ndim < 2 or array.shape[-1] < 3:
        raise _UnknownKind(f'shape {array.shape}, (n, 3) is needed')
    if array.dtype.kind not in 'fiu':
        raise _UnknownKind(f'it holds {shown(array.dtype.name, plain=True)}, numbers are needed')
    return array.reshape(-1, array.shape[-1])[:, :3]


def _pcd_header(content: bytes) -> tuple[dict[str, list[str]], int]:
    """Return the words of a PCD file's header by their key, and the start of its data."""
    header: dict[str, list[str]] = {}
    position = 0
    while 'DATA' not in header:
        end = content.index(b'\n', position)
        key, *values = content[position:end].decode('ascii').split() or ['#']
        header[key], position = values, end + 1
    return header, position


def _viewpoint(path: Path) -> list[float]:
    """Return VIEWPOINT, position and quaternion w x y z; nothing if it is at the origin."""
    header, _ = _pcd_header(path.read_bytes())
    numbers = [float(word) for word in header.get('VIEWPOINT', ['0'] * 7)]
    if len(numbers) != 7:
        raise ValueError(f'{len(numbers)} numbers in VIEWPOINT')
    return numbers if any(numbers[:3]) else []


def _read_pcd(path: Path) -> np.ndarray:
    content = path.read_bytes()
    header, position = _pcd_header(content)
    # Padding: any number of fields may have the name _.
    fields = [f'_{i}' if name == '_' else name for i, name in enumerate(header['FIELDS'])]
    count = int(header['POINTS'][0])
    if {'WIDTH', 'HEIGHT'} <= header.keys() and count != (
        int(header['WIDTH'][0]) * int(header['HEIGHT'][0])
    ):
        raise ValueError('POINTS is not WIDTH times HEIGHT')
    counts = [int(c) for c in header.get('COUNT', ['1'] * len(fields))]
    kinds = [
        f'<{kind.lower()}{size}' for kind, size in zip(header['TYPE'], header['SIZE'], strict=True)
    ]
    layout = np.dtype(
        [(f, k, (c,)) if c > 1 else (f, k) for f, k, c in zip(fields, kinds, counts, strict=True)]
    )
    data, kind = content[position:], header['DATA'][0]
    if kind == 'ascii':
        first = [sum(counts[: fields.index(axis)]) for axis in 'xyz']
        return _rows(data, first, count)
    if kind == 'binary':
        table = np.frombuffer(data, layout, count)
        return np.column_stack([table[axis] for axis in 'xyz'])
    if kind != 'binary_compressed':
        raise _UnknownKind(f'DATA {shown(kind)}')
    packed, unpacked = map(int, np.frombuffer(data, '<u4', 2))
    if unpacked != layout.itemsize * count or unpacked > 300 * len(
        data
    ):  # nothing is packed more densely
        raise ValueError(f'{unpacked} bytes')
    raw = np.zeros(unpacked, np.uint8)
    if _expand_lzf(np.frombuffer(data, np.uint8, packed, 8), raw) != unpacked:
        raise ValueError('its compressed data end early')
    columns, start = {}, 0
    for field, kind, repeats in zip(fields, kinds, counts, strict=True):  # column by column
        size = np.dtype(kind).itemsize * repeats * count
        columns[field] = raw[start : start + size].view(kind)
        start += size
    return np.column_stack([columns[axis] for axis in 'xyz'])


def _rows(text, columns, count):
    """Return columns of the first lines of a text; raise ValueError if there are fewer."""
    lines = [line for line in text.decode('ascii').splitlines() if line.strip()][:count]
    if len(lines) != count:
        raise ValueError(f'{len(lines)} of {count} points')
    return np.loadtxt(lines, usecols=columns, ndmin=2)


@njit(cache=True)
def _expand_lzf(packed, raw):
    """Marc Lehmann's LZF; returns the number of bytes written, -1 for data that point outside."""
    i, o = 0, 0
    while i < len(packed):
        control = np.int64(packed[i])
        i += 1
        if control < 32:
            length = control + 1
            if i + length > len(packed) or o + length > len(raw):
                return -1
            raw[o : o + length] = packed[i : i + length]
            i += length
        else:
            length = control >> 5
            if length == 7:
                length += np.int64(packed[i])
                i += 1
            source = o - ((control & 31) << 8) - np.int64(packed[i]) - 1
            i += 1
            length += 2
            if source < 0 or o + length > len(raw):
                return -1
            for k in range(length):
                raw[o + k] = raw[source + k]
        o += length
    return o


def _read_ply(path: Path) -> np.ndarray:
    content = path.read_bytes()
    end = content.index(b'end_header')
    end = content.index(b'\n', end) + 1
    lines = [line.split() for line in content[:end].decode('ascii').splitlines()]
    kind = dict(line[:2] for line in lines if line[:1] == ['format'])['format']
    element, names, types, count = None, [], [], 0
    for line in lines:
        if line[:1] == ['element']:
            if element is None and line[1] != 'vertex':
                raise _UnknownKind('its first element is not the vertex')
            element = line[1]
            count = int(line[2]) if element == 'vertex' else count
        elif line[:1] == ['property'] and element == 'vertex':
            if line[1] == 'list':
                name = shown(line[-1], plain=True)
                raise _UnknownKind(f'its vertices have a list, {name}: save it without')
            types.append(_PLY_TYPES[line[1]])
            names.append(line[2])
    if kind == 'ascii':
        return _rows(content[end:], [names.index(axis) for axis in 'xyz'], count)
    order = {'binary_little_endian': '<', 'binary_big_endian': '>'}[kind]
    table = np.frombuffer(
        content, np.dtype([(n, order + t) for n, t in zip(names, types, strict=True)]), count, end
    )
    return np.column_stack([table[axis] for axis in 'xyz'])
