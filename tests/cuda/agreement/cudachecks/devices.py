"""Which device tensors, results, gradients, modules and draws are on."""
from __future__ import annotations

from .table import check, raises


@check
def devices(torch):
    cuda = torch.cuda
    assert cuda.is_available() and cuda.device_count() >= 1 and cuda.current_device() == 0
    assert str(torch.zeros(2, device="cuda").device) == "cuda:0" and torch.zeros(2).cuda(0).get_device() == 0
    assert torch.zeros(2, device=0).is_cuda and torch.zeros(1).to("cuda").type() == "torch.cuda.FloatTensor"
    assert isinstance(cuda.get_device_name(), str) and len(cuda.get_device_capability(0)) == 2
    cuda.synchronize()
    cuda.synchronize("cuda:0")
    x = torch.zeros(2, device="cuda")
    assert x.cuda() is x and x.to("cuda:0") is x and x.cpu().device.type == "cpu"
    count = cuda.device_count()
    raises(RuntimeError, "invalid device ordinal", lambda: torch.zeros(2, device=f"cuda:{count}"))
    raises(RuntimeError, "invalid device ordinal", lambda: cuda.set_device(count))
    raises(ValueError, "Expected a cuda device", lambda: cuda.set_device("cpu"))


@check
def the_current_device(torch):
    cuda = torch.cuda
    if cuda.device_count() < 2:
        return
    with cuda.device(1):
        assert cuda.current_device() == 1 and str(torch.zeros(1).cuda().device) == "cuda:1"
        with cuda.device("cuda:0"):
            assert torch.ones(1, device="cuda").get_device() == 0
        with cuda.device(-1):
            assert cuda.current_device() == 1
    assert cuda.current_device() == 0
    again = cuda.device(1)
    with again, again:
        pass
    assert cuda.current_device() == 0
    cuda.set_device(1)
    assert torch.zeros(1, device="cuda").get_device() == 1
    cuda.set_device(torch.device("cuda", 0))
    x = torch.arange(4.0, device="cuda:1")                # not the current device, and so is what comes of it
    assert (x * 2 + 1).sum().get_device() == 1
    assert x.to("cuda:0").get_device() == 0 and x.to("cuda:0").tolist() == [0, 1, 2, 3]
    with cuda.device_of(x), cuda.device_of(x.cpu()), cuda.device_of(x.untyped_storage()):
        assert cuda.current_device() == 1
    assert cuda.current_device() == 0
    raises(RuntimeError, "cuda:1 and cuda:0", lambda: x + x.to("cuda:0"))


@check
def mixed_devices(torch):
    x, y = torch.ones(3, device="cuda"), torch.ones(3)
    text = "Expected all tensors to be on the same device, but found at least two devices"
    raises(RuntimeError, text, lambda: x + y)
    raises(RuntimeError, text, lambda: y.mul_(x))
    raises(RuntimeError, text, lambda: torch.where(x > 0, y, x))
    raises(RuntimeError, text, lambda: torch.tensor(1.0).add_(torch.tensor(2.0, device="cuda")))
    for function in (torch.exp, lambda x, out: torch.cumsum(x, 0, out=out), lambda x, out: torch.dot(x, x, out=out)):
        raises(RuntimeError, "Expected out tensor to have device cuda:0, but got cpu instead", lambda f=function: f(x, out=y))
        raises(RuntimeError, "Expected out tensor to have device cpu, but got cuda:0 instead", lambda f=function: f(y, out=x))
    raises(RuntimeError, "device cpu does not match device of out parameter (cuda:0)", lambda: torch.zeros(3, out=x, device="cpu"))
    assert torch.randperm(3, out=torch.empty(0, dtype=torch.int64, device="cuda")).is_cuda
    raises(RuntimeError, "on the same device as the indexed tensor (cpu), got one on cuda:0", lambda: y[x.long()])
    raises(RuntimeError, "on the same device as the indexed tensor (cpu), got one on cuda:0", lambda: y[x > 0])
    assert x[y > 0].tolist() == x[y.long() - 1].tolist() == [1, 1, 1]
    assert (x + torch.tensor(2.0)).tolist() == [3, 3, 3]  # a 0-dim CPU tensor goes along
    raises(TypeError, "can't convert cuda:0 device type tensor to numpy", x.numpy)


@check
def numbers_go_to_where_tensors_are(torch):
    """Python's, and tensors of the host without dimensions, wherever an op has room for one."""
    x, places = torch.zeros(4, device="cuda"), torch.tensor([0, 2], device="cuda")
    half = torch.zeros(4, dtype=torch.float16, device="cuda")
    for index in (places, places.cpu(), [0, 2], torch.tensor([True, False, True, False], device="cuda"), slice(None, None, 2)):
        for value in (1.5, 2, True, torch.tensor(3.0)):
            x[index] = value
            assert x.tolist() == [value, 0, value, 0]
        half[index] = 1e6
        assert half.tolist() == [float("inf"), 0, float("inf"), 0]
    assert x.index_put_((places,), torch.tensor(4.0)).tolist() == [4, 0, 4, 0] == x.index_fill(0, places, torch.tensor(4.0)).tolist()
    y = torch.zeros(2, 4, device="cuda")
    y[1, places] = 5
    assert y.tolist() == [[0] * 4, [5, 0, 5, 0]]
    factor = torch.tensor(2.0, requires_grad=True)
    x.clone().index_put_((places,), factor).sum().backward()
    assert factor.grad.item() == 2 and factor.grad.device.type == "cpu"
    edges = torch.arange(5.0, device="cuda")
    assert torch.searchsorted(edges, 2.5).item() == torch.bucketize(2.5, edges).item() == 3
    assert torch.nn.functional.gumbel_softmax(x, hard=True).sum().item() == 1
    last = torch.device("cuda", torch.cuda.device_count() - 1)
    assert torch.tensor(x.to(last)).device == last and torch.tensor(x, device="cpu").device.type == "cpu"
    assert torch.tensor([x[0], 1.0]).device.type == "cpu"


@check
def gradients_are_where_their_tensors_are(torch):
    x = torch.linspace(0.1, 1, 3, dtype=torch.float64, device="cuda", requires_grad=True)
    elsewhere = "expected device cuda:0 but got cpu"
    raises(RuntimeError, elsewhere, lambda: (x * 2).backward(torch.ones(3, dtype=torch.float64)))
    raises(RuntimeError, elsewhere, lambda: torch.autograd.grad(x * 2, x, torch.ones(3, dtype=torch.float64)))
    torch.autograd.backward((x * x).sum(), torch.tensor(2.0, dtype=torch.float64))
    assert torch.equal(x.grad, 4 * x)

    class Halved(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2

        @staticmethod
        def backward(ctx, grad):
            return grad.cpu() / 2
    raises(RuntimeError, elsewhere, lambda: Halved.apply(x).sum().backward())
    for fast in (False, True):
        assert torch.autograd.gradcheck(lambda x: x.exp() * x, (x,), fast_mode=fast)
    assert torch.autograd.gradgradcheck(lambda x: x.exp() * x, (x,))
    z = torch.complex(x, -x).detach().requires_grad_()
    assert torch.autograd.gradcheck(lambda z: z * z, (z,))


@check
def new_tensors_are_on_their_own_device(torch):
    cuda = torch.cuda
    last = cuda.device_count() - 1
    x = torch.arange(4.0, device=f"cuda:{last}")
    for made in (x.new(2, 3), x.new_zeros(2), x.new_tensor([1.0]), torch.zeros_like(x), x.new_full((2,), 3.0), x[:2].clone()):
        assert made.get_device() == last and made.is_cuda
    y, like = x.cpu(), torch.zeros_like
    for t in (x, y):                                     # 0 is a device, too
        made = [t.new([1, 2], device=0), t.new_zeros(2, device=0), t.new_full((2,), 3.0, device=0), t.new_tensor([1.0], device=0),
                t.new_empty_strided((2,), (1,), device=0), like(t, device=0), torch.rand_like(t, device=0), torch.tensor(t, device=0),
                torch.randint_like(t, 3, device=0), torch.cuda.FloatTensor(1, device=0), t.to(0), torch.cuda.FloatStorage(2, device=0)]
        assert {str(each.device) for each in made} == {"cuda:0"}, made
    assert torch.zeros(1).get_device() == -1 and x.type() == "torch.cuda.FloatTensor"
    raises(RuntimeError, "cuda", lambda: x + torch.zeros(4))


@check
def between_devices(torch):
    comm = torch.cuda.comm
    if torch.cuda.device_count() < 2:
        return
    assert torch.cuda.can_device_access_peer(0, 1) in (True, False) and not torch.cuda.can_device_access_peer(0, 0)
    x = torch.arange(6.0, device="cuda").reshape(3, 2).requires_grad_()
    here, there = comm.broadcast(x, (0, 1))
    assert here is x and str(there.device) == "cuda:1" and there.tolist() == x.tolist()
    pieces = comm.scatter(x, ["cuda:1", 0], [1, 2])
    assert [str(p.device) for p in pieces] == ["cuda:1", "cuda:0"] and pieces[0].tolist() == [[0, 1]]
    assert len(comm.scatter(x, (0, 1), dim=1)) == 2
    whole = comm.gather([p * 2 for p in pieces], destination=1)
    assert str(whole.device) == "cuda:1" and comm.gather(pieces, destination="cpu").device.type == "cpu"
    total = comm.reduce_add([there, x])
    assert str(total.device) == "cuda:0" and total.tolist() == (2 * x).tolist()
    with torch.cuda.device(1):                           # the current device is where it goes
        assert str(comm.reduce_add([x, there]).device) == str(comm.gather(pieces).device) == "cuda:1"
    assert comm.reduce_add_coalesced([[x, x], [there, there]])[1].tolist() == total.tolist()
    (whole.sum() + total.to(whole.device).sum() * 3).backward()
    assert x.grad.tolist() == [[8, 8]] * 3 and str(x.grad.device) == "cuda:0"
    y, here = x.detach(), torch.zeros(3, 2, device="cuda")
    for text, call in (
            ("don't sum up to the tensor's size 3", lambda: comm.scatter(x, (0, 1), [1, 1])),
            ("devices and chunk_sizes to be of same length", lambda: comm.scatter(x, (0, 1), [3])),
            ("at least one device to scatter to", lambda: comm.scatter(x, ())),
            ("at least one output tensor to scatter to", lambda: comm.scatter(x, out=[])),
            ("'devices' must not be specified", lambda: comm.scatter(x, (0, 1), out=[here])),
            ("output tensor at index 0 has device 'cpu'", lambda: comm.scatter(y, out=[here.cpu()])),
            ("Output tensor at index 0 has incorrect shape", lambda: comm.scatter(y, out=[here[:, :1]])),
            ("along scatter dim 0 does not match", lambda: comm.scatter(y, out=[here[:1], here[:1]])),
            ("Exactly one of 'devices' and 'out'", lambda: comm.broadcast(x, (0, 1), out=[here])),
            ("output tensor at index 1 has device 'cpu'", lambda: comm.broadcast(y, out=[here, here.cpu()])),
            ("output tensor at index 0 has shape (1, 2)", lambda: comm.broadcast(y, out=[here[:1]])),
            ("'destination' must not be specified", lambda: comm.gather(pieces, destination=0, out=here)),
            ("at least one tensor to gather from", lambda: comm.gather(())),
            ("input tensor at index 0 has device 'cpu'", lambda: comm.gather((here.cpu(), here))),
            ("the same number of dimensions", lambda: comm.gather((here, here[0]))),
            ("Input tensor at index 1 has invalid shape", lambda: comm.gather((here, here[:1]), dim=-1)),
            ("on the same GPU with one of the tensors", lambda: comm.reduce_add([here, here], 1))):
        raises(RuntimeError, text, call)
    raises(AssertionError, "to be on GPUs", lambda: comm.reduce_add([here.cpu()]))
    split = [torch.zeros(2, 2, device="cuda"), torch.zeros(1, 2, device="cuda:1")]
    assert comm.scatter(y, out=split)[1] is split[1] and comm.gather(split, out=here) is here and torch.equal(here, y)
    raises(RuntimeError, "cuda:1 and cuda:0", lambda: there + x)


@check
def modules_on_devices(torch):
    """A module moved to a device, and one on two of them, which gives what it gives on one, gradients too."""
    nn, parallel = torch.nn, torch.nn.parallel
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    expected = model(torch.ones(5, 3))
    expected.sum().backward()
    slopes = [p.grad.clone() for p in model.parameters()]
    moved = model.cuda()
    assert moved is model and all(p.is_cuda and isinstance(p, nn.Parameter) for p in model.parameters())
    model.zero_grad()
    if torch.cuda.device_count() > 1:
        plain = nn.DataParallel(nn.ReLU())(torch.ones(3, 2, device="cuda:1"))        # where its arguments are
        assert str(plain.device) == "cuda:0" and plain.tolist() == [[1, 1]] * 3
        both = nn.DataParallel(model)
        result = both(torch.ones(5, 3))
        assert str(result.device) == "cuda:0" and torch.allclose(result.cpu(), expected)
        result.sum().backward()
        assert all(torch.allclose(p.grad.cpu(), s) for p, s in zip(model.parameters(), slopes))
        assert both(torch.ones(1, 3)).shape == (1, 2)
        assert str(nn.DataParallel(model, [0, 1], output_device=1)(torch.ones(4, 3)).device) == "cuda:1"
        model.zero_grad()
        devices = ["cuda:0", "cuda:1"]
        copies, pieces = parallel.Replicate(devices)(model), parallel.Split(devices)(torch.ones(5, 3, device="cuda"))
        assert [str(next(iter(c[0]._parameters.values())).device) for c in copies] == devices
        result = parallel.Join()(parallel.ParallelApply(devices)(copies, pieces))
    else:
        result = model(torch.ones(5, 3, device="cuda"))
    result.sum().backward()
    assert all(torch.allclose(p.grad.cpu(), s) for p, s in zip(model.parameters(), slopes))
    before = [p.detach().cpu() for p in model.parameters()]
    torch.optim.Adam(model.parameters(), lr=0.5).step()
    assert all((p.detach().cpu() - b).abs().max() > 0.1 for p, b in zip(model.parameters(), before))
    assert not next(model.cpu().parameters()).is_cuda


@check
def types_and_the_accelerator(torch):
    """`torch.cuda.FloatTensor` and its like make what is there, and `torch.accelerator` is CUDA."""
    x, place = torch.cuda.FloatTensor([1.0, 2.0]), torch.accelerator
    assert isinstance(x, torch.cuda.FloatTensor) and not isinstance(x, torch.FloatTensor) and x.type() == "torch.cuda.FloatTensor"
    assert x.type(torch.LongTensor).device.type == "cpu" and isinstance(x.cpu().type("torch.cuda.IntTensor"), torch.cuda.IntTensor)
    assert isinstance(x.storage(), torch.cuda.FloatStorage) and x.storage().type() == "torch.cuda.FloatStorage"
    assert torch.cuda.LongTensor(2, 3).shape == (2, 3) and x.storage_type() is torch.cuda.FloatStorage
    assert place.memory_allocated() == torch.cuda.memory_allocated() > 0 and place.memory_reserved(0) >= place.memory_allocated()
    place.reset_peak_memory_stats(), place.reset_accumulated_memory_stats()
    assert place.max_memory_allocated("cuda") == place.memory_allocated() <= place.max_memory_reserved()
    assert place.memory_stats()["allocated_bytes.all.current"] == place.memory_allocated() and len(place.get_memory_info()) == 2
    assert torch.float32 in place.get_device_capability()["supported_dtypes"] and torch.get_device_module() is torch.cuda
    place.set_stream(place.current_stream())
    place.empty_host_cache()
    with place.Graph() as graph_of_nothing:
        x.add_(1)
    assert graph_of_nothing is None and x.tolist() == [1.0, 2.0]


@check
def pickles(torch):
    import pickle
    x = pickle.loads(pickle.dumps(torch.arange(3, device="cuda")))
    assert str(x.device) == "cuda:0" and x.tolist() == [0, 1, 2]


@check
def printing(torch):
    assert repr(torch.tensor([1.0, 2.5], device="cuda")) == "tensor([1.0000, 2.5000], device='cuda:0')"
    x = torch.ones(2, device="cuda")
    assert x.tolist() == [1, 1] and x.sum().item() == 2.0 and bool(x[0] == 1)


@check
def what_has_no_kernels(torch):
    from numtorch.ops.core.backends import has_kernels, kernels
    device = torch.device("cuda:0")
    assert has_kernels(device, "gemm.gemm") and not has_kernels(device, "gemm.pack")
    raises(NotImplementedError, ".cpu()", lambda: kernels(device, "gemm.pack"))
    raises(NotImplementedError, "no cuda kernel for nothing", lambda: kernels(device, "gemm.gemm").plan_nothing)


@check
def what_numpy_computes(torch):
    """Factorisations and Fourier transforms go through the host, which is said once."""
    import warnings
    x = torch.tensor([[2.0, 1.0], [1.0, 3.0]], device="cuda")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        results = [torch.linalg.inv(x), torch.linalg.cholesky(x), *torch.linalg.eigh(x), torch.linalg.cholesky_ex(-x).info,
                   torch.fft.fft(x), torch.fft.irfft(x), torch.linalg.det(x)]
    assert [str(w.message).split(" for ")[0] for w in said] == ["linalg.inv is computed on the host"], said
    assert all(r.device.type == "cuda" for r in results) and abs(results[-1].item() - 5) < 1e-5
