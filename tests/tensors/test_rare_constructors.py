"""Ways to make tensors and storages that programs use now and then, each call in both libraries (bothlibraries.py)."""
from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed to compare with")

from bothlibraries import check_lines

CALLS = {
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
T.logspace(1j,1,3)
T.logspace(T.tensor(1+2j),2-1j,4,base=2.5,dtype=T.complex128)
T.logspace(0,1,3,base=-2.5,dtype=T.complex128)
T.logspace(1j,1,0)
T.logspace(1j,1,3,dtype=T.float32)
T.logspace(0,1,3,dtype=T.bool)
""",
    "buffers": """
T.asarray(bytearray(range(1,9)),dtype=T.uint8)
T.asarray(bytes(range(1,9)),dtype=T.int32)
T.asarray(bytearray(range(248,256)),dtype=T.int64,copy=False)
T.asarray(bytearray(8))
T.asarray(memoryview(np.arange(6).reshape(2,3)),dtype=T.int64)
(lambda b: (T.asarray(b,dtype=T.uint8).fill_(9),list(b)))(bytearray(4))
(lambda b: (T.asarray(b,dtype=T.uint8,copy=True).fill_(9),list(b)))(bytearray(4))
T.asarray(bytearray(3),dtype=T.int32)
T.asarray(bytearray(),dtype=T.uint8)
T.asarray(bytearray(8),dtype=T.float32,requires_grad=True).requires_grad
T.asarray(bytearray(8),dtype=T.int32,requires_grad=True)
T.asarray(np.float32(3))
T.asarray("abc")
T.tensor(bytearray([1,200]))
T.as_tensor(memoryview(bytes([1,200])),dtype=T.uint8)
T.tensor(bytearray([1,200]),dtype=T.float32)
T.tensor(b"abc")
T.tensor([2**63])
T.frombuffer([1],dtype=T.uint8)
T.frombuffer("a",dtype=T.uint8)
T.frombuffer(memoryview(bytearray(8))[::2],dtype=T.uint8)
T.frombuffer(bytearray(8),dtype=T.uint8,count=0)
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
    "sizes": """
T.Size()
T.Size([2,True,T.tensor(4)])
T.ones(2,3).reshape(T.Size([np.int64(3),2]))
[type(n) is int for n in T.Size([T.tensor(4),True])]
T.Size(n for n in (2,3))
T.Size(T.tensor([2,3]))
T.Size([2.0,3])
T.Size(T.ones(2))
T.Size([None])
T.Size("ab")
T.Size(3)
(T.Size([2,3])[1:], T.Size([2,3])+(4,))
__import__("copy").deepcopy(T.Size([2,3]))
""",
    "sequences of tensors and arrays": """
T.tensor([T.tensor([1]),T.tensor([2])])
T.tensor([[T.tensor([1])],[2]])
T.tensor([[T.ones(1,1),2]])
T.tensor((T.tensor([1]),T.tensor([[2.5]])))
T.tensor([T.ones(2),T.ones(2)])
T.tensor([3.,T.ones(0)])
T.tensor([[2,3],T.tensor([4,5])])
T.tensor([[2,3],np.array([4,5.])])
T.tensor([np.array([4,5.]),[2,3]])
T.tensor([np.ones((2,2)),np.ones((2,2))])
T.tensor([T.tensor([[2.]]).bfloat16(),3])
T.tensor([T.tensor(1+2j),2])
T.tensor([1.,np.float64(2)])
T.tensor([1,np.float64(2)])
T.tensor([True,np.int32(4)])
T.tensor(((7,5),(9,np.array(5.))))
T.tensor([1,T.tensor(2,dtype=T.int8)])
T.tensor([T.tensor(1),None])
T.tensor([1,"a"])
T.Tensor([T.tensor([1]),2])
T.as_tensor([T.tensor([1]),2.5],dtype=T.float64)
""",
    "memory by DLPack": """
T.asarray(T.utils.dlpack.to_dlpack(T.ones(2)))
T.asarray(T.utils.dlpack.to_dlpack(T.ones(2)),dtype=T.float64)
x=T.ones(2); y=T.asarray(T.utils.dlpack.to_dlpack(x),copy=False); y[0]=7; out=[x]
x=T.ones(2); y=T.asarray(T.utils.dlpack.to_dlpack(x),copy=True); y[0]=7; out=[x]
T.as_tensor(type("P",(),{"__dlpack__":lambda s,*a,**k:np.ones(2).__dlpack__(*a,**k),"__dlpack_device__":lambda s:(1,0)})())
""",
    "conversions in an order": """
A(2,3,4,4).contiguous(memory_format=T.channels_last).to(T.float32,memory_format=T.contiguous_format)
A(2,3,4,4).contiguous(memory_format=T.channels_last).to(T.float64,memory_format=T.contiguous_format)
A(2,3,4,4).contiguous(memory_format=T.channels_last).to(T.float32,memory_format=T.preserve_format)
A(2,3,4,4).to(T.float32,memory_format=T.channels_last)
A(2,3,4,4).contiguous(memory_format=T.channels_last).type(T.float32,memory_format=T.contiguous_format)
A(2,3,4,4).type(T.float32,memory_format=T.channels_last)
I(9,3).type(T.Tensor)
__import__("sys").getsizeof(A(100).storage()) - __import__("sys").getsizeof(A(10).storage())
""",
    "tensors of storages": """
T.tensor(T.ones(2).untyped_storage())
T.tensor(T.ones(2).untyped_storage(),dtype=T.float32)
T.tensor(T.ones(3).untyped_storage(),dtype=T.int16)
T.as_tensor(T.ones(2).untyped_storage(),dtype=T.float32)
T.tensor(T.ones(2).storage())
T.tensor(T.ones(2).storage(),dtype=T.int64)
T.as_tensor(T.ones(2,dtype=T.bfloat16).storage(),dtype=T.bfloat16)
x=T.ones(2); y=T.tensor(x.untyped_storage(),dtype=T.float32); y[0]=7; out=[x]
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
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("group", CALLS)
def test_what_is_made_is_pytorchs(group):
    check_lines(CALLS[group])
