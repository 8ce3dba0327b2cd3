"""How far the vectorised sin, cos and tan reach; beyond, the C library reduces the argument."""

LIMIT32 = 2.0 ** 21
LIMIT64 = 2.0 ** 48
