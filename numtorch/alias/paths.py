"""Where PyTorch's modules are here, for those that are elsewhere: the path in PyTorch, and what stands there.

A row names our modules, all of whose names are then found there, and single names as `name=where.it.is`. Where we have a module of
that path, the row is what PyTorch has in it beside what is ours.
"""

_SIZES = " ".join(f"{name}=types.Dims" for name in """_maybe_indices_t _ratio_2_t _ratio_3_t _ratio_any_t _scalar_or_tuple_1_t
    _scalar_or_tuple_2_t _scalar_or_tuple_3_t _scalar_or_tuple_any_t _size_1_t _size_2_opt_t _size_2_t _size_3_opt_t _size_3_t
    _size_4_t _size_5_t _size_6_t _size_any_opt_t _size_any_t""".split())


def _names(place: str, names: str) -> str:
    """Names that are all in one place."""
    return " ".join(f"{name}={place}{name}" for name in names.split())


PATHS = {
    # what PyTorch keeps to itself, or has taken back, and programs import
    "_C": "_disabled_torch_function_impl=torchfunction.disabled_torch_function "
          "DisableTorchFunctionSubclass=torchfunction.DisableTorchFunctionSubclass " +
          _names("alias.former.", "DispatchKey DispatchKeySet _log_api_usage_once") +
          " _get_tracing_state=jit.tracing.freezing.tracing_state",
    "_dynamo._trace_wrapped_higher_order_op": "TransformGetItemToIndex=alias.former.TransformGetItemToIndex",
    "_dynamo.utils": "is_compile_supported=alias.former.is_compile_supported",
    "_six": "alias.former",
    "_utils": "_flatten_dense_tensors=nn.utils.parameters_to_vector _unflatten_dense_tensors=utils.flattening.unflatten",
    "nn._reduction": "legacy_get_string=ops.loss.elementwise_losses.legacy_reduction",
    "nn.init": "_no_grad_uniform_=nn.init.uniform_ _no_grad_normal_=nn.init.normal_ _no_grad_trunc_normal_=nn.init.trunc_normal_ "
               "_no_grad_fill_=nn.init.constant_ _no_grad_zero_=nn.init.zeros_",
    "nn.modules.module": "_IncompatibleKeys=nn.base.state.IncompatibleKeys _addindent=alias.former._addindent",
    "nn.modules.transformer": "_get_clones=nn.modules.transformer._copies _get_activation_fn=nn.modules.transformer._activation",
    # the rest
    "_tensor": "Tensor=Tensor",
    "_dynamo": _names("compiler.", "allow_in_graph disable graph_break is_compiling list_backends reset") +
               " explain=jit.compiling.compiled.explain assume_constant_result=alias.former.unchanged " +
               " ".join(f"{name}=alias.former.unmarked" for name in ("mark_dynamic", "mark_static", "mark_static_address",
                                                                     "mark_unbacked", "maybe_mark_dynamic")),
    "jit": "_overload=jit.scripting.kinds.overload _overload_method=jit.scripting.kinds.overload Error=alias.former.Error "
           "_script_if_tracing=jit.scripting.scripts.script_if_tracing _unwrap_optional=jit.scripting.vocabulary.unwrapped "
           "enable_onednn_fusion=alias.former.unmarked set_fusion_strategy=alias.former.unmarked fuser=alias.former.without_fuser "
           "optimized_execution=alias.former.without_fuser onednn_fusion_enabled=alias.former.onednn_fusion_enabled",
    "jit.annotations": _names("alias.former.", "Any Dict List Optional Tuple Union") + " Module=nn.Module " +
                       " ".join(f"BroadcastingList{n}=alias.former.BroadcastingList" for n in (1, 2, 3)),
    "onnx": "register_custom_op_symbolic=alias.former.unmarked",
    "onnx.symbolic_helper": "parse_args=alias.former.parse_args",
    "ops": "load_library=alias.former.load_library",
    "optim.optimizer": "ParamsT=alias.former.ParamsT _params_t=alias.former.ParamsT",
    "functional": _names("", """atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist
        chain_matmul einsum istft lu meshgrid norm pca_lowrank split stft svd_lowrank tensordot unique unique_consecutive
        unravel_index"""),
    "autograd.anomaly_mode": "autograd.modes",
    "autograd.forward_ad": "func.forward_ad",
    "autograd.grad_mode": "autograd.modes",
    "autograd.profiler": "profiler.legacy",
    "autograd.profiler_util": "profiler.events",
    "backends.cpu": "backends.cpu",
    "backends.cuda": "backends.cuda",
    "backends.cudnn": "backends.cudnn",
    "backends.mkl": "backends.mkl",
    "backends.mkldnn": "backends.mkldnn",
    "backends.mps": "backends.mps",
    "backends.nnpack": "backends.nnpack",
    "backends.openmp": "backends.openmp",
    "backends.opt_einsum": "backends.opt_einsum",
    "cpu.amp": "amp.autocast_mode autocast=amp.devices.CpuAutocast GradScaler=amp.devices.CpuGradScaler",
    "cuda.amp": "amp.autocast_mode autocast=amp.devices.CudaAutocast GradScaler=amp.devices.CudaGradScaler "
                "custom_fwd=amp.devices.custom_fwd custom_bwd=amp.devices.custom_bwd",
    "ops.aten": "aten",
    "ops.profiler": _names("profiler.recording.", "_record_function_enter _record_function_exit") +
                    " _record_function_enter_new=profiler.recording._record_function_enter",
    "fx._symbolic_trace": "fx.tracer",
    "multiprocessing.spawn": "multiprocessing.spawning",
    "multiprocessing.queue": "multiprocessing.queues",
    "torch_version": "__version__=__version__ TorchVersion=alias.versions.TorchVersion",
    "cuda.amp.autocast_mode": "autocast=amp.devices.CudaAutocast custom_fwd=amp.devices.custom_fwd "
                              "custom_bwd=amp.devices.custom_bwd",
    "cuda.amp.grad_scaler": "GradScaler=amp.devices.CudaGradScaler",
    "cpu.amp.autocast_mode": "autocast=amp.devices.CpuAutocast",
    "cpu.amp.grad_scaler": "GradScaler=amp.devices.CpuGradScaler",
    # layers
    "nn.attention.flex_attention": "_DEFAULT_SPARSE_BLOCK_SIZE=alias.former.DEFAULT_SPARSE_BLOCK_SIZE",
    "nn.common_types": _SIZES,
    "nn.modules.activation": _names("nn.modules.", "LogSoftmax MultiheadAttention Softmax Softmax2d Softmin"),
    "nn.modules.batchnorm": "nn.modules.normalization nn.modules.lazy _NormBase=nn.modules.normalization._Statistics",
    "nn.modules.channelshuffle": "nn.modules.upsampling",
    "nn.modules.container": _names("nn.modules.", "ParameterDict ParameterList"),
    "nn.modules.conv": _names("nn.modules.", "LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d "
                                           "LazyConvTranspose3d"),
    "nn.modules.fold": "nn.modules.flatten",
    "nn.modules.instancenorm": "nn.modules.normalization nn.modules.lazy",
    "nn.modules.linear": _names("nn.modules.", "LazyLinear") + " " + _names("nn.modules.attention.",
                                                                             "NonDynamicallyQuantizableLinear"),
    "nn.modules.linear_cross_entropy_options": "nn.linear_loss",
    "nn.modules.loss": _names("nn.modules.", """CosineEmbeddingLoss HingeEmbeddingLoss
        LinearCrossEntropyLoss MarginRankingLoss MultiLabelMarginLoss
        MultiMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss"""),
    "nn.modules.normalization": _names("nn.modules.", "CrossMapLRN2d LocalResponseNorm"),
    "nn.modules.pixelshuffle": "nn.modules.upsampling",
    "nn.modules.pooling": _names("nn.modules.", """AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d
        AdaptiveMaxPool2d AdaptiveMaxPool3d FractionalMaxPool2d FractionalMaxPool3d""") + " " +
                          _names("nn.modules.adaptivepooling.", "_AdaptiveAvgPoolNd _AdaptiveMaxPoolNd"),
    "nn.modules.rnn": _names("nn.modules.rnncell.", "GRUCell LSTMCell RNNCell RNNCellBase"),
    "nn.modules.sparse": "nn.modules.embedding",
    "nn.modules.utils": "nn.modules.tuples",
    "nn.parallel.data_parallel": "nn.parallel.dataparallel",
    "nn.parallel.parallel_apply": "nn.parallel.replicas",
    "nn.parallel.replicate": "nn.parallel.replicas",
    "nn.parallel.scatter_gather": "nn.parallel.scattering",
    "nn.parameter": _names("nn.modules.lazy.", "UninitializedParameter UninitializedBuffer is_lazy"),
    "nn.utils.clip_grad": "nn.utils.parameters",
    "nn.utils.convert_parameters": "nn.utils.parameters",
    "nn.utils.init": "skip_init=nn.utils.skip_init",
    "nn.utils.spectral_norm": "nn.utils.normhooks",
    "nn.utils.stateless": "functional_call=func.functional_call",
    "nn.utils.weight_norm": "nn.utils.normhooks",
    # training
    "optim._adafactor": "optim.matrixwise",
    "optim._muon": "optim.matrixwise",
    "optim.adadelta": "optim.adagrad",
    "optim.adamax": "optim.adam",
    "optim.adamw": "optim.adam",
    "optim.asgd": "optim.sgd",
    "optim.nadam": "optim.adam",
    "optim.radam": "optim.adam",
    "optim.rmsprop": "optim.adagrad",
    "optim.rprop": "optim.adagrad",
    # data and files
    "utils.data._utils": "default_collate=data.default_collate",
    "utils.data._utils.collate": "default_collate=data.default_collate default_convert=data.default_convert " +
                                 _names("alias.former.", "default_collate_err_msg_format np_str_obj_array_pattern"),
    "utils.data.dataloader": "data.loader get_worker_info=data.get_worker_info",
    "utils.data.dataset": "data.dataset",
    "utils.data.distributed": "data.distributed",
    "utils.data.sampler": "data.sampler",
    "utils.dlpack": "from_dlpack=from_dlpack to_dlpack=Tensor.__dlpack__",
    "utils.hooks": "RemovableHandle=autograd.hooks.RemovableHandle",
    "utils.model_zoo": "load_url=hub.load_state_dict_from_url tqdm=alias.former.tqdm",
    "utils._pytree": "utils.pytree",
    "utils.tensorboard.writer": "SummaryWriter=utils.tensorboard.SummaryWriter FileWriter=utils.tensorboard.FileWriter",
    # the trainer of 2016
    "utils.trainer.trainer": "Trainer=utils.trainer.Trainer",
    "utils.trainer.plugins.accuracy": "AccuracyMonitor=utils.trainer.plugins.AccuracyMonitor",
    "utils.trainer.plugins.constant": "ConstantMonitor=utils.trainer.plugins.ConstantMonitor",
    "utils.trainer.plugins.loss": "LossMonitor=utils.trainer.plugins.LossMonitor",
    "utils.trainer.plugins.progress": "ProgressMonitor=utils.trainer.plugins.ProgressMonitor",
    "utils.trainer.plugins.time": "TimeMonitor=utils.trainer.plugins.TimeMonitor",
    # distributions
    "distributions.beta": "distributions.dirichlet",
    "distributions.chi2": "distributions.gamma",
    "distributions.continuous_bernoulli": "distributions.bernoulli",
    "distributions.exp_family": "distributions.distribution",
    "distributions.fishersnedecor": "distributions.gamma",
    "distributions.generalized_pareto": "distributions.pareto",
    "distributions.geometric": "distributions.binomial",
    "distributions.half_cauchy": "distributions.cauchy",
    "distributions.half_normal": "distributions.normal",
    "distributions.inverse_gamma": "distributions.gamma",
    "distributions.kumaraswamy": "distributions.uniform",
    "distributions.laplace": "distributions.exponential",
    "distributions.lkj_cholesky": "distributions.wishart",
    "distributions.log_normal": "distributions.normal",
    "distributions.logistic_normal": "distributions.normal",
    "distributions.lowrank_multivariate_normal": "distributions.multivariate_normal",
    "distributions.multinomial": "distributions.binomial",
    "distributions.negative_binomial": "distributions.binomial",
    "distributions.one_hot_categorical": "distributions.categorical",
    "distributions.poisson": "distributions.binomial",
    "distributions.relaxed_categorical": "distributions.relaxed_bernoulli",
    "distributions.studentT": "distributions.cauchy",
    "distributions.weibull": "distributions.gumbel",
}
