"""What PyTorch has and numtorch has not, by its name behind `torch.`, with what to do instead. A row holds for all below it.
STANDINS and DEFERRED, at the end, are what programs import nevertheless.
"""

_QUANTIZED = "there are no quantised dtypes; compute in float16 or bfloat16"
_FILES = "jit.trace and jit.script make a program of a model, which jit.save writes to a file; jit.export_native makes a library"
_COMPILE = "disable, reset, is_compiling, _dynamo.graph_break and _dynamo.explain are here; torch.compile has no settings"
_PROCESSES = ("there are no groups of processes that talk to one another; drop the wrapper, or share a batch among workers by "
              "nn.DataParallel")
_NVPROF = "files of NVIDIA's profilers are not read; profiler.profile sees every op"
_OTHER = "devices are cpu, cuda and meta"
_LIBRARY = "PyTorch's libraries are not here; there is one way of computing"
_DRIVER = "what CUDA's driver says beside devices and memory is not asked for; nvidia-smi shows it"
_ALLOCATOR = "there is one allocator, which keeps what is freed for the next tensors; memory_summary says what it has"
_PIPES = "data pipes have left PyTorch; write an IterableDataset"
_FORMS = "optimisers are classes, and each has one kernel; call its step()"
_INSIDE = "it is a part of PyTorch's own machinery"
_SYMBOLS = "sizes are Python's integers, in traced functions too"
_MASKED = "there are no masked tensors; the functions of torch.masked take a tensor and a mask"
_FX = "of torch.fx, graphs, tracers, interpreters, replace_pattern, ShapeProp and split_module are here"
_SCRIPTS = "of torch.jit, trace, script, save, load and freeze are here"
_PRUNED = "multiply the weight by a mask, with nn.utils.parametrize.register_parametrization"
_SHORT = "the shortest floating-point dtypes are float16 and bfloat16, the shortest integers int8 and uint8"


def _rows(sentence: str, place: str, names: str) -> dict[str, str]:
    """One sentence for several names in one place."""
    return dict.fromkeys([place + name for name in names.split()], sentence)


ABSENT = {
    "pstrf": "PyTorch has taken the name back; use linalg.ldl_factor",
    "_C": "there is no C++ underneath",
    "_dynamo": _COMPILE,
    "_inductor": "torch.compile makes Numba kernels, and has no settings",
    "ao": _QUANTIZED,
    "autograd.profiler.EnforceUnique": _NVPROF,
    "autograd.profiler.KinetoStepTracker": "profiler.profile.step() says that a step is done",
    "autograd.profiler.MemRecordsAcc": "profiler.profile(profile_memory=True) counts what is allocated in each event",
    "autograd.profiler.load_nvprof": _NVPROF,
    "autograd.profiler.parse_nvprof_trace": _NVPROF,
    "autograd.profiler.emit_nvtx": "there are no marks for NVIDIA's profilers; profiler.profile sees every op",
    "autograd.profiler.emit_itt": "there are no marks for Intel's profilers; profiler.profile sees every op",
    "_utils._rebuild_qtensor": _QUANTIZED,
    "classes": "there is no C++ underneath",
    "compiler": _COMPILE,
    "cpp": "there is no C++ underneath",
    "cuda.nccl": _PROCESSES,
    "distributed": _PROCESSES,
    "export": _FILES,
    "fx.experimental": _FX,
    "fx.passes": _FX,
    "library": "of torch.library, custom_op, register_fake, register_autograd, register_kernel and Library are here",
    "monitor": "use Python's logging",
    "mps": _OTHER,
    "mtia": _OTHER,
    "nested": "there are no nested tensors; use nn.utils.rnn.pad_sequence and a mask",
    "nn.SyncBatchNorm": _PROCESSES,
    "nn.intrinsic": _QUANTIZED,
    "nn.parallel.DistributedDataParallel": _PROCESSES,
    "nn.qat": _QUANTIZED,
    "nn.quantizable": _QUANTIZED,
    "nn.quantized": _QUANTIZED,
    "nn.utils.prune": _PRUNED,
    "onnx": "no ONNX files are written; " + _FILES,
    "ops": "of torch.ops, ATen's names are in torch.ops.aten; the ops are functions of numtorch and methods of its tensors",
    "package": _FILES,
    "profiler.DeviceType": "events are of the processor alone, from which launches on other devices are made too",
    "profiler.ExecutionTraceObserver": "profiler.profile().export_chrome_trace(path) writes what ran",
    "profiler.itt": "there are no marks for Intel's profilers; profiler.profile sees every op",
    "quantization": _QUANTIZED,
    "quantize_per_tensor": _QUANTIZED,
    "quantize_per_channel": _QUANTIZED,
    "qint8": _QUANTIZED,
    "quint8": _QUANTIZED,
    "qint32": _QUANTIZED,
    "quasirandom": "use scipy.stats.qmc.Sobol, and from_numpy",
    "utils.benchmark": "use timeit",
    "utils.bottleneck": "`python -m numtorch profile script.py` shows where its time goes",
    "utils.collect_env": "`python -m numtorch cache info` and numtorch.__config__.show() say what is here",
    "utils.cpp_extension": "new ops are written in Python, with numtorch.pointwise or autograd.Function",
    "utils.mobile_optimizer": _FILES,
    "xpu": _OTHER,
    "cuda.jiterator": "write the formula in Python, with numtorch.pointwise",
    "accelerator.graphs": "use torch.cuda.graphs",
    "accelerator.memory": "use torch.cuda.memory_allocated and its like",
    "utils.deterministic": "what is not initialised is not filled; use torch.zeros",
    "utils.flop_counter": "profiler.profile(with_flops=True) counts operations",
    "utils.module_tracker": "profiler.profile(with_modules=True) says in which module an op runs",
    "nn.grad": "use torch.autograd.grad, or the gradients of convolution in torch.ops.aten",
    "signal.windows.windows": "the windows are in torch.signal.windows",
    "sparse.semi_structured": "of sparse layouts there are COO, CSR, CSC, BSR and BSC",
    "optim._functional": _FORMS,
    "nn.parallel._functions": "nn.parallel.scatter and nn.parallel.gather move tensors between devices, with gradients",
    "func.make_fx": "fx.symbolic_trace gives the graph of a function or a module",
    "thread_safe_generator": "give each thread a torch.Generator",
    "random.thread_safe_generator": "give each thread a torch.Generator",
    **_rows(_MASKED, "masked.", "MaskedTensor masked_tensor as_masked_tensor is_masked_tensor maskedtensor"),
    **_rows(_INSIDE, "", """
        contrib nativert numa nn.backends nn.cpp return_types _utils_internal _prims _refs _decomp _ops _subclasses
        _higher_order_ops _lazy _logging _vmap_internals utils._python_dispatch utils.backend_registration utils.file_baton
        utils.show_pickle utils.weak utils.viz utils.hipify utils.backcompat utils.debug_log utils._content_store
        _custom_ops _tensor_str
        autograd.profiler_legacy profiler.python_tracer multiprocessing.reductions utils.set_module"""),
    **_rows(_LIBRARY, "", """
        backends.cudnn.rnn backends.cusparselt backends.kleidiai backends.mha backends.miopen backends.python_native backends.xeon
        backends.xnnpack utils.mkldnn Tensor.to_mkldnn"""),
    **_rows(_QUANTIZED, "", """
        backends.quantized jit.quantized per_tensor_affine per_channel_affine qscheme quint4x2 quint2x4 dequantize int_repr
        q_scale q_zero_point quantize_per_tensor_dynamic fake_quantize_per_tensor_affine fake_quantize_per_channel_affine
        QUInt8Storage QInt8Storage QInt32Storage"""),
    **_rows(_DRIVER, "cuda.", """
        cudart check_error cudaStatus CudaError DeferredCudaCallError current_blas_handle current_solver_handle clock_rate
        device_memory_used get_arch_list get_gencode_flags gds green_contexts GreenContext has_half has_magma list_gpu_processes
        memory_usage power_draw profiler temperature tunable utilization is_tf32_supported"""),
    **_rows(_ALLOCATOR, "cuda.", """
        CUDAPluggableAllocator MemPool caching_allocator_alloc caching_allocator_delete caching_allocator_disabled
        caching_allocator_enable change_current_allocator get_allocator_backend get_per_process_memory_fraction
        set_per_process_memory_fraction host_memory_stats host_memory_stats_as_nested_dict max_memory_cached
        memory_cached memory_snapshot memory_stats_as_nested_dict reset_accumulated_host_memory_stats reset_peak_host_memory_stats
        use_mem_pool"""),
    **_rows("streams of others and their errors are not watched; torch.cuda.Stream is", "cuda.", """
        ExternalStream get_stream_from_external get_sync_debug_mode set_sync_debug_mode default_generators"""),
    **_rows(_FX, "fx.", "annotate config immutable_collections tensor_type traceback ProxyableClassMeta"),
    **_rows(_SCRIPTS, "jit.", """
        annotations frontend generate_bytecode mobile supported_ops unsupported_tensor_ops
        export_opnames ONNXTracedModule RecursiveScriptClass
        RecursiveScriptModule ScriptWarning TopLevelTracedModule TracedModule TracingCheckError
        jit_module_from_flatbuffer run_frozen_optimizations
        save_jit_module_to_flatbuffer set_module strict_fusion"""),
    **_rows(_SCRIPTS, "", "CompilationUnit ScriptFunction ScriptModule import_ir_module parse_ir"),
    **_rows(_PIPES, "utils.data.", """
        datapipes graph graph_settings backward_compatibility IterDataPipe MapDataPipe DFIterDataPipe DataChunk
        functional_datapipe argument_validation runtime_validation runtime_validation_disabled non_deterministic
        guaranteed_datapipes_determinism"""),
    **_rows(_FORMS, "optim.", """
        adadelta.adadelta adagrad.adagrad adam.adam adamax.adamax adamw.adamw asgd.asgd nadam.nadam radam.radam rmsprop.rmsprop
        rprop.rprop sgd.sgd"""),
    **_rows("files keep names and bytes, not the program; torch.save the state_dict", "utils.", """
        bundled_inputs model_dump serialization jit throughput_benchmark swap_tensors"""),
    **_rows("there is one kernel of attention", "nn.attention.", """
        WARN_FOR_UNFUSED_KERNELS activate_flash_attention_impl bias current_flash_attention_impl experimental flex_attention
        list_flash_attention_impls register_flash_attention_impl restore_flash_attention_impl varlen"""),
    **_rows(_PROCESSES, "nn.", "parallel.distributed parallel.comm modules.SyncBatchNorm modules.batchnorm.SyncBatchNorm"),
    **_rows(_SYMBOLS, "", """
        SymBool SymFloat SymInt sym_float sym_fresh_size sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum"""),
    **_rows("write Python's while; torch.jit.script keeps it", "", "while_loop"),
    **_rows(_SHORT, "", """
        bit bits1x8 bits2x4 bits4x2 bits8 bits16 float4_e2m1fn_x2 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz
        float8_e8m0fnu int1 int2 int3 int4 int5 int6 int7 uint1 uint2 uint3 uint4 uint5 uint6 uint7"""),
    **_rows("use torch.cuda.Stream and torch.cuda.Event", "", "Stream Event"),
    **_rows("scaled products of 8-bit floats need a GPU's units", "nn.functional.", """
        grouped_mm scaled_mm scaled_grouped_mm ScalingType SwizzleType"""),
    **_rows(_INSIDE, "", """
        nn.factory_kwargs nn.functional.assert_int_or_pair nn.parameter.UninitializedTensorMixin
        nn.common_types.T autograd.function.FunctionMeta autograd.function.BackwardCFunction autograd.variable.VariableMeta
        autograd.enforce_grad_layout_policy"""),
    **_rows("nested arguments pass through Function.apply as they are", "autograd.", """
        NestedIOFunction function.NestedIOFunction"""),
    **_rows(_INSIDE, "cuda.amp.", "amp_definitely_not_available common"),
    **_rows(_INSIDE, "", """
        autograd.profiler_util.EventMetadata autograd.profiler_util.FormattedTimesMixin autograd.profiler_util.Kernel
        autograd.profiler_util.StringTable autograd.profiler_util.MemRecordsAcc autograd.graph.region_activation_memory_budget
        autograd.graph.set_warn_on_accumulate_grad_stream_mismatch autograd.graph.set_override_stale_capture_stream
        amp.autocast_mode.autocast_decorator autograd.grad_mode.enforce_grad_layout_policy multiprocessing.pool.clean_worker
        multiprocessing.queue.ConnectionWrapper profiler.profiler.ExecutionTraceObserver
        utils.dlpack.DLDeviceType utils.hooks.unserializable_hook utils.hooks.warn_if_has_hooks utils.hooks.BackwardHook
        utils.tensorboard.summary fx.graph_module.reduce_graph_module fx.graph_module.reduce_package_graph_module
        fx.proxy.MetaProxy fx.proxy.Scope fx.proxy.ScopeContextManager fx.operator_schemas.check_for_mutable_operation
        fx.operator_schemas.create_type_hint fx.operator_schemas.get_signature_for_torch_op fx.operator_schemas.type_matches"""),
    **_rows("gradcheck computes and compares both", "autograd.gradcheck.", """
        get_numerical_jacobian get_analytical_jacobian get_numerical_jacobian_wrt_specific_input"""),
    **_rows("work on the CPU has ended when a call returns", "cpu.", """
        current_stream stream Stream StreamContext Event get_capabilities"""),
    **_rows(_DRIVER, "cuda.", "memory.list_gpu_processes nvtx.range_start nvtx.range_end"),
    **_rows(_ALLOCATOR, "cuda.memory.", """
        caching_allocator_alloc caching_allocator_delete caching_allocator_disabled caching_allocator_enable
        get_per_process_memory_fraction set_per_process_memory_fraction memory_stats_as_nested_dict host_memory_stats
        host_memory_stats_as_nested_dict reset_accumulated_host_memory_stats reset_peak_host_memory_stats memory_cached
        max_memory_cached memory_snapshot get_allocator_backend CUDAPluggableAllocator change_current_allocator MemPool
        use_mem_pool"""),
    **_rows("use torch.cuda.Stream", "cuda.streams.", "ExternalStream"),
    **_rows("grad, vjp, jvp, vmap, jacrev, jacfwd, hessian and linearize are here", "func.", """
        functionalize rearrange debug_unwrap replace_all_batch_norm_modules_"""),
    **_rows("use nn.Sequential, or a Module of your own", "nn.modules.", "Container container.Container"),
    **_rows("nn.NLLLoss takes images too", "nn.modules.", "NLLLoss2d loss.NLLLoss2d"),
    **_rows("use module.to(memory_format=torch.channels_last)", "nn.utils.", """
        memory_format convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format"""),
    **_rows("use optimizer.state_dict() and load_state_dict", "optim.", "swap_in_optimizer_params_and_state"),
    **_rows("get_overridable_functions and is_tensor_method_or_property say what may be taken over", "overrides.", """
        get_ignored_functions get_testing_overrides wrap_torch_function enable_reentrant_dispatch redispatch_function"""),
    **_rows("of sparse layouts there are COO, CSR, CSC, BSR and BSC", "sparse.", """
        SparseSemiStructuredTensor SparseSemiStructuredTensorCUTLASS SparseSemiStructuredTensorCUSPARSELT
        to_sparse_semi_structured"""),
    **_rows("pass check_invariants=True to what makes the tensor", "sparse.", "check_sparse_tensor_invariants"),
    **_rows("torch.autograd.gradcheck takes sparse tensors", "sparse.", "as_sparse_gradcheck"),
    **_rows("checkpoint and checkpoint_sequential keep what they need by themselves", "utils.checkpoint.", """
        CheckpointFunction check_backward_validity detach_variable get_device_states set_device_states noop_context_fn
        set_checkpoint_early_stop DefaultDeviceType set_checkpoint_debug_enabled GraphExecGroup"""),
    **_rows("use UntypedStorage or TypedStorage", "", "types.Storage Storage"),
    **_rows("solve the dense matrix, with torch.linalg.solve", "sparse.", "solve"),
    **_rows("nn.utils.spectral_norm and nn.utils.weight_norm make the hooks", "nn.utils.", """
        spectral_norm.SpectralNorm spectral_norm.SpectralNormLoadStateDictPreHook spectral_norm.SpectralNormStateDictHook
        weight_norm.WeightNorm"""),
    **_rows("use torch.profiler.tensorboard_trace_handler", "profiler.profiler.", "tensorboard_trace_handler"),
    **_rows("torch.save, torch.load and add_safe_globals are here, and files go to memory by map_location", "serialization.", """
        SourceChangeWarning register_package check_module_version_greater_or_equal validate_cuda_device validate_hpu_device
        location_tag default_restore_location normalize_storage_type storage_to_tensor_type StorageType LoadEndianness
        get_crc32_options set_crc32_options get_default_load_endianness set_default_load_endianness get_default_mmap_options
        set_default_mmap_options get_unsafe_globals_in_checkpoint skip_data"""),
    **_rows(_INSIDE, "", """
        utils.cpp_backtrace nn.parallel.parallel_apply.get_a_var utils.tensorboard.RecordWriter utils.checkpoint.SAC_IGNORED_OPS
        serialization.mkdtemp"""),
    **_rows(_INSIDE, "", """
        AVG AggregationType AliasDb AnyType Argument ArgumentSpec AwaitType BenchmarkConfig BenchmarkExecutionStats Block BoolType
        BufferDict CallStack Capsule ClassType Code CompleteArgumentSpec ComplexType ConcreteModuleType ConcreteModuleTypeBuilder
        DeepCopyMemoTable DeserializationStorageContext DeviceObjType DictType DisableTorchFunction DispatchKey DispatchKeySet
        EnumType ErrorReport ExcludeDispatchKeyGuard ExecutionPlan FileCheck FloatType FunctionSchema FutureType Gradient Graph
        GraphExecutorState IODescriptor InferredType IntType InterfaceType JITException ListType LiteScriptModule LockingLogger
        ModuleDict Node NoneType NoopLogger NumberType OperatorInfo OptionalType ParameterDict PyObjectType PyTorchFileReader
        PyTorchFileWriter RRefType SUM ScriptClass ScriptClassFunction ScriptDict ScriptDictIterator ScriptDictKeyIterator
        ScriptList ScriptListIterator ScriptMethod ScriptModuleSerializer ScriptObject ScriptObjectProperty
        SerializationStorageContext StaticModule StreamObjType StringType SymBoolType SymIntType Tag TensorType
        ThroughputBenchmark TracingState TupleType Type UnionType Use Value import_ir_module_from_buffer init_num_threads
        merge_type_from_type_comment parse_schema parse_type_comment unify_type_list
        prepare_multiprocessing_environment compiled_with_cxx11_abi classproperty get_file_path slice_inverse
        sym_constrain_range sym_constrain_range_for_size profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 USE_GLOBAL_DEPS
        USE_RTLD_GLOBAL_WITH_LIBTORCH windows"""),
    **_rows(_LIBRARY, "", """
        cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu
        cudnn_convolution_transpose cudnn_grid_sampler cudnn_is_acceptable miopen_batch_norm miopen_convolution
        miopen_convolution_add_relu miopen_convolution_relu miopen_convolution_transpose miopen_ctc_loss
        miopen_depthwise_convolution miopen_rnn mkldnn_adaptive_avg_pool2d mkldnn_convolution mkldnn_linear_backward_weights
        mkldnn_max_pool2d mkldnn_max_pool3d mkldnn_rnn_layer is_vulkan_available has_lapack has_mkl has_openmp has_spectral"""),
    **_rows(_QUANTIZED, "", """
        choose_qparams_optimized empty_quantized fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation
        fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight
        fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix fused_moving_avg_obs_fake_quant per_channel_affine_float_qparams
        per_channel_symmetric per_tensor_symmetric q_per_channel_axis q_per_channel_scales q_per_channel_zero_points
        quantized_batch_norm quantized_gru quantized_gru_cell quantized_lstm quantized_lstm_cell quantized_max_pool1d
        quantized_max_pool2d quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell QUInt2x4Storage
        QUInt4x2Storage"""),
    **_rows(_OTHER, "", """
        get_autocast_ipu_dtype get_autocast_xla_dtype is_autocast_ipu_enabled is_autocast_xla_enabled set_autocast_ipu_dtype
        set_autocast_ipu_enabled set_autocast_xla_dtype set_autocast_xla_enabled"""),
    **_rows("there are no groups of processes whose statistics are gathered; use batch_norm", "", """
        batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats
        batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats"""),
    **_rows("use UntypedStorage.from_file, and a tensor over it", "", "from_file"),
    **_rows("use RuntimeError, or torch.cuda.OutOfMemoryError", "", "AcceleratorError FatalError"),
    **_rows("there are no nested tensors; use nn.utils.rnn.pad_sequence and a mask", "", "jagged"),
    **_rows(_QUANTIZED, "Tensor.", """
        dequantize int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme"""),
    **_rows(_OTHER, "Tensor.", "ipu mtia xpu"),
    "Tensor.grad_dtype": "a gradient has its tensor's dtype",
    "Tensor.index": "there are no first-class dimensions; index with [...]",
    "Tensor.module_load": "load_state_dict copies into the tensors that a module has",
    "Tensor.reinforce": "use torch.distributions: -log_prob(action) * reward is the loss",
    "Tensor.slice_inverse": "use torch.slice_scatter",
    "Tensor.to_padded_tensor": "there are no nested tensors; use nn.utils.rnn.pad_sequence and a mask",
    **_rows("has_torch_function and its like are in torch.overrides", "", " ".join([
        f"{place}has_torch_function{kind}" for place in ("nn.functional.", "autograd.", "functional.")
        for kind in ("", "_unary", "_variadic")])),
    **_rows(_INSIDE, "", """
        LoggerBase StorageBase nn.utils.rnn.PackedSequence_ nn.utils.rnn.bind fft.Tensor autograd.DeviceType
        autograd.ProfilerActivity autograd.ProfilerConfig autograd.ProfilerEvent autograd.ProfilerState autograd.SavedTensor
        autograd.is_multithreading_enabled autograd.is_view_replay_enabled autograd.kineto_available autograd.profiler.DeviceType
        autograd.profiler.ProfilerActivity autograd.profiler.ProfilerConfig autograd.profiler.ProfilerState
        autograd.profiler.kineto_available jit.last_executed_optimized_graph utils.checkpoint.SavedTensor profiler.RecordScope
        overrides.BaseTorchFunctionMode"""),
    "sparse.spsolve": "solve the dense matrix, with torch.linalg.solve",
}

# Modules that scripts import in their first lines, used or not: the import works, and with it the questions whether they are there.
STANDINS = {
    "_custom_ops": "",
    "_higher_order_ops": "",
    "_higher_order_ops.associative_scan": "",
    "_tensor_str": "",
    "ao": "",
    "ao.quantization": "",
    "distributed": "is_available is_initialized is_gloo_available is_mpi_available is_nccl_available is_torchelastic_launched",
    "distributed.rpc": "is_available",
    "mps": "is_available",
    "nn.attention.flex_attention": "",
    "nn.parallel.distributed": "",
    "onnx": "is_in_onnx_export",
    "onnx.symbolic_opset11": "",
    "profiler.itt": "is_available",
    "quantization": "",
    "xpu": "is_available",
}

# Classes and functions that programs import in their first lines, derive from or ask `isinstance` of, whether they come to use them
# or not: only calls say what to do instead.
DEFERRED = {
    "_higher_order_ops.associative_scan": "associative_scan",
    "_tensor_str": "PRINT_OPTS _add_suffixes _tensor_str",
    "ao.quantization": "DeQuantStub QuantStub",
    "nn": "SyncBatchNorm",
    "nn.attention.flex_attention": "AuxRequest BlockMask and_masks create_block_mask create_mask flex_attention noop_mask or_masks",
    "nn.modules": "SyncBatchNorm",
    "nn.modules.batchnorm": "SyncBatchNorm",
    "nn.parallel": "DistributedDataParallel",
    "nn.parallel.distributed": "DistributedDataParallel",
    "utils.data.dataloader": "_BaseDataLoaderIter _MultiProcessingDataLoaderIter",
}
