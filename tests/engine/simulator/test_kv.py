import pytest

from hmas.engine.simulator.kv import KvCache


def test_blocks_round_up():
    kv = KvCache(10, 16)
    assert [kv.blocks_of(tokens) for tokens in (0, 1, 16, 17)] == [0, 1, 1, 2]


def test_allocation_beyond_what_is_free_is_an_error():
    kv = KvCache(4, 16)
    kv.allocate(3)
    with pytest.raises(MemoryError, match="2 KV blocks wanted, 1 free"):
        kv.allocate(2)
    kv.release(3)
    assert (kv.free, kv.used) == (4, 0)


def test_dropped_prefix_counts_as_free_and_stays_until_needed():
    kv = KvCache(4, 16)
    kv.allocate(2)
    assert kv.publish(1)
    assert kv.publish(2)
    kv.drop([1, 2])
    assert kv.free == 4
    assert kv.evictable_blocks([1, 2, 3]) == 2
    kv.allocate(3)
    assert not kv.is_cached(2), "the end of a prefix goes first"
    assert kv.is_cached(1)
    kv.allocate(1)
    assert not kv.is_cached(1)


def test_held_prefix_is_not_evicted():
    kv = KvCache(3, 16)
    kv.allocate(1)
    kv.publish(1)
    kv.drop([1])
    kv.hold(1)
    assert kv.free == 2
    kv.allocate(2)
    assert kv.is_cached(1)
    kv.drop([1])
    assert kv.free == 1


def test_second_publisher_keeps_its_own_blocks():
    kv = KvCache(3, 16)
    kv.allocate(2)
    assert kv.publish(1)
    assert not kv.publish(1)


def test_unit_must_be_whole_blocks():
    assert KvCache(64, 16, 512).unit_blocks == 32
    with pytest.raises(ValueError, match="no multiple"):
        KvCache(64, 16, 40)
