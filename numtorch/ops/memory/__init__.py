"""Elements moved without computing with them.

copies: copies and casts. assign: `copy_`, `fill_`, tensors filled. writing: the rules of writing into tensors that exist. resize:
results that go into `out`, `resize_`, `set_`. pinned: memory that GPUs read by themselves.
conversion: `to` and its short forms. detach: the same memory apart from the graph.
tensortypes: `FloatTensor` and its like. untyped, typed: storages, which are tensors' memory as an object.
"""
