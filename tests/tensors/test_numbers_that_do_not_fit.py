"""Numbers that an integer dtype does not hold, or not whole: what PyTorch makes of each where it is given, or raises."""
from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed to compare with")

from bothlibraries import check_lines

BESIDE = ("clamp(N,7)", "clamp(max=N)", "clamp_min(N)", "clamp_max_(N)", "clamp_(0,N)", "where(T.tensor([True,False]),N)")
CALLS = {                                                # of a number N and a dtype K
    "bounds and operands": (
        [*[f"T.ones(2,dtype=K).{call}" for call in BESIDE], "T.where(T.tensor([True,False]),T.ones(2,dtype=K),N)",
         "T.where(T.tensor([True,False]),N,T.ones(2,dtype=K))", "T.ones(2,dtype=K)+N"],
        ("300", "-1", "-300", "2**40", "5"), ("uint8", "int8", "int32")),
    "elements": (
        ["T.full((1,),N,dtype=K)", "T.tensor(N,dtype=K)", "T.tensor([[1,N]],dtype=K)", "T.linspace(N,2,3,dtype=K)",
         "T.zeros(2,dtype=K).index_fill_(0,T.tensor([0]),N)", "F.pad(T.zeros(1,dtype=K),(0,1),value=N)",
         "T.zeros(1,dtype=K).scatter(0,T.tensor([0]),N)", "T.zeros(2,dtype=K).__setitem__(0,N)"],
        ("-1", "-256", "255.5", "127.5", "-4.1", "float('nan')"), ("uint8", "int8", "int64")),
    "beyond int64": (
        ["T.tensor(N,dtype=K)", "T.tensor([1,N,5],dtype=K)", "T.full((1,),N,dtype=K)", "T.zeros(2,dtype=K).fill_(N)", "T.scalar_tensor(N,dtype=K)",
         "T.ones(2,dtype=K)==N", "T.ones(2,dtype=K)*N", "T.ones(2,dtype=K)/N", "N*T.full((2,),7,dtype=K)", "T.where(T.tensor([True,False]),T.ones(2,dtype=K),N)",
         "T.full((1,),3,dtype=K).fill_(N).item()", "T.tensor([1,N],dtype=K).tolist()", "repr(T.tensor([1,N],dtype=K))", "T.tensor([1,N],dtype=K).to(T.float64)",
         "T.tensor([1,N],dtype=K).to(T.int64)", "T.tensor([1,N],dtype=K).to(T.float32)", "T.tensor([1,N],dtype=K).sum()", "T.tensor([N,3],dtype=K).unique()",
         "T.tensor([1,N],dtype=K).bitwise_and(N)", "T.tensor([1,N],dtype=K).sort()[0]"],
        ("2**63", "2**64-1", "(2**63+1025)"), ("uint64", "int64", "float32")),
    "of no dtype": (["T.tensor(N)", "T.tensor([1,N])", "T.tensor((N,-1))", "T.full((1,),N)", "T.ones(1)+N", "T.ones(1,dtype=T.int8)*N"],
                    ("2**63", "2**64-1", "2**64", "-2**63", "-2**63-1"), ("int64",)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place, kind", [(place, kind) for place, (_, _, kinds) in CALLS.items() for kind in kinds])
def test_numbers_that_do_not_fit(place, kind):
    calls, numbers, _ = CALLS[place]
    check_lines("\n".join(call.replace("K", f"T.{kind}").replace("N", number) for number in numbers for call in calls))
