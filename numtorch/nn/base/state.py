"""Saving and loading a module's state: names of tensors in, names of tensors out."""
from __future__ import annotations

from collections import OrderedDict, namedtuple

from ...autograd.hooks import HookTable
from ...autograd.modes import no_grad
from ...exchange.construction import from_dlpack
from ...tensor import Tensor
from ..parameter import Parameter

EXTRA_STATE = "_extra_state"
# What PyTorch's modules hold and ours do not.
_PYTORCHS = {"_flat_weights", "_flat_weight_refs", "_flat_weights_names", "_is_full_backward_hook"}


class StateDict(OrderedDict):
    """Tensors by dotted name. `_metadata` holds each module's version."""

    _metadata: dict


class IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` did not find, and what it had no place for."""

    __slots__ = ()

    def __repr__(self):
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"

    __str__ = __repr__


class _WithoutModule:
    """A hook that does not want the module. A function around it could not be pickled, and a copy's would go on calling the
    original's method."""

    def __init__(self, hook) -> None:
        self.hook = hook

    def __call__(self, module, *rest):
        return self.hook(*rest)


class State:
    """What a Module can do about its state."""

    _version = 1
    _state_hooks = None                                  # tables by what they are called at, once there are any

    def __setstate__(self, state):
        """Take on what a pickle holds: this library's, or that of a module of PyTorch's, whose hooks are elsewhere."""
        if "_forward_hooks" not in state:
            self.__dict__.update(state)
            return
        self.__dict__.update({name: value for name, value in state.items() if "_hooks" not in name and name not in _PYTORCHS})
        for table in ("_parameters", "_buffers", "_modules"):
            self.__dict__[table] = dict(state[table])
        for hook in state["_forward_pre_hooks"].values():
            self.register_forward_pre_hook(hook)
        for hook in state["_forward_hooks"].values():
            self.register_forward_hook(hook)

    def _state_table(self, kind):
        if self._state_hooks is None:
            self.__dict__["_state_hooks"] = {k: HookTable() for k in ("save_pre", "save", "load_pre", "load_post")}
        return self._state_hooks[kind]

    def _state_hooks_of(self, kind):
        return () if self._state_hooks is None else tuple(self._state_hooks[kind].values())

    def register_state_dict_pre_hook(self, hook):
        """Have `hook(module, prefix, keep_vars)` called before this module's state is collected.

        Args:
            hook: the function.

        Returns:
            A handle whose `remove()` takes the hook off.
        """
        return self._state_table("save_pre").add(hook)

    def register_state_dict_post_hook(self, hook):
        """Have `hook(module, state_dict, prefix, local_metadata)` called after this module's state is collected.

        Args:
            hook: the function; it may change the dict, and returns None.

        Returns:
            A handle whose `remove()` takes the hook off.
        """
        return self._state_table("save").add((hook, False))

    def _register_state_dict_hook(self, hook):
        return self._state_table("save").add((hook, True))       # as PyTorch's own had it: it may return another dict

    def register_load_state_dict_pre_hook(self, hook):
        """Have `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)` called before
        this module loads its share of a state.

        Args:
            hook: the function; it may change the dict and the lists.

        Returns:
            A handle whose `remove()` takes the hook off.
        """
        return self._state_table("load_pre").add(hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return self._state_table("load_pre").add(hook if with_module else _WithoutModule(hook))

    def register_load_state_dict_post_hook(self, hook):
        """Have `hook(module, incompatible_keys)` called after this module has loaded its state.

        Args:
            hook: the function; it may change the lists of missing and unexpected keys.

        Returns:
            A handle whose `remove()` takes the hook off.
        """
        return self._state_table("load_post").add(hook)

    def get_extra_state(self):
        """What else belongs in the state; override it together with `set_extra_state`.

        Raises:
            RuntimeError: it is not overridden.
        """
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state):
        """Take back what `get_extra_state` gave.

        Args:
            state: that.

        Raises:
            RuntimeError: it is not overridden.
        """
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called.")

    # ------------------------------------------------------------ out
    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """Put this module's own tensors, without its children's, into `destination`."""
        for name, tensor in self._persistent():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _persistent(self):
        for name, tensor in self._parameters.items():
            if tensor is not None:
                yield name, tensor
        for name, tensor in self._buffers.items():
            if tensor is not None and name not in self._non_persistent_buffers_set:
                yield name, tensor

    def state_dict(self, *, destination=None, prefix: str = "", keep_vars: bool = False) -> dict:
        """All parameters and persistent buffers by dotted name. They share memory with the module.

        Args:
            destination: a dict to fill instead of a new one.
            prefix: put before every name.
            keep_vars: give the parameters themselves instead of detached tensors.

        Returns:
            An ordered dict, whose `_metadata` holds versions of the modules.

        Raises:
            RuntimeError: a hook after it returned something.

        Example:
            >>> import numtorch as torch
            >>> list(torch.nn.Linear(2, 3).state_dict())
            ['weight', 'bias']
        """
        if destination is None:
            destination = StateDict()
            destination._metadata = OrderedDict()
        metadata = dict(version=self._version)
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_hooks_of("save_pre"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook, replaces in self._state_hooks_of("save"):
            given = hook(self, destination, prefix, metadata)
            if given is not None:
                if not replaces:
                    raise RuntimeError(f"state_dict post-hook must return None, but got {type(given).__name__}")
                destination = given
        return destination

    # ------------------------------------------------------------ in
    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """Take this module's own tensors from `state_dict`, noting what is missing, left over or of another shape."""
        for hook in self._state_hooks_of("load_pre"):
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = dict(self._persistent())
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                self._load_tensor(name, key, tensor, state_dict[key], bool(local_metadata.get("assign_to_params_buffers")),
                                  error_msgs)
            elif strict:
                missing_keys.append(key)
        has_extra = type(self).set_extra_state is not State.set_extra_state
        if prefix + EXTRA_STATE in state_dict and has_extra:
            self.set_extra_state(state_dict[prefix + EXTRA_STATE])
        elif has_extra and strict and prefix + EXTRA_STATE not in state_dict:
            missing_keys.append(prefix + EXTRA_STATE)
        if strict:
            for key in state_dict:
                if key.startswith(prefix):
                    head, _, rest = key[len(prefix):].partition(".")
                    known = head in self._modules if rest else head in own or (has_extra and head == EXTRA_STATE)
                    if not known and key not in unexpected_keys:
                        unexpected_keys.append(key)

    def _load_tensor(self, name, key, tensor, value, assign, error_msgs):
        if not isinstance(value, Tensor) and hasattr(value, "__dlpack__"):     # such as PyTorch's
            value = from_dlpack(value.detach() if hasattr(value, "detach") else value)
        if not isinstance(value, Tensor):
            error_msgs.append(f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                              f'checkpoint '
                              f"but received {type(value)}")
            return
        if tensor.layout.ndim == 0 and value.layout.shape == (1,):
            value = value[0]
        if tensor.layout.shape != value.layout.shape:
            error_msgs.append(f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the shape in "
                              f"current "
                              f"model is {tensor.shape}.")
            return
        if assign:
            if isinstance(tensor, Parameter) and not isinstance(value, Parameter):
                value = Parameter(value, requires_grad=tensor.requires_grad)
            setattr(self, name, value)
        else:
            with no_grad():
                tensor.copy_(value)

    def load_state_dict(self, state_dict, strict: bool = True, assign: bool = False) -> IncompatibleKeys:
        """Copy parameters and buffers from a state.

        Args:
            state_dict: tensors by dotted name, as `state_dict` gives them.
            strict: raise when names are missing or left over.
            assign: make the state's tensors the module's own instead of copying into those it has.

        Returns:
            A named tuple of `missing_keys` and `unexpected_keys`.

        Raises:
            TypeError: `state_dict` is not a dict.
            RuntimeError: names (with `strict`) or shapes do not match; the message lists them all.

        Example:
            >>> import numtorch as torch
            >>> layer = torch.nn.Linear(1, 1)
            >>> layer.load_state_dict({"weight": torch.ones(1, 1), "bias": torch.zeros(1)})
            <All keys matched successfully>
            >>> layer(torch.tensor([2.0])).item()
            2.0
        """
        if not hasattr(state_dict, "keys"):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        missing, unexpected, errors = [], [], []

        _load(self, state_dict, "", metadata, assign, missing, unexpected, errors)
        if strict:
            if unexpected:
                errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
            if missing:
                errors.insert(0, f"Missing key(s) in state_dict: {_quoted(missing)}. ")
        if errors:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
        return IncompatibleKeys(missing, unexpected)


def _load(module, state_dict, prefix, metadata, assign, missing, unexpected, errors):
    """Load a module and those in it, each from what is its own of a state."""
    local = {} if metadata is None else dict(metadata.get(prefix[:-1], {}))
    if assign:
        local["assign_to_params_buffers"] = True
    module._load_from_state_dict(state_dict, prefix, local, True, missing, unexpected, errors)
    for name, child in module._modules.items():
        if child is not None:
            own = f"{prefix}{name}."
            part = OrderedDict((key, value) for key, value in state_dict.items() if key.startswith(own))
            _load(child, part, own, metadata, assign, missing, unexpected, errors)
    keys = IncompatibleKeys(missing, unexpected)
    for hook in module._state_hooks_of("load_post"):
        hook(module, keys)


def _quoted(keys):
    return ", ".join(f'"{k}"' for k in keys)
