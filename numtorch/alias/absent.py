"""What PyTorch has and numtorch has not, by its name behind `torch.`, with what to do instead. A row holds for all below it."""

_QUANTIZED = "there are no quantised dtypes; compute in float16 or bfloat16"
_TRACE = "there is no graph to export; save the state_dict, and the program with it"
_PROCESSES = ("there are no groups of processes that talk to one another; drop the wrapper, or share a batch among workers by "
              "nn.DataParallel")
_OTHER = "devices are cpu, cuda and meta"

ABSENT = {
    "pstrf": "PyTorch has taken the name back; use linalg.ldl_factor",
    "_C": "there is no C++ underneath",
    "_dynamo": "ops are compiled one by one as they are first used; call the function itself",
    "_inductor": "ops are compiled one by one as they are first used; call the function itself",
    "ao": _QUANTIZED,
    "autograd.profiler.emit_nvtx": "there are no marks for NVIDIA's profilers; profiler.profile sees every op",
    "autograd.profiler.emit_itt": "there are no marks for Intel's profilers; profiler.profile sees every op",
    "classes": "there is no C++ underneath",
    "compiler": "ops are compiled one by one as they are first used; call the function itself",
    "cpp": "there is no C++ underneath",
    "cuda.nccl": _PROCESSES,
    "distributed": _PROCESSES,
    "export": _TRACE,
    "fx.experimental": "of torch.fx, graphs, tracers, interpreters and replace_pattern are here",
    "fx.passes": "of torch.fx, graphs, tracers, interpreters and replace_pattern are here",
    "library": "new ops are made with numtorch.pointwise or autograd.Function",
    **dict.fromkeys(("masked.MaskedTensor", "masked.masked_tensor", "masked.as_masked_tensor", "masked.is_masked_tensor"),
                    "there are no masked tensors; the functions of torch.masked take a tensor and a mask"),
    "monitor": "use Python's logging",
    "mps": _OTHER,
    "mtia": _OTHER,
    "nested": "there are no nested tensors; use nn.utils.rnn.pad_sequence and a mask",
    "nn.SyncBatchNorm": _PROCESSES,
    "nn.attention": "numtorch.nn.functional.scaled_dot_product_attention has one kernel; call it without choosing",
    "nn.intrinsic": _QUANTIZED,
    "nn.parallel.DistributedDataParallel": _PROCESSES,
    "nn.qat": _QUANTIZED,
    "nn.quantizable": _QUANTIZED,
    "nn.quantized": _QUANTIZED,
    "nn.utils.prune": "multiply the weight by a mask, with nn.utils.parametrize.register_parametrization",
    "onnx": _TRACE,
    "ops": "the ops are functions of numtorch and methods of its tensors",
    "package": _TRACE,
    "profiler.itt": "there are no marks for Intel's profilers; profiler.profile sees every op",
    "quantization": _QUANTIZED,
    "quantize_per_tensor": _QUANTIZED,
    "quantize_per_channel": _QUANTIZED,
    "qint8": _QUANTIZED,
    "quint8": _QUANTIZED,
    "qint32": _QUANTIZED,
    "quasirandom": "use scipy.stats.qmc.Sobol, and from_numpy",
    "float8_e4m3fn": "the shortest floating-point dtypes are float16 and bfloat16",
    "float8_e5m2": "the shortest floating-point dtypes are float16 and bfloat16",
    "utils.benchmark": "use timeit",
    "utils.bottleneck": "`python -m numtorch profile script.py` shows where its time goes",
    "utils.collect_env": "`python -m numtorch cache info` and numtorch.__config__.show() say what is here",
    "utils.cpp_extension": "new ops are written in Python, with numtorch.pointwise or autograd.Function",
    "utils.mobile_optimizer": _TRACE,
    "vmap": "write the batch as a dimension: ops broadcast",
    "xpu": _OTHER,
}

# Modules that scripts import in their first lines, used or not: the import works, and with it the questions whether they are there.
STANDINS = {
    "_dynamo": "is_compiling",
    "ao": "",
    "compiler": "is_compiling is_dynamo_compiling is_exporting",
    "distributed": "is_available is_initialized is_gloo_available is_mpi_available is_nccl_available is_torchelastic_launched",
    "mps": "is_available",
    "onnx": "is_in_onnx_export",
    "quantization": "",
    "xpu": "is_available",
}
