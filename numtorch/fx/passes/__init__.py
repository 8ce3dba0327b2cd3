"""What is done with whole graphs, under PyTorch's names.

shape_prop    `ShapeProp`: shapes and dtypes of all values, by a run
split_module  a graph as several modules, called one after another
"""
from . import shape_prop, split_module

__all__ = ["shape_prop", "split_module"]
