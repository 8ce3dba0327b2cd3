"""Kullback-Leibler divergences. This file holds the names; importing it registers all pairs.

registry        register_kl, kl_divergence, and how a pair of classes is looked up
one_family      of two distributions of one family
two_families    of two families
vectors         normal vectors, and distributions made of others
"""
from .one_family import _kl_normal_normal as _kl_normal_normal
from .registry import _KL_REGISTRY as _KL_REGISTRY
from .registry import kl_divergence, register_kl
from .two_families import _infinite_like as _infinite_like
from .vectors import _kl_transformed_transformed as _kl_transformed_transformed

__all__ = ["kl_divergence", "register_kl"]
