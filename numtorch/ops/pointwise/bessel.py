"""Bessel functions of orders 0 and 1, as records of `torch.special`: J, Y, and the modified I and K.

Abramowitz and Stegun, "Handbook of mathematical functions", chapters 9 and 10. I is in kernels/vectormath/bessel.py. The
others are polynomials: Chebyshev interpolants, computed with 50 digits, of what is smooth once zeros, logarithms and poles are
taken out (9.1.13, 9.6.11), and from 5 (K: from 2) on of the amplitudes in x^-2 (9.2.5-9.2.16; K: in x^-1). Sine and cosine of the
phase x - pi / 4 are those of x, added and subtracted.
"""
from __future__ import annotations

import math

from ...kernels import vectormath
from ..core.subfunction import Subfunction
from .arithmetic import UNORDERED, abs, where
from .elementary import PI, cos, exp, log, sin, sqrt
from .pointwise import pointwise

TWO_BY_PI = 2 / math.pi


# ---------------------------------------------------------------- J and Y
def j0_near(t):
    """J0 without its first two zeros, of x^2 up to 25."""
    return (((((((((((-3.027341846156215e-28 * t + 2.422940453295708e-25) * t - 1.4048419907288446e-22) * t
            + 6.72768839420786e-20) * t - 2.6504977669610348e-17) * t + 8.413184775762446e-15) * t - 2.0931214084068986e-12) * t
            + 3.935827378974691e-10) * t - 5.317886335202576e-08) * t + 4.784356140904163e-06) * t - 0.00025120235414943397) * t
            + 0.005674693325155617)


@Subfunction
def j1_near(t):
    """J1 / x without its first zero, of x^2 up to 25."""
    return (((((((((((7.961220275215586e-27 * t - 5.974709444910393e-24) * t + 3.1982003560080242e-21) * t
            - 1.4013305798367536e-18) * t + 5.008652190605828e-16) * t - 1.4282174313819426e-13) * t + 3.154240069127585e-11) * t
            - 5.188298753339339e-09) * t + 6.019939527899011e-07) * t - 4.5415014680603695e-05) * t + 0.0019373847544143909) * t
            - 0.03405537391318949)


@Subfunction
def y0_near(t):
    """Y0 without 2 / pi log(x) J0, of x^2 - 12.5, x up to 5: of x^2 its terms would cancel."""
    return ((((((((((((((-8.490190195577884e-31 * t + 6.413473043759149e-28) * t - 4.152841940237402e-25) * t
            + 2.279766514596709e-22) * t - 1.043780615146061e-19) * t + 3.9114007976330234e-17) * t - 1.1719731564656415e-14) * t
            + 2.7251712389718307e-12) * t - 4.725957372287654e-10) * t + 5.7787499771785244e-08) * t - 4.567729022701002e-06) * t
            + 0.00019892039657764323) * t - 0.0030116887393902645) * t - 0.034612465782841) * t + 0.4837248578102995)


@Subfunction
def y1_near(t):
    """Y1 / x without 2 / pi (log(x) J1 - 1 / x) / x, of x^2 - 12.5."""
    return ((((((((((((-1.647630300242422e-26 * t + 9.846510581743799e-24) * t - 4.940609939078954e-21) * t
            + 2.0520393341160542e-18) * t - 6.901774340703532e-16) * t + 1.831463459807774e-13) * t - 3.707197402510025e-11) * t
            + 5.46833410575746e-09) * t - 5.502334460239118e-07) * t + 3.396964021646922e-05) * t - 0.0010439693029195979) * t
            + 0.007286920670758754) * t + 0.13974939033568806)


@Subfunction
def p0(t):
    """The amplitude of order 0 in phase, of 25 / x^2 up to 1."""
    return ((((((((((((((((2.1337425426053742e-07 * t - 1.9044418284853425e-06) * t + 7.84408255599263e-06) * t
            - 1.9830508932844518e-05) * t + 3.4581513517161526e-05) * t - 4.4456221284246585e-05) * t + 4.423258753641627e-05) * t
            - 3.5730044224563876e-05) * t + 2.4946545056073973e-05) * t - 1.656532621066264e-05) * t + 1.2025422870892294e-05) * t
            - 1.1220955732039756e-05) * t + 1.5546237516562845e-05) * t - 3.66399374877444e-05) * t + 0.00017944335553018504) * t
            - 0.002812499999960999) * t + 0.9999999999999999)


@Subfunction
def q0(t):
    """The amplitude of order 0 out of phase times x / 5."""
    return (((((((((((((((((4.382906385661991e-07 * t - 4.106309445147138e-06) * t + 1.7795085909769067e-05) * t
            - 4.741182680745797e-05) * t + 8.715257046808246e-05) * t - 0.00011777153004044763) * t + 0.00012209378971538072) * t
            - 0.00010064727880615602) * t + 6.864265858046898e-05) * t - 4.096618653534707e-05) * t + 2.3358801561861986e-05) * t
            - 1.4457422280186762e-05) * t + 1.1244136051915964e-05) * t - 1.2479739182608498e-05) * t + 2.211478467698684e-05) * t
            - 7.26745577063873e-05) * t + 0.0005859374999743172) * t - 0.02499999999999996)


@Subfunction
def p1(t):
    """The amplitude of order 1 in phase."""
    return ((((((((((((((((-2.2664403255333074e-07 * t + 2.023285437638597e-06) * t - 8.335780807398088e-06) * t
            + 2.108111601022608e-05) * t - 3.678094276959434e-05) * t + 4.731883161871843e-05) * t - 4.713506459731216e-05) * t
            + 3.814662917747022e-05) * t - 2.6720814056984607e-05) * t + 1.784600769826724e-05) * t - 1.3083844010365798e-05) * t
            + 1.2404263965013525e-05) * t - 1.7619319933573187e-05) * t + 4.330176332579293e-05) * t - 0.00023071288655704143) * t
            + 0.004687499999958732) * t + 1.0)


@Subfunction
def q1(t):
    """The amplitude of order 1 out of phase times x / 5."""
    return (((((((((((((((((-4.6375029646342477e-07 * t + 4.345473311451308e-06) * t - 1.8835049611626885e-05) * t
            + 5.019496961714531e-05) * t - 9.229930980660419e-05) * t + 0.0001247848751425812) * t - 0.0001294534320103513) * t
            + 0.00010682725386491592) * t - 7.298304639762553e-05) * t + 4.3684367576076683e-05) * t - 2.5035415853902007e-05) * t
            + 1.5627457971449824e-05) * t - 1.2316971009951971e-05) * t + 1.3948140578265299e-05) * t - 2.551707192618011e-05) * t
            + 8.882445989557005e-05) * t - 0.0008203124999729174) * t + 0.07499999999999996)


@pointwise(kind="float", cost=40, refuses=UNORDERED, methods=False)
def bessel_j0(x):
    """The Bessel function of the first kind of order 0, elementwise: the solution of x f'' + f' = -x f with f(0) = 1; within 4 ulp,
    where it is large, of sqrt(2 / (pi x)).

    Example:
        >>> import numtorch as torch
        >>> torch.special.bessel_j0(torch.tensor([0., 1., -10.]))
        tensor([ 1.0000,  0.7652, -0.2459])
    """
    size = abs(x)
    v = where(size < 5, x * x, 0)
    near = (v - 5.783185958862305 - 4.084479833675995e-09) * (v - 30.471261978149414 - 3.655126723365782e-07) * j0_near(v)
    u = where(size < 5, 5, size)
    c, s, t = cos(u), sin(u), 25 / (u * u)
    far = (p0(t) * (c + s) + q0(t) * (5 / u) * (c - s)) / sqrt(PI * u)
    return where(size < 5, near, where(size * 0 == 0, far, 1 / size))


@pointwise(kind="float", cost=40, refuses=UNORDERED, methods=False)
def bessel_j1(x):
    """The Bessel function of the first kind of order 1, elementwise: less the derivative of `bessel_j0`; as accurate.

    Example:
        >>> import numtorch as torch
        >>> torch.special.bessel_j1(torch.tensor([0., 1., -10.]))
        tensor([ 0.0000,  0.4401, -0.0435])
    """
    size = abs(x)
    v = where(size < 5, x * x, 0)
    near = x * (v - 14.681970596313477 - 4.581041669471978e-08) * j1_near(v)
    u = where(size < 5, 5, size)
    c, s, t = cos(u), sin(u), 25 / (u * u)
    far = (p1(t) * (s - c) + q1(t) * (5 / u) * (s + c)) / sqrt(PI * u)
    return where(size < 5, near, where(size * 0 == 0, where(x < 0, -far, far), 1 / x))


@pointwise(kind="float", cost=60, refuses=UNORDERED, methods=False)
def bessel_y0(x):
    """The Bessel function of the second kind of order 0, elementwise: -inf at 0, NaN below; as accurate as `bessel_j0`.

    Example:
        >>> import numtorch as torch
        >>> torch.special.bessel_y0(torch.tensor([0., 1., 10.]))
        tensor([   -inf,  0.0883,  0.0557])
    """
    v = where(x < 5, x * x, 0)
    near = TWO_BY_PI * log(x) * bessel_j0(x) + y0_near(where(x > 0, v, 0) - 12.5)
    u = where(x < 5, 5, x)
    c, s, t = cos(u), sin(u), 25 / (u * u)
    far = (p0(t) * (s - c) + q0(t) * (5 / u) * (s + c)) / sqrt(PI * u)
    return where(x < 5, near, where(x * 0 == 0, far, 1 / x))


@pointwise(kind="float", cost=60, refuses=UNORDERED, methods=False)
def bessel_y1(x):
    """The Bessel function of the second kind of order 1, elementwise: -inf at 0, NaN below; as accurate as `bessel_j0`.

    Example:
        >>> import numtorch as torch
        >>> torch.special.bessel_y1(torch.tensor([0., 1., 10.]))
        tensor([   -inf, -0.7812,  0.2490])
    """
    v = where(x < 5, x * x, 0)
    near = TWO_BY_PI * (log(where(x == 0, 1, x)) * bessel_j1(x) - 1 / where(x == 0, 0, x)) + x * y1_near(where(x > 0, v, 0) - 12.5)
    u = where(x < 5, 5, x)
    c, s, t = cos(u), sin(u), 25 / (u * u)
    far = (q1(t) * (5 / u) * (s - c) - p1(t) * (s + c)) / sqrt(PI * u)
    return where(x < 5, near, where(x * 0 == 0, far, 1 / x))


@bessel_j0.derivative
def _(grad, x):
    return grad * -bessel_j1(x)


@bessel_j1.derivative
def _(grad, x, out):
    return grad * where(x == 0, 0.5, bessel_j0(x) - out / where(x == 0, 1, x))


@bessel_y0.derivative
def _(grad, x):
    return grad * -bessel_y1(x)


@bessel_y1.derivative
def _(grad, x, out):
    return grad * (bessel_y0(x) - out / x)


@pointwise(kind="float", cost=16, refuses=UNORDERED, methods=False)
def spherical_bessel_j0(x):
    """The spherical Bessel function of order 0, elementwise: sin(x) / x, 1 at 0.

    Example:
        >>> import numtorch as torch
        >>> torch.special.spherical_bessel_j0(torch.tensor([0., 1., 10.]))
        tensor([ 1.0000,  0.8415, -0.0544])
    """
    return where(x == 0, 1, where(x * 0 == 0, sin(x), 1) / where(x == 0, 1, x))


@spherical_bessel_j0.derivative
def _(grad, x, out):
    v = x * x                                            # its series where the difference would lose digits
    series = -x / 3 * (1 - v / 10 * (1 - v / 28 * (1 - v / 54 * (1 - v / 88 * (1 - v / 130 * (1 - v / 180 * (1 - v / 238)))))))
    return grad * where(abs(x) < 0.7, series, (cos(x) - out) / where(x == 0, 1, x))


# ---------------------------------------------------------------- I
@pointwise(kind="float", cost=12, refuses=UNORDERED, scalars=vectormath.i0e)
def i0e(x):
    """exp(-|x|) times the modified Bessel function of order 0, elementwise, which does not overflow; within 5 ulp.

    Example:
        >>> import numtorch as torch
        >>> torch.special.i0e(torch.tensor([0., 1., 100.]))
        tensor([1.0000, 0.4658, 0.0399])
    """


@pointwise(kind="float", cost=12, refuses=UNORDERED, scalars=vectormath.i1e)
def i1e(x):
    """exp(-|x|) times the modified Bessel function of order 1, elementwise, which does not overflow; within 5 ulp.

    Example:
        >>> import numtorch as torch
        >>> torch.special.i1e(torch.tensor([0., 1., 100.]))
        tensor([0.0000, 0.2079, 0.0397])
    """


@pointwise(kind="float", cost=12, refuses=UNORDERED, scalars=vectormath.i0)
def i0(x):
    """The modified Bessel function of order 0, elementwise: the solution of x f'' + f' = x f with f(0) = 1; within 6 ulp.

    Example:
        >>> import numtorch as torch
        >>> torch.special.i0(torch.tensor([0., 1., -2.]))
        tensor([1.0000, 1.2661, 2.2796])
    """


@pointwise(kind="float", cost=12, refuses=UNORDERED, scalars=vectormath.i1)
def i1(x):
    """The modified Bessel function of order 1, elementwise: the derivative of `i0`; within 6 ulp.

    Example:
        >>> import numtorch as torch
        >>> torch.special.i1(torch.tensor([0., 1., -2.]))
        tensor([ 0.0000,  0.5652, -1.5906])
    """


TINY = 1e-30                                             # whose reciprocal is finite, in float32 too


@i0.derivative
def _(grad, x):
    return grad * i1(x)


@i1.derivative
def _(grad, x, out):
    return grad * where(abs(x) < TINY, 0.5, i0(x) - out / where(abs(x) < TINY, 1, x))


@i0e.derivative
def _(grad, x, out):
    return grad * (i1e(x) - where(x == 0, 0, where(x < 0, -out, out)))


@i1e.derivative
def _(grad, x, out):
    return grad * where(abs(x) < TINY, 0.5, i0e(x) - out * (where(x < 0, -1, 1) + 1 / where(abs(x) < TINY, 1, x)))


# ---------------------------------------------------------------- K
def i0_near(t):
    """I0, of x^2 / 4 up to 1: its series, as the next three."""
    return ((((((((((((4.358389823304995e-18 * t + 6.276081345559193e-16) * t + 7.594058428126623e-14) * t
            + 7.594058428126624e-12) * t + 6.151187326782565e-10) * t + 3.936759889140842e-08) * t + 1.9290123456790124e-06) * t
            + 6.944444444444444e-05) * t + 0.001736111111111111) * t + 0.027777777777777776) * t + 0.25) * t + 1.0) * t + 1.0)


@Subfunction
def k0_near(t):
    """K0 + log(x / 2) I0."""
    return ((((((((((((1.1009270959725744e-17 * t + 1.5330343403208473e-15) * t + 1.785934656987074e-13) * t
            + 1.709994072705808e-11) * t + 1.3167486730385647e-09) * t + 7.935096521304209e-08) * t + 3.6126241031992037e-06) * t
            + 0.00011848039364109726) * t + 0.0026147876188052093) * t + 0.0348921574564389) * t + 0.23069608377461678) * t
            + 0.42278433509846713) * t - 0.5772156649015329)


@Subfunction
def i1_near(t):
    """I1 / x."""
    return ((((((((((((1.676303778194229e-19 * t + 2.615033893982997e-17) * t + 3.451844740057556e-15) * t
            + 3.7970292140633116e-13) * t + 3.417326292656981e-11) * t + 2.460474930713026e-09) * t + 1.3778659611992944e-07) * t
            + 5.787037037037037e-06) * t + 0.00017361111111111112) * t + 0.003472222222222222) * t + 0.041666666666666664) * t
            + 0.25) * t + 0.5)


@Subfunction
def k1_near(t):
    """(K1 - 1 / x - log(x / 2) I1) / x."""
    return ((((((((((((-4.2988082067481413e-19 * t - 6.496602830252822e-17) * t - 8.27478683812568e-15) * t
            - 8.739821824232205e-13) * t - 7.50512186647297e-11) * t - 5.113215008984695e-09) * t - 2.6788647852279523e-07) * t
            - 1.0355619223177857e-05) * t - 0.000278839872991632) * t - 0.0047955474598326405) * t - 0.04539379174021391) * t
            - 0.16819608377461678) * t + 0.03860783245076643)


@Subfunction
def k0_far(t):
    """sqrt(x) exp(x) K0, of 2 / x up to 1."""
    return ((((((((((((((((((((((0.00041168779907367544 * t - 0.004893801433407121) * t + 0.0273465860232842) * t
            - 0.09556585660695967) * t + 0.23446432979410123) * t - 0.429992149371905) * t + 0.6132563408785031) * t
            - 0.6994847344386408) * t + 0.6524745529564797) * t - 0.508140635787823) * t + 0.3380161974477797) * t
            - 0.19772127629786113) * t + 0.1058361616670146) * t - 0.05467493981123691) * t + 0.029029303262052743) * t
            - 0.016838308555750994) * t + 0.011204667257359078) * t - 0.008894520797117993) * t + 0.008785096324455009) * t
            - 0.01147443319140021) * t + 0.02203091256388657) * t - 0.07833213358218451) * t + 1.2533141373155001)


@Subfunction
def k1_far(t):
    """sqrt(x) exp(x) K1."""
    return ((((((((((((((((((((((-0.00044981358470963956 * t + 0.005348021014366095) * t - 0.02989164011152273) * t
            + 0.10448948744408408) * t - 0.2564491891664806) * t + 0.47052563734921593) * t - 0.6714670969247377) * t
            + 0.7664978052965831) * t - 0.715783475070251) * t + 0.5583377784141418) * t - 0.37228662256437073) * t
            + 0.21854962496785652) * t - 0.11763018003926476) * t + 0.06127666987126373) * t - 0.03293429323554595) * t
            + 0.019434211097929456) * t - 0.01324251731177489) * t + 0.010871136235898193) * t - 0.011295127217093255) * t
            + 0.016064206605439446) * t - 0.03671818761002186) * t + 0.23499640074661907) * t + 1.2533141373155003)


@Subfunction
def k0_below_2(x):
    w = where(x < 2, x * x * 0.25, 0)
    return k0_near(w) - log(x * 0.5) * i0_near(w)


@Subfunction
def k1_below_2(x):
    w = where(x < 2, x * x * 0.25, 0)
    return 1 / where(x == 0, 0, x) + x * (log(where(x == 0, 1, x * 0.5)) * i1_near(w) + k1_near(w))


@pointwise(kind="float", cost=60, refuses=UNORDERED, methods=False)
def modified_bessel_k0(x):
    """The modified Bessel function of the second kind of order 0, elementwise: inf at 0, NaN below; within 8 ulp.

    Example:
        >>> import numtorch as torch
        >>> torch.special.modified_bessel_k0(torch.tensor([0., 1., 2.]))
        tensor([   inf, 0.4210, 0.1139])
    """
    u = where(x < 2, 2, x)
    return where(x < 2, k0_below_2(x), exp(-u) * k0_far(2 / u) / sqrt(u))


@pointwise(kind="float", cost=60, refuses=UNORDERED, methods=False)
def modified_bessel_k1(x):
    """The modified Bessel function of the second kind of order 1, elementwise: inf at 0, NaN below; within 8 ulp.

    Example:
        >>> import numtorch as torch
        >>> torch.special.modified_bessel_k1(torch.tensor([0., 1., 2.]))
        tensor([   inf, 0.6019, 0.1399])
    """
    u = where(x < 2, 2, x)
    return where(x < 2, k1_below_2(x), exp(-u) * k1_far(2 / u) / sqrt(u))


@pointwise(kind="float", cost=60, refuses=UNORDERED, methods=False)
def scaled_modified_bessel_k0(x):
    """exp(x) times `modified_bessel_k0`, elementwise, which does not vanish for large x.

    Example:
        >>> import numtorch as torch
        >>> torch.special.scaled_modified_bessel_k0(torch.tensor([0., 1., 1000.]))
        tensor([   inf, 1.1445, 0.0396])
    """
    u = where(x < 2, 2, x)
    return where(x < 2, exp(x) * k0_below_2(x), k0_far(2 / u) / sqrt(u))


@pointwise(kind="float", cost=60, refuses=UNORDERED, methods=False)
def scaled_modified_bessel_k1(x):
    """exp(x) times `modified_bessel_k1`, elementwise, which does not vanish for large x.

    Example:
        >>> import numtorch as torch
        >>> torch.special.scaled_modified_bessel_k1(torch.tensor([0., 1., 1000.]))
        tensor([   inf, 1.6362, 0.0396])
    """
    u = where(x < 2, 2, x)
    return where(x < 2, exp(x) * k1_below_2(x), k1_far(2 / u) / sqrt(u))


@modified_bessel_k0.derivative
def _(grad, x):
    return grad * -modified_bessel_k1(x)


@modified_bessel_k1.derivative
def _(grad, x, out):
    return grad * (-modified_bessel_k0(x) - out / x)


@scaled_modified_bessel_k0.derivative
def _(grad, x, out):
    return grad * (out - scaled_modified_bessel_k1(x))


@scaled_modified_bessel_k1.derivative
def _(grad, x, out):
    return grad * (out - scaled_modified_bessel_k0(x) - out / x)
