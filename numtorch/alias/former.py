"""Names that PyTorch has for itself, or once had for the sake of Python 2, for programs that import them."""
import collections.abc as container_abcs
import re
from math import inf, nan

__all__ = ["PY37", "_addindent", "container_abcs", "default_collate_err_msg_format", "inf", "int_classes", "nan",
           "np_str_obj_array_pattern", "string_classes"]

PY37 = True
string_classes = (str, bytes)
int_classes = int
np_str_obj_array_pattern = re.compile(r"[SaUO]")         # the kinds of NumPy's dtypes that no tensor has
default_collate_err_msg_format = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def _addindent(s_: str, numSpaces: int) -> str:
    """A text whose lines behind the first are moved to the right."""
    return s_.replace("\n", "\n" + " " * numSpaces)
