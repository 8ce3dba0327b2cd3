"""`torch.cuda.sparse`: the types of sparse tensors on CUDA devices, from before layouts."""
from ..sparse.oldnames import CUDA

FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor, LongTensor, IntTensor, ShortTensor, CharTensor, ByteTensor = CUDA
