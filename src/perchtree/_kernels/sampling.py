"""Which inserts are checked: a sample, by id, that grows with the logarithm of their number."""


def is_sampled(point_id: int) -> bool:
    """Whether a point is in the sample: 90 of ids 100 to 999, 90 of 1,000 to 9,999, and so on."""
    step = 1
    while point_id >= 100 * step:
        step *= 10
    return point_id % step == 0
