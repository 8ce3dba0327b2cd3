"""Gather, scatter, embedding and their gradients on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.index import gather as host
from ..serial import STATUS, TABLE, on_device

plan_index = on_device(host.plan_index, {2: TABLE, 4: STATUS})
plan_index_put = on_device(host.plan_index_put, {2: TABLE, 4: STATUS})
plan_index_select = on_device(host.plan_index_select, {2: TABLE, 4: STATUS})
plan_index_write = on_device(host.plan_index_write, {2: TABLE, 4: STATUS})
plan_embedding = on_device(host.plan_embedding, {2: TABLE, 4: STATUS})
plan_embedding_grad = on_device(host.plan_embedding_grad, {2: TABLE, 4: STATUS})
plan_gather = on_device(host.plan_gather, {2: TABLE, 4: STATUS})
plan_scatter = on_device(host.plan_scatter, {2: TABLE, 4: STATUS})
