import array

import numpy as np
import pytest
from cv_bridge import CvBridge, CvBridgeError
from sensor_msgs.msg import Image
from std_msgs.msg import Header

bridge = CvBridge()


def random_image(dtype, *shape):
    values = np.random.default_rng(0).integers(0, 255, shape)
    return values.astype(dtype)


@pytest.mark.parametrize(
    'encoding, dtype, shape',
    [
        ('rgb8', np.uint8, (4, 5, 3)),
        ('bgr8', np.uint8, (4, 5, 3)),
        ('mono8', np.uint8, (4, 5)),
        ('16UC1', np.uint16, (4, 5)),
        ('32FC1', np.float32, (4, 5)),
    ],
)
def test_there_and_back(encoding, dtype, shape):
    image = random_image(dtype, *shape)
    message = bridge.cv2_to_imgmsg(image, encoding, Header(frame_id='camera'))
    assert (message.height, message.width, message.encoding) == (4, 5, encoding)
    assert message.step * 4 == image.nbytes == len(message.data)
    assert message.header.frame_id == 'camera'
    back = bridge.imgmsg_to_cv2(message)
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, image)


def test_the_array_is_a_view_of_the_message():
    message = bridge.cv2_to_imgmsg(random_image(np.uint16, 4, 5), '16UC1')
    view = bridge.imgmsg_to_cv2(message, '16UC1')
    message.data[0], message.data[1] = 0x34, 0x12
    assert view[0, 0] == 0x1234


def test_colours_are_swapped_only_when_asked():
    image = random_image(np.uint8, 4, 5, 3)
    message = bridge.cv2_to_imgmsg(image, 'rgb8')
    np.testing.assert_array_equal(bridge.imgmsg_to_cv2(message, 'rgb8'), image)
    np.testing.assert_array_equal(bridge.imgmsg_to_cv2(message, 'bgr8'), image[:, :, ::-1])


def test_a_colour_may_be_taken_as_numbers_but_not_numbers_as_a_colour():
    image = random_image(np.uint16, 4, 5)
    np.testing.assert_array_equal(
        bridge.imgmsg_to_cv2(bridge.cv2_to_imgmsg(image, 'mono16'), '16UC1'), image
    )
    with pytest.raises(CvBridgeError, match='16UC1 to mono16'):
        bridge.imgmsg_to_cv2(bridge.cv2_to_imgmsg(image, '16UC1'), 'mono16')


def test_padded_rows_and_big_endian():
    message = Image(
        height=2,
        width=2,
        encoding='16UC1',
        is_bigendian=1,
        step=6,
        data=array.array('B', [1, 2, 3, 4, 99, 99, 5, 6, 7, 8, 99, 99]),
    )
    np.testing.assert_array_equal(
        bridge.imgmsg_to_cv2(message), [[0x0102, 0x0304], [0x0506, 0x0708]]
    )


def test_passthrough_names_the_array():
    assert bridge.cv2_to_imgmsg(random_image(np.uint16, 2, 2)).encoding == '16UC1'
    assert bridge.cv2_to_imgmsg(random_image(np.uint8, 2, 2, 3)).encoding == '8UC3'


def test_what_does_not_fit_is_named():
    with pytest.raises(CvBridgeError, match='float64 with 1 channels'):
        bridge.cv2_to_imgmsg(np.zeros((2, 2)), '32FC1')
    with pytest.raises(CvBridgeError, match='yuv422.*rgb8'):
        bridge.imgmsg_to_cv2(Image(encoding='yuv422'))
    with pytest.raises(CvBridgeError, match='16UC1 to rgb8'):
        bridge.imgmsg_to_cv2(bridge.cv2_to_imgmsg(random_image(np.uint16, 2, 2)), 'rgb8')
    with pytest.raises(CvBridgeError, match='4 x 4 mono8 needs 4 bytes per row.*step is 2'):
        bridge.imgmsg_to_cv2(Image(height=4, width=4, encoding='mono8', step=2))
