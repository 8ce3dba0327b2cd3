"""Names that programs use now and then, each call in both libraries: values, dtypes, shapes, strides, gradients, or the exception.

A line is an expression, or statements whose result is `out`. `A(2, 3)` is a tensor of normal numbers, `I(9, 2, 3)` one of integers
below 9, `g=True` records; `grads(f, x, ...)` gives f's results and their gradients.
"""
from __future__ import annotations

import numpy as np
import pytest

import numtorch

torch = pytest.importorskip("torch", reason="PyTorch is not installed to compare with")

CALLS = {
    "masked": """
T.masked.sum(A(3,4),1,mask=A(3,4)>0)
T.masked.mean(A(3,4),dim=0,mask=A(3,4)>0)
T.masked.mean(A(3,4),mask=A(4)>0)
T.masked.prod(A(3,4),1,keepdim=True,mask=A(3,4)>0)
T.masked.amax(A(3,4),1,mask=A(3,4)>0)
T.masked.amin(A(3,4),(0,1),mask=A(3,4)>0)
T.masked.argmax(A(3,4),1,mask=A(3,4)>0)
T.masked.argmin(A(3,4),1,mask=A(3,4)>0)
T.masked.cumsum(A(3,4),1,mask=A(3,4)>0)
T.masked.cumprod(A(3,4),0,mask=A(3,4)>0)
T.masked.softmax(A(3,4),1,mask=A(3,4)>0)
T.masked.log_softmax(A(3,4),1,mask=A(3,4)>0)
T.masked.softmin(A(3,4),1,mask=A(3,4)>0)
T.masked.normalize(A(3,4),2.0,1,mask=A(3,4)>0)
T.masked.norm(A(3,4),2,1,mask=A(3,4)>0)
T.masked.var(A(3,4),1,unbiased=False,mask=A(3,4)>0)
T.masked.std(A(3,4),1,mask=A(3,4)>0)
T.masked.median(A(3,5),1,mask=A(3,5)>0)
T.masked.logsumexp(A(3,4),1,mask=A(3,4)>0)
T.masked.logaddexp(A(3,4),A(3,4),input_mask=A(3,4)>0,other_mask=A(3,4)>0)
grads(lambda x: T.masked.std(x,1,mask=T.tensor([[1,1,0,1]]).bool()), A(3,4))
grads(lambda x: T.masked.logsumexp(x,1,mask=T.tensor([[1,1,0,1]]).bool()), A(3,4))
grads(lambda x: T.masked.softmax(x,0,mask=T.tensor([[1,1,0,1]]).bool()), A(3,4))
T.masked.sum(I(9,3,4),1,mask=A(3,4)>0)
T.masked.mean(I(9,3,4),1,mask=A(3,4)>0)
T.masked.sum(A(3,4).bfloat16(),1,mask=A(3,4)>0,dtype=T.float32)
T.masked.sum(A(3,4),1)
T.masked.mean(A(3,4),(0,1),keepdim=True)
T.masked.sum(A(3,4),5)
T.masked.amax(A(3,4),1,mask=T.zeros(3,4,dtype=T.bool))
T.masked.amax(I(5,3,4),1,mask=T.zeros(3,4,dtype=T.bool))
T.masked.median(A(3,4),1,mask=T.zeros(3,4,dtype=T.bool))
""",
    "windows": """
T.signal.windows.hann(7)
T.signal.windows.hann(8,sym=False,dtype=T.float64)
T.signal.windows.bartlett(5)
T.signal.windows.blackman(6,dtype=T.float64)
T.signal.windows.cosine(6,dtype=T.float64)
T.signal.windows.exponential(9,center=2.0,tau=3.0,sym=False,dtype=T.float64)
T.signal.windows.exponential(9,center=2.0)
T.signal.windows.gaussian(9,std=1.5,dtype=T.float64)
T.signal.windows.gaussian(9,std=0)
T.signal.windows.general_cosine(9,a=[.4,.3,.2,.1],dtype=T.float64)
T.signal.windows.general_cosine(9,a=[])
T.signal.windows.general_hamming(9,alpha=.6,dtype=T.float64)
T.signal.windows.hamming(9,dtype=T.float64)
T.signal.windows.kaiser(9,beta=5.,dtype=T.float64)
T.signal.windows.kaiser(9,beta=-1.)
T.signal.windows.nuttall(9,dtype=T.float64)
T.signal.windows.hann(0)
T.signal.windows.hann(1)
T.signal.windows.hann(-1)
T.signal.windows.hann(4.5)
T.signal.windows.hann(4,dtype=T.int64)
T.signal.windows.hann(4,dtype=T.float16)
T.signal.windows.hann(4,requires_grad=True)
T.hann_window(7)
T.hann_window(7,periodic=False,dtype=T.float64)
T.kaiser_window(7,True,4.0,dtype=T.float64)
T.hamming_window(7,False,0.5,0.5,dtype=T.float64)
T.bartlett_window(7,dtype=T.float64)
T.blackman_window(7,False,dtype=T.float64)
T.hann_window(4.5)
T.hann_window(-1)
T.hann_window(T.tensor(4))
T.hann_window(np.int64(4))
T.hann_window(True)
T.kaiser_window(4.5)
T.bartlett_window(4.5)
T.signal.windows.kaiser(4.5)
T.signal.windows.gaussian(4.5)
T.signal.windows.cosine(4.5)
T.signal.windows.exponential(4.5)
T.signal.windows.bartlett(4.0)
T.signal.windows.hann(np.int64(4))
T.signal.windows.hann(T.tensor(4))
""",
    "linear_cross_entropy": """
F.linear_cross_entropy(A(6,4),A(9,4),I(9,6))
grads(lambda x,w: F.linear_cross_entropy(x,w,T.tensor([1,2,3,0,5,8])),A(6,4),A(9,4))
grads(lambda x,w,b: F.linear_cross_entropy(x,w,T.tensor([1,2,-100,0,5,8]),linear_bias=b),A(6,4),A(9,4),A(9))
grads(lambda x,w: F.linear_cross_entropy(x,w,T.tensor([1,2,3,0,5,8]),label_smoothing=.1,reduction="sum"),A(6,4),A(9,4))
F.linear_cross_entropy(A(6,4),A(9,4),I(9,6),reduction="none")
F.linear_cross_entropy(A(6,4),A(9,4),A(6,9).softmax(1))
F.linear_cross_entropy(A(6,4),A(9,5),I(9,6))
""",
    "creation": """
T.linspace(0,1,4.5)
T.logspace(0,1,4.5)
T.linspace(0,1,True)
T.linspace(0,1,np.int64(3))
T.linspace(0,1,T.tensor(3))
T.linspace(0,1,-1)
T.empty_permuted((2,3,4),(2,0,1)).stride()
T.empty_permuted((2,3),(0,0))
T.empty_permuted((2,3),(0,))
T.empty_permuted((2,3,4),(0,2,1),dtype=T.float64).stride()
""",
    "copies": """
T.alias_copy(A(2,3).t())
T.as_strided_copy(A(4,4),(2,2),(1,2),1)
T.diagonal_copy(A(3,3),1)
T.expand_copy(A(1,3),(2,3))
T.narrow_copy(A(4,4),1,1,2)
T.permute_copy(A(2,3,4),(2,0,1))
T.select_copy(A(3,4),1,2)
T.slice_copy(A(5,4),0,1,5,2)
T.split_copy(A(5,4),2)
T.split_with_sizes_copy(A(5,4),(2,3))
T.squeeze_copy(A(1,3,1))
T.squeeze_copy(A(1,3,1),0)
T.squeeze_copy(A(1,3,1),(0,2))
T.t_copy(A(3,4))
T.transpose_copy(A(3,4,5),0,2)
T.unbind_copy(A(3,4))
T.unfold_copy(A(7),0,3,2)
T.unsqueeze_copy(A(3,4),1)
T.view_copy(A(3,4),(4,3))
T.view_copy(A(3,4),dtype=T.int64).shape
T.view_as_real_copy(T.complex(A(3),A(3)))
T.view_as_complex_copy(A(3,2))
T.crow_indices_copy(A(3,3).relu().to_sparse_csr())
T.col_indices_copy(A(3,3).relu().to_sparse_csr())
T.ccol_indices_copy(A(3,3).relu().to_sparse_csc())
T.row_indices_copy(A(3,3).relu().to_sparse_csc())
T.values_copy(A(3,3).relu().to_sparse_csr())
T.expand_copy(A(1,3),(2,3),implicit=True)
T.expand_copy(A(1,3),[2,3]).stride()
T.permute_copy(A(2,3),(1,0),out=T.empty(0,dtype=T.float64))
grads(lambda x: T.diagonal_copy(x,1), A(3,4))
grads(lambda x: T.unfold_copy(x,0,3,2), A(7))
grads(lambda x: T.split_copy(x,2), A(5,4))
grads(lambda x: T.as_strided_copy(x,(2,2),(1,2),1), A(4,4))
T.view_copy(A(3,4),T.int64)
T.view_copy(A(3,4),size=(12,))
T.view_copy(A(3,4),(12,),T.int64)
T.view_copy(A(3,4))
T.view_copy(input=A(3,4),dtype=T.int32)
T.expand_copy(A(1,3),size=(2,3),implicit=False)
T.select_copy(A(3,4),dim=0,index=1)
T.slice_copy(A(5),dim=0,start=1)
T.slice_copy(A(5))
T.unfold_copy(A(7),dimension=0,size=3,step=2)
T.squeeze_copy(A(1,3),dim=0)
T.transpose_copy(A(2,3),dim0=0,dim1=1)
T.split_with_sizes_copy(A(5),[2,3],dim=0)
""",
    "native_norms": """
T.native_layer_norm(A(3,4),(4,),A(4),A(4),1e-5)
T.native_layer_norm(A(3,4),(4,),None,None,1e-5)
T.native_group_norm(A(2,6,5),A(6),A(6),2,6,5,3,1e-5)
T.native_batch_norm(A(3,4,2),A(4),A(4),T.zeros(4).double(),T.ones(4).double(),True,.1,1e-5)
T.native_batch_norm(A(3,4,2),A(4),A(4),T.zeros(4).double(),T.ones(4).double(),False,.1,1e-5)
T.native_norm(A(3,4))
T.native_norm(A(3,4),2.5)
T.native_norm(A(3,4),2,(1,),True,None)
grads(lambda x,w,b: T.native_layer_norm(x,(4,),w,b,1e-5), A(3,4),A(4),A(4))
grads(lambda x,w,b: T.native_group_norm(x,w,b,2,6,5,3,1e-5), A(2,6,5),A(6),A(6))
grads(lambda x,w,b: T.native_batch_norm(x,w,b,None,None,True,.1,1e-5)[0], A(3,4,2),A(4),A(4))
T.native_dropout(A(3),0.5,False)
T.native_channel_shuffle(A(1,4,3,2),2)
""",
    "hash_tensor": """
T.hash_tensor(A(3,4))
T.hash_tensor(A(3,4),1)
T.hash_tensor(A(3,4),(0,1),keepdim=True)
T.hash_tensor(A(3,4).float(),1,mode=0)
T.hash_tensor(I(9,3,4),0)
T.hash_tensor(A(3,4)>0,0)
T.hash_tensor(A(3,4).bfloat16(),0)
A(3,4).hash_tensor(1)
T.hash_tensor(A(3,4),mode=1)
T.hash_tensor(T.complex(A(3),A(3)))
T.hash_tensor(A(0))
T.hash_tensor(A(0),0)
T.hash_tensor(A(0,3),0)
T.hash_tensor(A(0,3),1)
T.hash_tensor(A(0,3),(0,1))
T.hash_tensor(A(0,3),())
T.hash_tensor(T.tensor(2.))
""",
    "segment_reduce": """
T.segment_reduce(A(6),"sum",lengths=T.tensor([2,3,1]))
T.segment_reduce(A(6),"mean",lengths=T.tensor([2,3,1]))
T.segment_reduce(A(6),"max",offsets=T.tensor([0,2,5,6]))
T.segment_reduce(A(6,2),"min",offsets=T.tensor([0,2,5,6]))
T.segment_reduce(A(2,6),"prod",lengths=T.tensor([[2,4],[3,3]]),axis=1)
T.segment_reduce(A(6),"sum",lengths=T.tensor([2,3]),unsafe=False)
T.segment_reduce(A(6),"sum",lengths=T.tensor([2,3,1]),initial=7.)
T.segment_reduce(A(6),"nope",lengths=T.tensor([2,3,1]))
T.segment_reduce(A(6),"sum")
T.segment_reduce(A(6),"mean",lengths=T.tensor([2,0,4]))
T.segment_reduce(A(6),"max",lengths=T.tensor([2,0,4]))
grads(lambda x: T.segment_reduce(x,"max",lengths=T.tensor([2,3,1])), A(6))
grads(lambda x: T.segment_reduce(x,"prod",lengths=T.tensor([2,3,1])), A(6))
grads(lambda x: T.segment_reduce(x,"mean",lengths=T.tensor([2,3,1])), A(6,3))
""",
    "airy_ai": """
T.special.airy_ai(A(9).float()*30)
T.special.airy_ai(I(9,4))
T.special.airy_ai(A(3,g=True))
T.special.airy_ai(A(3),out=T.empty(3,dtype=T.float64))
A(3).airy_ai()
T.special.airy_ai(T.tensor([float("inf"),-float("inf"),float("nan"),0.,120.]))
""",
    "images": """
F.interpolate(A(1,2,9,7),size=(4,3),mode="bilinear",antialias=True)
F.interpolate(A(1,2,9,7),size=(4,12),mode="bicubic",antialias=True)
F.interpolate(A(1,2,9,7),scale_factor=.5,mode="bicubic",antialias=True,align_corners=True)
F.interpolate(A(1,2,9,7),scale_factor=(.4,.7),mode="bilinear",antialias=True,recompute_scale_factor=True)
grads(lambda x: F.interpolate(x,size=(4,3),mode="bilinear",antialias=True), A(1,2,9,7))
grads(lambda x: F.interpolate(x,size=(4,3),mode="bicubic",antialias=True), A(1,2,9,7))
F.interpolate(I(255,1,3,9,7,dtype=np.uint8),size=(4,3),mode="bilinear",antialias=True)
F.interpolate(I(255,1,3,9,7,dtype=np.uint8),size=(14,13),mode="bicubic",antialias=True)
F.interpolate(A(1,2,9),size=4,mode="linear",antialias=True)
F.interpolate(A(1,2,9,7),size=(4,3),mode="nearest",antialias=True)
F.upsample(A(1,2,3,3),scale_factor=2,mode="bilinear")
T.nn.Upsample(scale_factor=2,mode="bicubic")(A(1,2,3,3))
""",
    "chalf": """
A(3).chalf()
T.complex(A(3),A(3)).chalf()
A(3).float().chalf(memory_format=T.preserve_format)
T.zeros(3,dtype=T.chalf)
T.zeros(2,dtype=T.complex32)+1j
""",
    "uint8_masks_and_indices": """
A(4)[T.tensor([1,0,1,1],dtype=T.uint8)]
A(3,4)[T.tensor([1,0,1],dtype=T.uint8)]
A(3,4)[T.tensor([1,0,1],dtype=T.uint8),:2]
out=A(4); out[T.tensor([1,0,1,1],dtype=T.uint8)]+=5.
A(4).masked_fill(T.tensor([1,0,1,1],dtype=T.uint8),2.)
A(4).masked_select(T.tensor([1,0,1,1],dtype=T.uint8))
A(4).masked_scatter(T.tensor([1,0,1,1],dtype=T.uint8),A(4))
T.where(T.tensor([1,0,1,1],dtype=T.uint8),A(4),A(4))
T.tensor([1,0,3],dtype=T.uint8).all()
T.tensor([1,0,3],dtype=T.uint8).any()
A(4)[T.tensor([1,3],dtype=T.int32)]
A(4)[T.tensor([1,3],dtype=T.int16)]
A(4)[T.tensor([1,3],dtype=T.int8)]
A(4).index_select(0,T.tensor([1,3],dtype=T.int32))
A(4).index_select(0,T.tensor([1,3],dtype=T.uint8))
T.gather(A(4),0,T.tensor([1,3],dtype=T.uint8))
T.take(A(4),T.tensor([1,3],dtype=T.uint8))
A(3,4)[T.tensor([0,1,2,3],dtype=T.uint8)]
A(4)[T.tensor(1,dtype=T.uint8)]
A(4)[T.tensor(1,dtype=T.int32)]
A(4).index_fill(0,T.tensor([1,2],dtype=T.uint8),3.)
A(4).index_fill(0,T.tensor([1,2],dtype=T.uint8),3.)
A(4).index_fill_(0,T.tensor([1,2],dtype=T.uint8),3.)
A(4).index_fill(0,A(2),3.)
A(4).index_add(0,T.tensor([1,2],dtype=T.uint8),A(2))
A(4).index_copy(0,T.tensor([1,2],dtype=T.uint8),A(2))
A(4).index_select(0,A(2))
""",
    "functions_in_python": """
A(3).map_(A(3),lambda a,b: a*b)
A(3).map2_(A(3),A(3),lambda a,b,c: a*b+c)
A(3).apply_(lambda v: v+1)
A(3,g=True).map_(A(3),lambda a,b: a*b)
A(2,3).map_(A(3),lambda a,b: a-b)
A(3).map_(A(3).float(),lambda a,b: a-b)
I(9,3).map_(I(9,3),lambda a,b: a-b)
I(9,3).apply_(lambda v: v*2)
A(3).apply_(lambda v: "x")
I(9,3).apply_(lambda v: v*0.5)
I(9,3).apply_(lambda v: v>2)
A(3).apply_(lambda v: v>0)
A(3).apply_(lambda v: None)
A(3).apply_(lambda v: np.float32(2.5))
A(3).apply_(lambda v: T.tensor(2.5))
A(3).apply_(lambda v: 1j)
T.complex(A(3),A(3)).apply_(lambda v: v*1j)
(A(3)>0).apply_(lambda v: not v)
(A(3)>0).apply_(lambda v: 2)
I(9,3,dtype=np.uint8).apply_(lambda v: 300)
I(9,3).map_(I(9,3),lambda a,b: a*0.5)
A(3).map_(A(3),lambda a,b: "x")
A(3).map_(A(3),5)
A(3).apply_(5)
A(3).map_(A(4),lambda a,b: a)
A(3).map_(2.0,lambda a,b: a)
A(3).map2_(A(3).float(),A(3),lambda a,b,c: a)
A(3).map2_(A(3),A(3).float(),lambda a,b,c: a)
""",
    "new": """
A(3).new(size=(2,3)).shape
A(3).new(2,3).shape
A(3).new([1,2,3])
A(3).new((1.,2.))
A(3).new().shape
A(3).new(A(2))
A(3).new(np.array([1.,2.]))
A(3).new(T.Size([2,2])).shape
A(3).new(device="cpu").shape
A(3).new(2.5)
I(3,3).new([1.5])
A(3).new(A(2).float())
A(3).new(I(9,2))
A(3).new(range(3))
A(3).new(None)
A(3).new("ab")
A(3).new(size=3)
A(3).new(size=(2,),device="cpu").shape
""",
    "typed_constructors": """
T.DoubleTensor(np.array([1.,2.]))
a=np.array([1.,2.]); t=T.DoubleTensor(a); t[0]=9; out=[float(a[0]),t]
a=np.array([1.,2.]); t=T.FloatTensor(a); t[0]=9; out=[float(a[0]),t]
a=np.array([1,2]); t=T.LongTensor(a); t[0]=9; out=[float(a[0]),t]
a=np.array([1,2],dtype=np.uint8); t=T.ByteTensor(a); t[0]=9; out=[float(a[0]),t]
a=np.array([[1.,2.],[3,4]]).T; t=T.DoubleTensor(a); out=[t]
T.DoubleTensor(2,3).shape
T.DoubleTensor([1,2])
T.DoubleTensor(T.FloatTensor([1,2]))
T.DoubleTensor(A(3))
T.FloatTensor(A(3))
T.FloatTensor((2,3))
T.FloatTensor(T.Size([2,3])).shape
T.FloatTensor(5).shape
T.FloatTensor().shape
T.FloatTensor(device="cpu").shape
T.LongTensor([[1,2],[3,4]])
T.LongTensor([1.7])
T.Tensor([1,2]).dtype
T.Tensor(2,3).shape
T.Tensor(np.array([1.,2.]))
T.BoolTensor([True,False])
T.HalfTensor([1.5])
T.BFloat16Tensor([1.5])
T.CharTensor([1]).dtype
T.ShortTensor([1]).dtype
T.IntTensor([1]).dtype
T.Tensor(A(3).float().storage())
T.DoubleTensor(A(3).storage())
T.FloatTensor(A(3).float().untyped_storage())
T.Tensor(A(2))
T.Tensor(A(2).float())
T.Tensor(I(9,2))
T.Tensor(2.5)
T.Tensor("ab")
T.Tensor(None)
T.FloatTensor(2.5)
T.FloatTensor(None)
T.LongTensor(A(2))
T.LongTensor(I(9,2))
T.LongTensor(T.tensor(3))
T.FloatTensor(T.tensor(3)).shape
T.LongTensor(np.int64(3)).shape
T.LongTensor(3,np.int64(2)).shape
T.FloatTensor(2,2.5)
T.FloatTensor([2.5],3)
T.FloatTensor(range(3))
T.Tensor(size=(2,3)).shape
T.FloatTensor(size=(2,3)).shape
T.FloatTensor(True)
T.FloatTensor([[1,2],[3]])
T.FloatTensor((T.tensor(1.),T.tensor(2.)))
T.FloatTensor(-1)
T.HalfTensor(A(2).half())
""",
    "layouts": """
str(T.sparse_coo)
A(3,3).to_sparse().layout == T.sparse_coo
T.zeros(3,3,layout=T.sparse_coo)
T.empty(3,3,layout=T.sparse_coo).shape
T.ones(2,layout=T.sparse_coo)
A(3).layout == T.strided
A(3,3).to_sparse(layout=T.sparse_csr)
A(3,3).to(T.sparse_coo)
[str(l) for l in (T.sparse_csr,T.sparse_csc,T.sparse_bsr,T.sparse_bsc,T.strided)]
isinstance(T.sparse_coo,T.layout)
T.sparse_coo_tensor(T.tensor([[0,1],[2,0]]),T.tensor([3.,4.]),(2,3))
""",
    "storages": """
x=A(2,3).float(); s=x.storage(); out=[len(s),s.tolist(),s[1],s.nbytes(),s.element_size(),type(s).__name__,str(s.dtype),s.size()]
x=A(2,3); s=x.untyped_storage(); out=[len(s),s.nbytes(),s[0],type(s).__name__,s.tolist()[:5], str(s.device)]
x=A(2,3); s=x.storage(); s[0]=7.; out=[x,s[1:3].tolist(),s.data_ptr()==x.data_ptr()]
x=A(2,3); s=x.storage(); s[1:3]=0.; out=[x]
x=A(2,3); s=x.storage(); s.fill_(3.); out=[x]
s=T.FloatStorage(4); out=[len(s),str(s.dtype),s.nbytes()]
s=T.FloatStorage([1,2,3]); out=[s.tolist(),s[2],list(s),s.type()]
s=T.FloatStorage([1,2,3]); out=[T.FloatTensor(s), T.tensor(s)]
s=T.FloatStorage([1,2,3]); t=T.FloatTensor(s); t[0]=9; out=[s[0]]
s=T.LongStorage([1,2,3]); out=[s.double().tolist(),s.float().type(),s.int().tolist(),s.bool().tolist(),s.half().tolist()]
s=T.UntypedStorage(8); s.fill_(1); out=[s.tolist(),len(s),s.nbytes(),s[2:4].tolist()]
s=T.UntypedStorage([1,2,3]); out=[s.tolist(), s.clone().tolist(), bytes(s.tolist())==b"\\x01\\x02\\x03"]
s=T.TypedStorage([1,2,3],dtype=T.int16); out=[s.tolist(),str(s.dtype),s.nbytes()]
s=T.TypedStorage(3,dtype=T.float64); out=[len(s)]
x=A(4); y=x[1:]; out=[y.storage().tolist(), y.storage_offset(), y.untyped_storage().data_ptr()==x.untyped_storage().data_ptr()]
x=A(4); s=x.storage(); out=[s.clone().tolist(), s.cpu().tolist(), s.is_cuda, s.is_pinned(), s.is_shared()]
x=A(4); s=x.storage(); s.resize_(6); out=[len(s), x.shape]
s=T.DoubleStorage([1.,2.]); s.copy_(T.DoubleStorage([5.,6.])); out=[s.tolist()]
s=T.FloatStorage([1.,2.]); s.copy_(T.DoubleStorage([5.,6.])); out=[s.tolist()]
x=T.empty(0,dtype=T.float64).set_(T.DoubleStorage([1.,2.,3.,4.]),1,(2,),(1,)); out=[x]
x=T.empty(0,dtype=T.float64).set_(A(4).untyped_storage(),1,(2,),(1,)); out=[x]
x=A(3); out=[x.storage_type().__name__]
out=[repr(T.FloatStorage([1,2]))]
out=[repr(T.UntypedStorage([1,2]))]
out=[T.is_storage(T.FloatStorage(2)),T.is_storage(A(2)),T.is_storage(T.UntypedStorage(2))]
s=T.FloatStorage([1,2]); out=[s[5]]
s=T.FloatStorage([1,2]); out=[s["a"]]
s=T.FloatStorage([1,2]); out=[s[-1], s[::2].tolist()]
s=T.FloatStorage([1,2,3]); out=[s[::-1].tolist()]
import pickle, copy; s=T.FloatStorage([1,2,3]); out=[pickle.loads(pickle.dumps(s)).tolist(), copy.deepcopy(s).tolist(), copy.copy(s).tolist()]
s=A(3).storage(); out=[s.untyped().nbytes(), s.device.type, s.element_size()]
s=T.ByteStorage.from_buffer(b"\\x01\\x02\\x03\\x04","native"); out=[s.tolist()]
s=T.FloatStorage.from_buffer(b"\\x00\\x00\\x80\\x3f\\x00\\x00\\x00\\x40","little"); out=[s.tolist()]
s=T.UntypedStorage.from_buffer(b"\\x00\\x01\\x00\\x02",byte_order="big",dtype=T.int16); out=[s.tolist()]
out=[T.FloatStorage([1,2])==T.FloatStorage([1,2])]
x=A(4); out=[x.untyped_storage().byteswap(T.float64) , x]
s=T.ComplexFloatStorage([1+2j]); out=[s.tolist(), s.nbytes()]
s=T.BFloat16Storage([1.5,2]); out=[s.tolist(), s[0]]
s=T.BoolStorage([True,False]); out=[s.tolist(),s[0]]
s=T.FloatStorage([1,2]); s.share_memory_(); out=[s.is_shared()]
out=T.DoubleTensor(A(2,3).storage())
x=A(3); y=T.DoubleTensor(x.storage()); y[0]=4; out=[x]
out=T.FloatTensor(T.FloatStorage([1,2]))
""",
    "named_in_the_table_of_operations": """
T.linalg.pinv(A(4,4)@T.eye(4).double(),hermitian=True)
x=A(4,4); out=T.linalg.pinv(x+x.T,hermitian=True)
grads(lambda x: T.linalg.pinv(x+x.mT,hermitian=True), A(4,4))
T.linalg.pinv(A(4,3),rtol=.1)
T.linalg.pinv(A(4,3),atol=.5)
T.histogram(A(20),5)
T.histogram(A(20),5,range=(-1.,1.))
T.histogram(A(20),T.tensor([-1.,0.,.5,2.]).double(),weight=A(20).abs(),density=True)
T.histogram(A(20),5,density=True)
T.histogram(I(9,20),5)
T.histogramdd(A(20,2),[3,4])
T.histc(A(20),5,-1,1)
T.special.chebyshev_polynomial_v(A(9),I(9,9))
T.special.chebyshev_polynomial_w(A(9),I(9,9))
T.special.chebyshev_polynomial_v(A(9),3)
T.special.chebyshev_polynomial_w(A(9)*2,12)
T.special.chebyshev_polynomial_t(A(9),5)
T.special.chebyshev_polynomial_u(A(9),5)
T.special.shifted_chebyshev_polynomial_t(A(9).abs()%1,5)
T.special.shifted_chebyshev_polynomial_u(A(9).abs()%1,5)
T.special.shifted_chebyshev_polynomial_v(A(9).abs()%1,5)
T.special.shifted_chebyshev_polynomial_w(A(9).abs()%1,5)
T.arange(0.5,5,dtype=T.int64)
T.arange(0.5,5.7,1.3,dtype=T.int64)
T.arange(5.9,dtype=T.int64)
T.arange(-2.5,3,.5,dtype=T.int64)
T.arange(3,0,-.7,dtype=T.int64)
T.linspace(0.5,5.7,4,dtype=T.int64)
T.linspace(-3.9,5.7,7,dtype=T.int64)
T.linspace(0,10,4,dtype=T.int32)
T.linspace(-1,1,5,dtype=T.uint8)
T.logspace(0.5,2.7,4,dtype=T.int64)
T.logspace(0,3,5,base=2.5,dtype=T.int64)
T.logspace(0.,1.,3,dtype=T.float16)
T.range(0.5,5,dtype=T.int64)
T.diff(A(5),prepend=A(2))
T.diff(A(5),n=2,prepend=A(2),append=A(1))
T.diff(A(3,5),n=2,dim=0)
T.diff(A(3,5),n=3,dim=1,prepend=A(3,1))
T.diff(A(3)>0,n=2)
T.diff(A(3),n=5)
T.diff(A(3),n=0)
T.diff(A(3),n=-1)
T.diff(I(9,5,dtype=np.uint8),n=2)
T.gradient(A(5))
T.gradient(A(4,5),spacing=None)
T.gradient(A(4,5),spacing=2.,dim=None)
T.gradient(A(4,5),dim=None,edge_order=2)
T.gradient(A(4,5),spacing=(2.,3.))
T.gradient(A(4,5),spacing=(T.arange(4.).double()**2,T.arange(5.).double()))
T.gradient(A(4,5),spacing=[T.arange(5.).double()],dim=1)
T.gradient(A(4,5),spacing=1,dim=(1,0))
T.gradient(T.complex(A(5),A(5)),spacing=2)
T.linalg.lstsq(A(3,5),A(3,2)).residuals
T.linalg.lstsq(A(5,3),A(5,2),driver="gelss")[1:]
T.linalg.lstsq(A(5,3),A(5))
F.conv1d(I(9,2,3,8),I(5,4,3,3))
F.conv2d(I(9,2,3,8,7),I(5,4,3,3,2),I(5,4),stride=2,padding=1)
F.conv2d(I(9,2,4,8,7),I(5,4,2,3,2),groups=2,dilation=2)
F.conv3d(I(9,1,2,5,5,5),I(5,3,2,2,2,2))
F.conv2d(I(9,1,1,5,5,dtype=np.uint8),I(50,1,1,3,3,dtype=np.uint8))
F.conv2d(I(9,1,1,5,5,dtype=np.int8),I(50,1,1,3,3,dtype=np.int8))
F.conv_transpose2d(I(9,1,2,5,5),I(5,2,3,2,2),stride=2)
F.max_pool2d(I(99,1,2,7,7),3,2)
F.max_pool2d(I(99,1,2,7,7),3,2,return_indices=True)
F.max_pool1d(I(99,1,2,7),3)
F.max_pool3d(I(99,1,2,6,6,6),2)
F.avg_pool2d(I(99,1,2,7,7),3,2)
F.avg_pool1d(I(99,1,2,7),3)
F.adaptive_avg_pool2d(I(99,1,2,7,7),3)
F.adaptive_max_pool2d(I(99,1,2,7,7),3)
F.max_pool2d(I(99,1,2,7,7,dtype=np.uint8),3)
F.conv2d(A(1,1,5,5)>0,A(1,1,3,3)>0)
T.linalg.lstsq(A(5,3),A(5,2)).residuals
T.linalg.lstsq(A(2,5,3),A(2,5,2),driver="gelsd")[1:]
""",
    "others": """
T.special.hermite_polynomial_h(A(9),5)
T.special.hermite_polynomial_he(A(9),5)
T.special.laguerre_polynomial_l(A(9),5)
T.special.legendre_polynomial_p(A(9),5)
T.matmul(I(9,3,4,dtype=np.uint8),I(9,4,2,dtype=np.uint8))
T.bmm(I(9,2,3,4),I(9,2,4,2))
T.einsum("ij,jk->ik",I(9,3,4),I(9,4,2))
T.mv(I(9,3,4),I(9,4))
T.addmm(I(9,3,2),I(9,3,4),I(9,4,2),beta=2,alpha=3)
T.cdist(I(9,3,2),I(9,4,2))
T.dot(I(9,3,dtype=np.int8),I(9,3,dtype=np.int8))
T.cross(I(9,3),I(9,3),dim=0)
T.tensordot(I(9,3,4),I(9,4,2),1)
T.linalg.matrix_power(I(3,3,3),3)
T.linalg.matrix_power(A(3,3),-2)
T.linalg.multi_dot([A(2,3),A(3,4),A(4,1)])
T.trapezoid(I(9,5))
T.cumulative_trapezoid(A(5),dx=2)
T.bincount(I(5,9))
T.bincount(I(5,9),weights=A(9),minlength=8)
T.renorm(A(3,4),2,0,1.)
T.block_diag(A(2,2),A(1,3),T.tensor(2.).double())
T.cartesian_prod(I(9,2),I(9,3))
T.combinations(I(9,4),2,with_replacement=True)
T.vander(A(3),4,increasing=True)
T.tril_indices(3,4,1)
T.nanquantile(A(3,5),.3,dim=1,interpolation="higher")
T.bucketize(A(4),T.tensor([-1.,0.,1.]).double(),right=True,out_int32=True)
T.searchsorted(T.tensor([[0.,1.,2.],[1.,2.,3.]]).double(),A(2,2),side="right")
T.unique_consecutive(T.tensor([1,1,2,2,1]),return_inverse=True,return_counts=True)
T.cov(A(3,6),correction=0,fweights=I(5,6)+1)
T.corrcoef(A(3,6))
T.kron(A(2,2),A(2,3))
T.logcumsumexp(A(3,4),1)
T.cummax(A(3,4),1)
T.aminmax(A(3,4),dim=1)
T.mode(I(3,3,9),1)[0]
T.msort(A(4,2))
T.float_power(I(9,3),-1)
T.ldexp(A(3),I(5,3))
T.frexp(A(4))
T.nextafter(A(3),A(3))
T.heaviside(T.tensor([-1.,0.,2.]),T.tensor([.5]))
T.polygamma(2,A(3).abs())
T.igamma(A(3).abs(),A(3).abs())
T.igammac(A(3).abs(),A(3).abs())
T.special.zeta(A(3).abs()+1.5,A(3).abs()+1)
T.mvlgamma(A(3).abs()+3,3)
T.clamp(A(3),max=T.tensor(.1).double())
T.cumulative_trapezoid(I(9,4))
T.multinomial(T.tensor([0.,1.,0.]),3,replacement=True)
T.rot90(A(2,3,4),3,(0,2))
T.repeat_interleave(A(3),T.tensor([1,0,2]))
T.tile(A(2),(2,2))
T.take_along_dim(A(2,3),T.tensor([[2],[0]]),1)
T.index_reduce(A(4),0,T.tensor([0,0,2]),A(3),"mean",include_self=False)
T.scatter_reduce(A(4),0,T.tensor([0,0,2]),A(3),"prod")
T.put(A(4),T.tensor([1,3]),A(2),accumulate=True)
T.isin(I(9,5),T.tensor([2,5]),invert=True)
T.slice_scatter(A(4,4),A(2,4),0,1,3)
T.select_scatter(A(4,4),A(4),1,2)
T.diagonal_scatter(A(4,4),A(4))
T.as_strided_scatter(A(6),A(2),(2,),(2,),1)
T.column_stack((A(3),A(3,2)))
T.dstack((A(2,2),A(2,2)))
T.hsplit(A(4,6),3)
T.tensor_split(A(7),3)
T.atleast_3d(A(2))
T.broadcast_shapes((2,1),(3,))
T.result_type(T.tensor(1,dtype=T.uint8),2.5)
T.can_cast(T.float64,T.int32)
T.promote_types(T.int8,T.uint8)
T.quantile(A(3,5),T.tensor([.2,.7]).double(),dim=1)
""",
    "numbers_that_do_not_fit": """
T.ones(2,dtype=T.uint8).clamp(300,7)
T.ones(2,dtype=T.uint8).clamp(max=300)
T.ones(2,dtype=T.uint8).clamp_min(300)
T.ones(2,dtype=T.uint8).clamp_max_(300)
T.ones(2,dtype=T.uint8).clamp_(0,300)
T.where(T.tensor([True,False]),T.ones(2,dtype=T.uint8),300)
T.where(T.tensor([True,False]),300,T.ones(2,dtype=T.uint8))
T.ones(2,dtype=T.uint8).where(T.tensor([True,False]),300)
T.ones(2,dtype=T.uint8)+300
T.ones(2,dtype=T.uint8).clamp(-1,7)
T.ones(2,dtype=T.uint8).clamp(max=-1)
T.ones(2,dtype=T.uint8).clamp_min(-1)
T.ones(2,dtype=T.uint8).clamp_max_(-1)
T.ones(2,dtype=T.uint8).clamp_(0,-1)
T.where(T.tensor([True,False]),T.ones(2,dtype=T.uint8),-1)
T.where(T.tensor([True,False]),-1,T.ones(2,dtype=T.uint8))
T.ones(2,dtype=T.uint8).where(T.tensor([True,False]),-1)
T.ones(2,dtype=T.uint8)+-1
T.ones(2,dtype=T.uint8).clamp(-300,7)
T.ones(2,dtype=T.uint8).clamp(max=-300)
T.ones(2,dtype=T.uint8).clamp_min(-300)
T.ones(2,dtype=T.uint8).clamp_max_(-300)
T.ones(2,dtype=T.uint8).clamp_(0,-300)
T.where(T.tensor([True,False]),T.ones(2,dtype=T.uint8),-300)
T.where(T.tensor([True,False]),-300,T.ones(2,dtype=T.uint8))
T.ones(2,dtype=T.uint8).where(T.tensor([True,False]),-300)
T.ones(2,dtype=T.uint8)+-300
T.ones(2,dtype=T.uint8).clamp(2**40,7)
T.ones(2,dtype=T.uint8).clamp(max=2**40)
T.ones(2,dtype=T.uint8).clamp_min(2**40)
T.ones(2,dtype=T.uint8).clamp_max_(2**40)
T.ones(2,dtype=T.uint8).clamp_(0,2**40)
T.where(T.tensor([True,False]),T.ones(2,dtype=T.uint8),2**40)
T.where(T.tensor([True,False]),2**40,T.ones(2,dtype=T.uint8))
T.ones(2,dtype=T.uint8).where(T.tensor([True,False]),2**40)
T.ones(2,dtype=T.uint8)+2**40
T.ones(2,dtype=T.uint8).clamp(5,7)
T.ones(2,dtype=T.uint8).clamp(max=5)
T.ones(2,dtype=T.uint8).clamp_min(5)
T.ones(2,dtype=T.uint8).clamp_max_(5)
T.ones(2,dtype=T.uint8).clamp_(0,5)
T.where(T.tensor([True,False]),T.ones(2,dtype=T.uint8),5)
T.where(T.tensor([True,False]),5,T.ones(2,dtype=T.uint8))
T.ones(2,dtype=T.uint8).where(T.tensor([True,False]),5)
T.ones(2,dtype=T.uint8)+5
T.ones(2,dtype=T.int8).clamp(300,7)
T.ones(2,dtype=T.int8).clamp(max=300)
T.ones(2,dtype=T.int8).clamp_min(300)
T.ones(2,dtype=T.int8).clamp_max_(300)
T.ones(2,dtype=T.int8).clamp_(0,300)
T.where(T.tensor([True,False]),T.ones(2,dtype=T.int8),300)
T.where(T.tensor([True,False]),300,T.ones(2,dtype=T.int8))
T.ones(2,dtype=T.int8).where(T.tensor([True,False]),300)
T.ones(2,dtype=T.int8)+300
T.ones(2,dtype=T.int8).clamp(-1,7)
T.ones(2,dtype=T.int8).clamp(max=-1)
T.ones(2,dtype=T.int8).clamp_min(-1)
T.ones(2,dtype=T.int8).clamp_max_(-1)
T.ones(2,dtype=T.int8).clamp_(0,-1)
T.where(T.tensor([True,False]),T.ones(2,dtype=T.int8),-1)
T.where(T.tensor([True,False]),-1,T.ones(2,dtype=T.int8))
T.ones(2,dtype=T.int8).where(T.tensor([True,False]),-1)
T.ones(2,dtype=T.int8)+-1
T.ones(2,dtype=T.int8).clamp(-300,7)
T.ones(2,dtype=T.int8).clamp(max=-300)
T.ones(2,dtype=T.int8).clamp_min(-300)
T.ones(2,dtype=T.int8).clamp_max_(-300)
T.ones(2,dtype=T.int8).clamp_(0,-300)
T.where(T.tensor([True,False]),T.ones(2,dtype=T.int8),-300)
T.where(T.tensor([True,False]),-300,T.ones(2,dtype=T.int8))
T.ones(2,dtype=T.int8).where(T.tensor([True,False]),-300)
T.ones(2,dtype=T.int8)+-300
T.ones(2,dtype=T.int8).clamp(2**40,7)
T.ones(2,dtype=T.int8).clamp(max=2**40)
T.ones(2,dtype=T.int8).clamp_min(2**40)
T.ones(2,dtype=T.int8).clamp_max_(2**40)
T.ones(2,dtype=T.int8).clamp_(0,2**40)
T.where(T.tensor([True,False]),T.ones(2,dtype=T.int8),2**40)
T.where(T.tensor([True,False]),2**40,T.ones(2,dtype=T.int8))
T.ones(2,dtype=T.int8).where(T.tensor([True,False]),2**40)
T.ones(2,dtype=T.int8)+2**40
T.ones(2,dtype=T.int8).clamp(5,7)
T.ones(2,dtype=T.int8).clamp(max=5)
T.ones(2,dtype=T.int8).clamp_min(5)
T.ones(2,dtype=T.int8).clamp_max_(5)
T.ones(2,dtype=T.int8).clamp_(0,5)
T.where(T.tensor([True,False]),T.ones(2,dtype=T.int8),5)
T.where(T.tensor([True,False]),5,T.ones(2,dtype=T.int8))
T.ones(2,dtype=T.int8).where(T.tensor([True,False]),5)
T.ones(2,dtype=T.int8)+5
T.ones(2,dtype=T.int32).clamp(300,7)
T.ones(2,dtype=T.int32).clamp(max=300)
T.ones(2,dtype=T.int32).clamp_min(300)
T.ones(2,dtype=T.int32).clamp_max_(300)
T.ones(2,dtype=T.int32).clamp_(0,300)
T.where(T.tensor([True,False]),T.ones(2,dtype=T.int32),300)
T.where(T.tensor([True,False]),300,T.ones(2,dtype=T.int32))
T.ones(2,dtype=T.int32).where(T.tensor([True,False]),300)
T.ones(2,dtype=T.int32)+300
T.ones(2,dtype=T.int32).clamp(-1,7)
T.ones(2,dtype=T.int32).clamp(max=-1)
T.ones(2,dtype=T.int32).clamp_min(-1)
T.ones(2,dtype=T.int32).clamp_max_(-1)
T.ones(2,dtype=T.int32).clamp_(0,-1)
T.where(T.tensor([True,False]),T.ones(2,dtype=T.int32),-1)
T.where(T.tensor([True,False]),-1,T.ones(2,dtype=T.int32))
T.ones(2,dtype=T.int32).where(T.tensor([True,False]),-1)
T.ones(2,dtype=T.int32)+-1
T.ones(2,dtype=T.int32).clamp(-300,7)
T.ones(2,dtype=T.int32).clamp(max=-300)
T.ones(2,dtype=T.int32).clamp_min(-300)
T.ones(2,dtype=T.int32).clamp_max_(-300)
T.ones(2,dtype=T.int32).clamp_(0,-300)
T.where(T.tensor([True,False]),T.ones(2,dtype=T.int32),-300)
T.where(T.tensor([True,False]),-300,T.ones(2,dtype=T.int32))
T.ones(2,dtype=T.int32).where(T.tensor([True,False]),-300)
T.ones(2,dtype=T.int32)+-300
T.ones(2,dtype=T.int32).clamp(2**40,7)
T.ones(2,dtype=T.int32).clamp(max=2**40)
T.ones(2,dtype=T.int32).clamp_min(2**40)
T.ones(2,dtype=T.int32).clamp_max_(2**40)
T.ones(2,dtype=T.int32).clamp_(0,2**40)
T.where(T.tensor([True,False]),T.ones(2,dtype=T.int32),2**40)
T.where(T.tensor([True,False]),2**40,T.ones(2,dtype=T.int32))
T.ones(2,dtype=T.int32).where(T.tensor([True,False]),2**40)
T.ones(2,dtype=T.int32)+2**40
T.ones(2,dtype=T.int32).clamp(5,7)
T.ones(2,dtype=T.int32).clamp(max=5)
T.ones(2,dtype=T.int32).clamp_min(5)
T.ones(2,dtype=T.int32).clamp_max_(5)
T.ones(2,dtype=T.int32).clamp_(0,5)
T.where(T.tensor([True,False]),T.ones(2,dtype=T.int32),5)
T.where(T.tensor([True,False]),5,T.ones(2,dtype=T.int32))
T.ones(2,dtype=T.int32).where(T.tensor([True,False]),5)
T.ones(2,dtype=T.int32)+5
T.full((1,),-4.1,dtype=T.uint8)
T.tensor(-4.1,dtype=T.uint8)
T.tensor([[1,-4.1]],dtype=T.uint8)
T.linspace(-4.1,2,3,dtype=T.uint8)
T.zeros(2,dtype=T.uint8).index_fill_(0,T.tensor([0]),-4.1)
F.pad(T.zeros(1,dtype=T.uint8),(0,1),value=-4.1)
T.zeros(1,dtype=T.uint8).scatter(0,T.tensor([0]),-4.1)
T.zeros(2,dtype=T.uint8).__setitem__(0,-4.1)
T.full((1,),127.5,dtype=T.uint8)
T.tensor(127.5,dtype=T.uint8)
T.tensor([[1,127.5]],dtype=T.uint8)
T.linspace(127.5,2,3,dtype=T.uint8)
T.zeros(2,dtype=T.uint8).index_fill_(0,T.tensor([0]),127.5)
F.pad(T.zeros(1,dtype=T.uint8),(0,1),value=127.5)
T.zeros(1,dtype=T.uint8).scatter(0,T.tensor([0]),127.5)
T.zeros(2,dtype=T.uint8).__setitem__(0,127.5)
T.full((1,),-1,dtype=T.uint8)
T.tensor(-1,dtype=T.uint8)
T.tensor([[1,-1]],dtype=T.uint8)
T.linspace(-1,2,3,dtype=T.uint8)
T.zeros(2,dtype=T.uint8).index_fill_(0,T.tensor([0]),-1)
F.pad(T.zeros(1,dtype=T.uint8),(0,1),value=-1)
T.zeros(1,dtype=T.uint8).scatter(0,T.tensor([0]),-1)
T.zeros(2,dtype=T.uint8).__setitem__(0,-1)
T.full((1,),-256,dtype=T.uint8)
T.tensor(-256,dtype=T.uint8)
T.tensor([[1,-256]],dtype=T.uint8)
T.linspace(-256,2,3,dtype=T.uint8)
T.zeros(2,dtype=T.uint8).index_fill_(0,T.tensor([0]),-256)
F.pad(T.zeros(1,dtype=T.uint8),(0,1),value=-256)
T.zeros(1,dtype=T.uint8).scatter(0,T.tensor([0]),-256)
T.zeros(2,dtype=T.uint8).__setitem__(0,-256)
T.full((1,),255.5,dtype=T.uint8)
T.tensor(255.5,dtype=T.uint8)
T.tensor([[1,255.5]],dtype=T.uint8)
T.linspace(255.5,2,3,dtype=T.uint8)
T.zeros(2,dtype=T.uint8).index_fill_(0,T.tensor([0]),255.5)
F.pad(T.zeros(1,dtype=T.uint8),(0,1),value=255.5)
T.zeros(1,dtype=T.uint8).scatter(0,T.tensor([0]),255.5)
T.zeros(2,dtype=T.uint8).__setitem__(0,255.5)
T.full((1,),float('nan'),dtype=T.uint8)
T.tensor(float('nan'),dtype=T.uint8)
T.tensor([[1,float('nan')]],dtype=T.uint8)
T.linspace(float('nan'),2,3,dtype=T.uint8)
T.zeros(2,dtype=T.uint8).index_fill_(0,T.tensor([0]),float('nan'))
F.pad(T.zeros(1,dtype=T.uint8),(0,1),value=float('nan'))
T.zeros(1,dtype=T.uint8).scatter(0,T.tensor([0]),float('nan'))
T.zeros(2,dtype=T.uint8).__setitem__(0,float('nan'))
T.full((1,),-4.1,dtype=T.int8)
T.tensor(-4.1,dtype=T.int8)
T.tensor([[1,-4.1]],dtype=T.int8)
T.linspace(-4.1,2,3,dtype=T.int8)
T.zeros(2,dtype=T.int8).index_fill_(0,T.tensor([0]),-4.1)
F.pad(T.zeros(1,dtype=T.int8),(0,1),value=-4.1)
T.zeros(1,dtype=T.int8).scatter(0,T.tensor([0]),-4.1)
T.zeros(2,dtype=T.int8).__setitem__(0,-4.1)
T.full((1,),127.5,dtype=T.int8)
T.tensor(127.5,dtype=T.int8)
T.tensor([[1,127.5]],dtype=T.int8)
T.linspace(127.5,2,3,dtype=T.int8)
T.zeros(2,dtype=T.int8).index_fill_(0,T.tensor([0]),127.5)
F.pad(T.zeros(1,dtype=T.int8),(0,1),value=127.5)
T.zeros(1,dtype=T.int8).scatter(0,T.tensor([0]),127.5)
T.zeros(2,dtype=T.int8).__setitem__(0,127.5)
T.full((1,),-1,dtype=T.int8)
T.tensor(-1,dtype=T.int8)
T.tensor([[1,-1]],dtype=T.int8)
T.linspace(-1,2,3,dtype=T.int8)
T.zeros(2,dtype=T.int8).index_fill_(0,T.tensor([0]),-1)
F.pad(T.zeros(1,dtype=T.int8),(0,1),value=-1)
T.zeros(1,dtype=T.int8).scatter(0,T.tensor([0]),-1)
T.zeros(2,dtype=T.int8).__setitem__(0,-1)
T.full((1,),-256,dtype=T.int8)
T.tensor(-256,dtype=T.int8)
T.tensor([[1,-256]],dtype=T.int8)
T.linspace(-256,2,3,dtype=T.int8)
T.zeros(2,dtype=T.int8).index_fill_(0,T.tensor([0]),-256)
F.pad(T.zeros(1,dtype=T.int8),(0,1),value=-256)
T.zeros(1,dtype=T.int8).scatter(0,T.tensor([0]),-256)
T.zeros(2,dtype=T.int8).__setitem__(0,-256)
T.full((1,),255.5,dtype=T.int8)
T.tensor(255.5,dtype=T.int8)
T.tensor([[1,255.5]],dtype=T.int8)
T.linspace(255.5,2,3,dtype=T.int8)
T.zeros(2,dtype=T.int8).index_fill_(0,T.tensor([0]),255.5)
F.pad(T.zeros(1,dtype=T.int8),(0,1),value=255.5)
T.zeros(1,dtype=T.int8).scatter(0,T.tensor([0]),255.5)
T.zeros(2,dtype=T.int8).__setitem__(0,255.5)
T.full((1,),float('nan'),dtype=T.int8)
T.tensor(float('nan'),dtype=T.int8)
T.tensor([[1,float('nan')]],dtype=T.int8)
T.linspace(float('nan'),2,3,dtype=T.int8)
T.zeros(2,dtype=T.int8).index_fill_(0,T.tensor([0]),float('nan'))
F.pad(T.zeros(1,dtype=T.int8),(0,1),value=float('nan'))
T.zeros(1,dtype=T.int8).scatter(0,T.tensor([0]),float('nan'))
T.zeros(2,dtype=T.int8).__setitem__(0,float('nan'))
T.full((1,),-4.1,dtype=T.int64)
T.tensor(-4.1,dtype=T.int64)
T.tensor([[1,-4.1]],dtype=T.int64)
T.linspace(-4.1,2,3,dtype=T.int64)
T.zeros(2,dtype=T.int64).index_fill_(0,T.tensor([0]),-4.1)
F.pad(T.zeros(1,dtype=T.int64),(0,1),value=-4.1)
T.zeros(1,dtype=T.int64).scatter(0,T.tensor([0]),-4.1)
T.zeros(2,dtype=T.int64).__setitem__(0,-4.1)
T.full((1,),127.5,dtype=T.int64)
T.tensor(127.5,dtype=T.int64)
T.tensor([[1,127.5]],dtype=T.int64)
T.linspace(127.5,2,3,dtype=T.int64)
T.zeros(2,dtype=T.int64).index_fill_(0,T.tensor([0]),127.5)
F.pad(T.zeros(1,dtype=T.int64),(0,1),value=127.5)
T.zeros(1,dtype=T.int64).scatter(0,T.tensor([0]),127.5)
T.zeros(2,dtype=T.int64).__setitem__(0,127.5)
T.full((1,),-1,dtype=T.int64)
T.tensor(-1,dtype=T.int64)
T.tensor([[1,-1]],dtype=T.int64)
T.linspace(-1,2,3,dtype=T.int64)
T.zeros(2,dtype=T.int64).index_fill_(0,T.tensor([0]),-1)
F.pad(T.zeros(1,dtype=T.int64),(0,1),value=-1)
T.zeros(1,dtype=T.int64).scatter(0,T.tensor([0]),-1)
T.zeros(2,dtype=T.int64).__setitem__(0,-1)
T.full((1,),-256,dtype=T.int64)
T.tensor(-256,dtype=T.int64)
T.tensor([[1,-256]],dtype=T.int64)
T.linspace(-256,2,3,dtype=T.int64)
T.zeros(2,dtype=T.int64).index_fill_(0,T.tensor([0]),-256)
F.pad(T.zeros(1,dtype=T.int64),(0,1),value=-256)
T.zeros(1,dtype=T.int64).scatter(0,T.tensor([0]),-256)
T.zeros(2,dtype=T.int64).__setitem__(0,-256)
T.full((1,),255.5,dtype=T.int64)
T.tensor(255.5,dtype=T.int64)
T.tensor([[1,255.5]],dtype=T.int64)
T.linspace(255.5,2,3,dtype=T.int64)
T.zeros(2,dtype=T.int64).index_fill_(0,T.tensor([0]),255.5)
F.pad(T.zeros(1,dtype=T.int64),(0,1),value=255.5)
T.zeros(1,dtype=T.int64).scatter(0,T.tensor([0]),255.5)
T.zeros(2,dtype=T.int64).__setitem__(0,255.5)
T.full((1,),float('nan'),dtype=T.int64)
T.tensor(float('nan'),dtype=T.int64)
T.tensor([[1,float('nan')]],dtype=T.int64)
T.linspace(float('nan'),2,3,dtype=T.int64)
T.zeros(2,dtype=T.int64).index_fill_(0,T.tensor([0]),float('nan'))
F.pad(T.zeros(1,dtype=T.int64),(0,1),value=float('nan'))
T.zeros(1,dtype=T.int64).scatter(0,T.tensor([0]),float('nan'))
T.zeros(2,dtype=T.int64).__setitem__(0,float('nan'))
""",
}


class Names(dict):
    """What the lines of one library see."""

    def __init__(self, library):
        random = np.random.default_rng(0)

        def floats(*shape, g=False):
            return library.from_numpy(random.standard_normal(shape)).requires_grad_(g)

        def integers(high, *shape, dtype=np.int64):
            return library.from_numpy(random.integers(0, high, shape).astype(dtype))

        def grads(function, *inputs):
            inputs = [x.detach().requires_grad_() for x in inputs]
            results = function(*inputs)
            results = list(results) if isinstance(results, (list, tuple)) else [results]
            total = sum((r * r).sum() for r in results if r.requires_grad)
            return results + list(library.autograd.grad(total, inputs))

        super().__init__(T=library, F=library.nn.functional, A=floats, I=integers, grads=grads, np=np)


def plain(value):
    """A result as what can be compared: tensors as their dtype, shape, strides, whether they are recorded, and their values."""
    if isinstance(value, (torch.Tensor, numtorch.Tensor)):
        dense = value.detach()
        if str(value.layout) != "torch.strided":
            return [str(value.layout), plain(dense.to_dense())]
        widened = {"torch.bfloat16": "float", "torch.complex32": "cfloat"}.get(str(value.dtype))
        dense = getattr(dense, widened)() if widened else dense
        return [str(value.dtype), tuple(value.shape), tuple(value.stride()), value.requires_grad, dense.resolve_conj().numpy()]
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value if isinstance(value, (int, float, complex, bool, np.ndarray)) else str(value)


def outcome(library, line):
    names = Names(library)
    try:
        if "out=" in line and not line.startswith(("T.", "A(")):
            exec(line, names)
            return plain(names["out"])
        return plain(eval(line, names))
    except SyntaxError:
        raise
    except Exception as error:
        return error


def check_equal(found, wanted):
    if isinstance(wanted, list):
        assert isinstance(found, list) and len(found) == len(wanted)
        for one, other in zip(found, wanted):
            check_equal(one, other)
    elif isinstance(wanted, (float, complex, np.ndarray)):
        np.testing.assert_allclose(found, wanted, 1e-6, 1e-6)
    else:
        assert type(found) is type(wanted) and found == wanted


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("group", CALLS)
def test_calls_are_pytorchs(group):
    for line in filter(None, CALLS[group].splitlines()):
        found, wanted = outcome(numtorch, line), outcome(torch, line)
        if isinstance(wanted, Exception):
            assert isinstance(found, type(wanted)), f"{line}: {found!r} instead of {wanted!r}"
            continue
        assert not isinstance(found, Exception), f"{line}: {found!r}"
        try:
            check_equal(found, wanted)
        except AssertionError as error:
            raise AssertionError(f"{line}: {error}") from None
