"""scikit-learn and SciPy on tensors, by array-API dispatch, where they are installed: results are tensors, and NumPy's numbers."""
import importlib.util
import os
import subprocess
import sys

import pytest

START = """
import numpy as np, numtorch as torch
X = np.random.default_rng(0).standard_normal((60, 5))
def agree(name, function, *more):
    found, wanted = function(torch.from_numpy(X), *map(torch.from_numpy, more)), function(X, *more)
    kinds = (torch.Tensor, float, np.floating)
    assert isinstance(found, kinds), (name, type(found))
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-9, atol=1e-9, err_msg=name)
"""
SKLEARN = START + """
import sklearn
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss, mean_squared_error
from sklearn.metrics.pairwise import chi2_kernel, cosine_similarity, euclidean_distances, rbf_kernel
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import KernelCenterer, LabelEncoder, MinMaxScaler, Normalizer, PolynomialFeatures, StandardScaler
y = (X[:, 0] > 0).astype(np.int64)
with sklearn.config_context(array_api_dispatch=True):
    agree("StandardScaler", lambda x: StandardScaler().fit_transform(x))
    agree("MinMaxScaler", lambda x: MinMaxScaler().fit_transform(x))
    agree("PCA", lambda x: abs(PCA(2, svd_solver="full").fit_transform(x)))
    agree("Ridge", lambda x: Ridge(solver="svd").fit(x, x[:, 0]).predict(x))
    agree("LinearDiscriminantAnalysis", lambda x, y: LinearDiscriminantAnalysis(solver="svd").fit(x, y).predict(x), y)
    agree("accuracy_score", lambda x, y: accuracy_score(y, y), y)
    agree("mean_squared_error", lambda x: mean_squared_error(x[:, 0], x[:, 1]))
    for each in (cosine_similarity, euclidean_distances, rbf_kernel):
        agree(each.__name__, each)
    version = tuple(map(int, sklearn.__version__.split(".")[:2]))
    if version >= (1, 9):                                # what took arrays of other libraries by then
        agree("LabelEncoder", lambda x, y: LabelEncoder().fit_transform(y) * 1.0, y)
        agree("confusion_matrix", lambda x, y: confusion_matrix(y, 1 - y) * 1.0, y)
        agree("log_loss", lambda x, y: log_loss(y, abs(x[:, 0]) / (1 + abs(x[:, 0]))), y)
        agree("chi2_kernel", lambda x: chi2_kernel(abs(x)))
        for each in (Normalizer(), PolynomialFeatures(2)):
            agree(type(each).__name__, each.fit_transform)
        agree("KernelCenterer", lambda x: KernelCenterer().fit_transform(x @ x.T))
        agree("RidgeCV", lambda x: RidgeCV().fit(x, x[:, 0]).predict(x))
        agree("GaussianNB", lambda x, y: GaussianNB().fit(x, y).predict_proba(x), y)
        agree("LogisticRegression", lambda x, y: LogisticRegression(tol=1e-10).fit(x, y).predict_proba(x).round(decimals=5), y)
        agree("GaussianMixture", lambda x: GaussianMixture(2, init_params="random", random_state=0, max_iter=5).fit(x).means_)
"""
SCIPY = START + """
from scipy import cluster, fft, integrate, special, stats
for each in (special.expit, special.logsumexp, special.softmax, stats.zscore, stats.skew, stats.kurtosis, cluster.vq.whiten):
    agree(each.__name__, each)
agree("ttest", lambda x: stats.ttest_1samp(x, 0.0).statistic)
agree("pearsonr", lambda x: stats.pearsonr(x[:, 0], x[:, 1]).statistic)
agree("entropy", lambda x: stats.entropy(abs(x)))
agree("xlogy", lambda x: special.xlogy(abs(x), abs(x)))
agree("rfft", lambda x: fft.rfft(x).real)
agree("trapezoid", integrate.trapezoid)
"""


@pytest.mark.parametrize("package, program", [("sklearn", SKLEARN), ("scipy", SCIPY)], ids=["sklearn", "scipy"])
def test_dispatch(package, program):
    if importlib.util.find_spec(package) is None or importlib.util.find_spec("scipy") is None:
        pytest.skip(f"{package} is not installed")
    ran = subprocess.run([sys.executable, "-c", program], env={**os.environ, "SCIPY_ARRAY_API": "1"}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-2000:]
