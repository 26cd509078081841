"""The random resized crop: the same distribution for every loader that lacks one."""

from __future__ import annotations

import math
from random import Random


def box(height: int, width: int, draw: Random) -> tuple[int, int, int, int]:
    """Return the top, left, height and width of a random crop.

    Its area is 8 to 100 % of the image's, its aspect ratio 3:4 to 4:3. After ten draws that do not
    fit, it is the largest centred square.
    """
    for _ in range(10):
        area = height * width * draw.uniform(0.08, 1)
        ratio = math.exp(draw.uniform(math.log(3 / 4), math.log(4 / 3)))
        across, down = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < across <= width and 0 < down <= height:
            top, left = draw.randint(0, height - down), draw.randint(0, width - across)
            return top, left, down, across
    side = min(height, width)
    return (height - side) // 2, (width - side) // 2, side, side
